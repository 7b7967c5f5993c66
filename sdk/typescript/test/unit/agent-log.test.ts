import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Agent, type AgentOptions } from "../../src/agent/agent.js";
import type { AgentServer, Delivery } from "../../src/agent/server.js";
import { errorFrom, PermissionDeniedError, type OpenIntentError } from "../../src/errors.js";
import { Gate } from "../scenarios/waiting.js";
import { fakeServer } from "./fake-agent-server.js";
import { FakeClock, lost, message, RecordingLogger, serverName } from "./fakes.js";

const active: Delivery = { number: 0, standingBy: false, received: [], digest: null };
const standingBy: Delivery = { number: 0, standingBy: true, received: [], digest: null };
const notify = (id: string): Delivery => ({
  number: 1,
  standingBy: false,
  received: [{ message: message(id), intentId: "intent", channelName: "c", position: 1, attempt: 1 }],
  digest: null,
});

/** What a stream does, step by step: it brings a delivery, fails, or runs a function. */
type Step = Delivery | Error | (() => void);

/** A server whose streams do these steps, one stream after the other, and then stay silent. */
function streaming(streams: Step[][], methods: Partial<AgentServer> = {}): AgentServer {
  return fakeServer({
    async *deliveries(_id, _max, _accepted, { signal }) {
      for (const step of streams.shift() ?? []) {
        if (step instanceof Error) {
          throw step;
        } else if (typeof step === "function") {
          step();
        } else {
          yield step;
        }
      }
      signal.throwIfAborted();
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
    ...methods,
  });
}

/** An agent on a clock of its own, with its log, and a run of it that ends when it is told to leave. */
function agentOn(agentServer: AgentServer, options: Partial<AgentOptions> = {}): { agent: Agent; logger: RecordingLogger } {
  const logger = new RecordingLogger();
  const clock = new FakeClock();
  return { agent: new Agent({ id: "me", server: serverName, agentServer, logger, clock, ...options }), logger };
}

const untilLeft = (agent: Agent): Promise<void> => agent.run({ signal: new AbortController().signal });

test("an agent tells how its connection fares", async () => {
  const clock = new FakeClock();
  const leave = (): void => void agent.leave();
  const server = streaming([[standingBy, active, lost()], [lost()], [active, lost()], [standingBy, leave]], {
    async register() {
      if (clock.time < 130_000) {
        throw lost();
      }
      return 30_000;
    },
  });
  const { agent, logger } = agentOn(server, { clock });
  await untilLeft(agent);
  assert.deepEqual(logger.lines, [
    `warn agent me cannot reach the server at ${serverName} and keeps trying: lost`,
    ...["12s", "35s", "1m16s"].map((time) => `warn agent me has not reached the server at ${serverName} for ${time} and keeps trying: lost`),
    `info agent me is connected to ${serverName} and stands by: another process receives for it`,
    "info agent me takes over: it receives from now on",
    `info agent me lost its connection to ${serverName} and connects again: lost`,
    `warn agent me cannot reach the server at ${serverName} and keeps trying: lost`,
    `info agent me is connected to ${serverName} again and receives`,
    `info agent me lost its connection to ${serverName} and connects again: lost`,
    `info agent me is connected to ${serverName} again and stands by: another process receives for it`,
    "info agent me is leaving and waits for 0 running handlers",
    "info agent me has left",
  ]);
});

test("an agent that leaves tells how many handlers it waits for, and which it did not wait for", async () => {
  const begun = new Gate();
  const { agent, logger } = agentOn(streaming([[active, notify("a"), notify("b")]]));
  const never = new Gate();
  agent.onMessage(async ({ id }) => {
    if (id === "b") {
      begun.open();
    }
    await never.opened;
  });
  const running = untilLeft(agent);
  await begun.opened;
  await agent.leave();
  await running;
  assert.deepEqual(logger.lines, [
    `info agent me is connected to ${serverName} and receives`,
    "info agent me is leaving and waits for 2 running handlers",
    "warn agent me left before 2 of its handlers ended",
    "info agent me has left",
  ]);
});

test("an agent that gives up says why", async () => {
  const refused = errorFrom({ code: "PERMISSION_DENIED", message: "This key is not for me." });
  for (const server of [
    streaming([[refused]]),
    streaming([], { register: () => Promise.reject(refused) }),
    streaming([], { createSubscription: () => Promise.reject(refused) }),
  ]) {
    const { agent, logger } = agentOn(server);
    await assert.rejects(untilLeft(agent), PermissionDeniedError);
    assert.deepEqual(logger.lines, ["error agent me gives up: This key is not for me."]);
  }
});

test("a failing heartbeat is not worth more than a line for debugging", async () => {
  const beats: (OpenIntentError | null)[] = [errorFrom({ code: "UNAVAILABLE", message: "It is busy." }), null];
  const server = streaming([[active]], {
    async heartbeat(status) {
      const failure = beats.shift();
      if (failure) {
        throw failure;
      }
      if (status === "active") {
        void agent.leave();
      }
      return { interval: 30_000, draining: false };
    },
  });
  const { agent, logger } = agentOn(server);
  await untilLeft(agent);
  assert.ok(logger.lines.includes("debug agent me could not send a heartbeat and sends it again: It is busy."));
  assert.ok(!logger.lines.some((line) => line.startsWith("warn")));
});

test("the log goes to the console unless a logger is given, and one that throws stops nothing", async () => {
  const told: string[] = [];
  const info = mock.method(console, "info", (text: string) => void told.push(text));
  const { agent } = agentOn(streaming([[active, () => void agent.leave()]]), { logger: undefined });
  await untilLeft(agent);
  info.mock.restore();
  assert.equal(told.length, 3);

  const broken = (): never => {
    throw new Error("The disk is full.");
  };
  const logger = { debug: broken, info: broken, warn: broken, error: broken };
  const { agent: other } = agentOn(streaming([[active, () => void other.leave()]]), { logger });
  await untilLeft(other);
});

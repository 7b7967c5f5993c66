import assert from "node:assert/strict";
import { test } from "node:test";
import { Agent, type AgentOptions } from "../../src/agent/agent.js";
import { UnavailableError } from "../../src/errors.js";
import { notConnected } from "../../src/server-away.js";
import { fakeServer } from "./fake-agent-server.js";
import { FakeClock, RecordingLogger, serverName } from "./fakes.js";

const refused = (): Error => notConnected("connect ECONNREFUSED", undefined, { server: serverName, start: "openintent serve" });
const nobody = `Nobody listens at ${serverName} (connection refused). Start a server with: openintent serve`;

/** An agent whose server refuses connections so many times, and its clock. */
function agentOf(refusals: number, options: Partial<AgentOptions> = {}): { agent: Agent; clock: FakeClock; logger: RecordingLogger } {
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const agentServer = fakeServer({
    async register() {
      if (refusals-- > 0) {
        throw refused();
      }
      return 30_000;
    },
  });
  return { agent: new Agent({ id: "me", server: serverName, agentServer, clock, logger, ...options }), clock, logger };
}

const run = (agent: Agent): Promise<void> => agent.run({ signal: new AbortController().signal });

test("whoever waits for the start of an agent waits 5 s for a server on this machine, and the agent for ever", async () => {
  const { agent, clock, logger } = agentOf(200);
  const running = run(agent);
  const message = `The server at ${serverName} could not be reached within 5 s: ${nobody}`;
  await assert.rejects(agent.started(), { constructor: UnavailableError, message });
  assert.ok(clock.now() >= 5_000 && clock.now() < 6_000);
  assert.equal(logger.lines[0], `warn agent me cannot reach the server at ${serverName} and keeps trying: ${nobody}`);
  await agent.leave();
  await running;
});

test("a server elsewhere is waited for", async () => {
  const { agent, clock } = agentOf(200, { server: "example.org:1" });
  const running = run(agent);
  await agent.started();
  assert.ok(clock.now() > 60_000);
  await agent.leave();
  await running;
});

test("a time to connect ends the run of an agent", async () => {
  const { agent, logger } = agentOf(200, { connectTimeout: 8 });
  const message = `The server at ${serverName} could not be reached within 8 s: ${nobody}`;
  const running = run(agent);
  const failed = assert.rejects(agent.started(), { constructor: UnavailableError, message });
  await assert.rejects(running, { constructor: UnavailableError, message });
  await failed;
  assert.equal(logger.lines.at(-1), `error agent me gives up: The server at ${serverName} could not be reached within 8 s`);
  assert.equal(logger.lines.filter((line) => line.includes(nobody)).length, 1, "the log says it once");
});

test("an agent that has started is not ended by its time to connect", async () => {
  let streams = 0;
  const { agent } = agentOf(0, {
    connectTimeout: 8,
    agentServer: fakeServer({
      async *deliveries(_id, _max, accepted) {
        if (++streams === 1) {
          accepted();
        }
        if (streams === 100) {
          void agent.leave();
        }
        throw refused();
      },
    }),
  });
  await run(agent);
  assert.equal(streams, 100);
});

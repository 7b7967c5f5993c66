import assert from "node:assert/strict";
import { test } from "node:test";
import { Agent } from "../../src/agent/agent.js";
import { Digests } from "../../src/agent/digests.js";
import { AgentLog } from "../../src/agent/log.js";
import { Presence } from "../../src/agent/presence.js";
import { StatusNote } from "../../src/agent/status-note.js";
import { errorFrom, InvalidArgumentError, UnauthenticatedError } from "../../src/errors.js";
import { fakeServer } from "./fake-agent-server.js";
import { FakeClock, lost, RecordingLogger } from "./fakes.js";

const logger = new RecordingLogger();
const log = new AgentLog("me", "here", logger, new FakeClock());
const gone = errorFrom({ code: "FAILED_PRECONDITION", reason: "AGENT_GONE", message: "gone" });

test("heartbeats come at the interval that the server names; an agent that is gone registers again", async () => {
  const clock = new FakeClock();
  const leaving = new AbortController();
  const told: string[] = [];
  const answers: (number | Error)[] = [10_000, lost(), 20_000, gone];
  const server = fakeServer(
    {
      async heartbeat() {
        told.push(`beat at ${Math.round(clock.time / 1000)}`);
        const answer = answers.shift();
        if (answer === undefined) {
          leaving.abort();
          return { interval: 1, draining: false };
        }
        if (answer instanceof Error) {
          throw answer;
        }
        return { interval: answer, draining: false };
      },
    },
    told,
  );
  const presence = new Presence(server, clock, log);
  await presence.register(leaving.signal);
  await assert.rejects(presence.keep(leaving.signal));
  assert.deepEqual(told, ["register", "beat at 30", "beat at 40", "beat at 40", "beat at 60", "register", "beat at 90"]);
});

test("a process that takes over from one that left makes the agent active; it leaves another's wish to drain alone", async () => {
  const leaving = new AbortController();
  const told: string[] = [];
  const server = fakeServer(
    {
      async heartbeat() {
        if (told.push("beat") > 5) {
          leaving.abort();
        }
        return { interval: 30_000, draining: true };
      },
    },
    told,
  );
  const presence = new Presence(server, new FakeClock(), log);
  await presence.register(leaving.signal);
  presence.tookOver();
  await assert.rejects(presence.keep(leaving.signal));
  assert.deepEqual(told, ["register", "beat", "register", "beat", "beat", "beat"]);
});

test("a status note brings the next heartbeat forward, once a second at most, and is said again to a new record", async () => {
  const clock = new FakeClock();
  const leaving = new AbortController();
  const told: string[] = [];
  const note = new StatusNote();
  const answers: (() => void)[] = [
    () => note.set("second"),
    () => {},
    () => {
      throw gone;
    },
    () => {
      throw errorFrom({ code: "INVALID_ARGUMENT", message: "no such note" });
    },
  ];
  const server = fakeServer(
    {
      async heartbeat(_status, said) {
        told.push(`${said} at ${Math.round(clock.time / 1000)}`);
        (answers.shift() ?? (() => leaving.abort()))();
        return { interval: 30_000, draining: false };
      },
    },
    told,
  );
  note.set("first");
  const presence = new Presence(server, clock, log, note);
  await presence.register(leaving.signal);
  await assert.rejects(presence.keep(leaving.signal));
  const expected = ["first at 1", "second at 2", "undefined at 32", "register", "second at 33", "undefined at 33"];
  assert.deepEqual(told, ["register", ...expected]);
  assert.ok(logger.lines.includes("warn agent me had its status note refused: no such note"));
});

test("a status note that is too long, or of an agent without a record, is refused", () => {
  new Agent({ id: "me", logger }).setStatusNote("\u{1f4d6}".repeat(200));
  assert.throws(() => new Agent({ id: "me", logger }).setStatusNote("\u{1f4d6}".repeat(201)), InvalidArgumentError);
  assert.throws(() => new Agent({ id: "me", register: false, logger }).setStatusNote("here"), InvalidArgumentError);
});

test("a run registers, tells that it is draining when it leaves, and deregisters only when asked", async () => {
  const told: string[] = [];
  const agent = new Agent({ id: "me", agentServer: fakeServer({}, told), logger });
  const running = agent.run({ signal: new AbortController().signal });
  await agent.started();
  await assert.rejects(agent.run(), /is running already/);
  await agent.leave({ deregister: true });
  await running;
  assert.deepEqual(told, ["register", "draining", "deregister"]);
});

test("an agent without a role need not be registered; one with a role always is", async () => {
  const run = async (role?: string): Promise<string[]> => {
    const told: string[] = [];
    const agent = new Agent({ id: "me", register: false, ...(role && { role }), agentServer: fakeServer({}, told), logger });
    const leaving = new AbortController();
    const running = agent.run({ signal: leaving.signal });
    await agent.started();
    leaving.abort();
    await running;
    return told;
  };
  assert.deepEqual(await run(), []);
  assert.deepEqual(await run("data"), ["register", "draining"]);
});

test("a refusal that waiting cannot mend ends the run, and the wait for its start", async () => {
  const refused = errorFrom({ code: "UNAUTHENTICATED", reason: "API_KEY_UNKNOWN", message: "no" });
  const server = fakeServer({
    async register() {
      throw refused;
    },
  });
  const agent = new Agent({ id: "me", agentServer: server, logger });
  const running = agent.run({ signal: new AbortController().signal });
  await assert.rejects(agent.started(), UnauthenticatedError);
  await assert.rejects(running, UnauthenticatedError);
});

test("impossible options are refused", () => {
  for (const options of [
    { id: "" },
    { id: "me", concurrency: 0 },
    { id: "me", drainSeconds: -1 },
    { id: "me", digestSeconds: 0 },
    { id: "me", digestSeconds: 1.5 },
    { id: "me", maxChars: -1 },
  ]) {
    assert.throws(() => new Agent(options), InvalidArgumentError);
  }
});

test("digests go to all of their handlers, and are told at debug level without any", async () => {
  const summary = { messageCount: 7, counts: [], subjects: [], spans: [], leftOutCount: 0, attention: null, attempt: 1 };
  const told = new RecordingLogger();
  const agentLog = new AgentLog("me", "here", told, new FakeClock());
  const { signal } = new AbortController();
  const digests = new Digests();
  await digests.handle(summary, signal, agentLog);
  const handled: unknown[] = [];
  digests.add(() => {
    throw new Error("out of paper");
  });
  digests.add(async (digest) => void handled.push(digest));
  await digests.handle(summary, signal, agentLog);
  assert.deepEqual(handled, [{ ...summary, signal }]);
  assert.deepEqual(told.lines, [
    "debug agent me has no handler for digests, and leaves out one of 7 messages",
    "error agent me: the handler for digests failed: out of paper",
  ]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { AgentLog } from "../../src/agent/log.js";
import { Receiving } from "../../src/agent/receiving.js";
import type { AgentServer, Delivery, Heartbeat, InboxPage, Received } from "../../src/agent/server.js";
import { errorFrom } from "../../src/errors.js";
import type { Attempt } from "../../src/transport.js";
import type { Message } from "../../src/types.js";
import { Gate } from "../scenarios/waiting.js";
import { FakeClock, lost, message, RecordingLogger } from "./fakes.js";

function received(id: string, fields: Partial<Message> = {}): Received {
  const whole = message(id, { messageType: "request", sender: "asker", to: "me", ...fields });
  return { message: whole, intentId: "intent", channelName: "c", position: 1, attempt: 1 };
}

const delivery = (number: number, id: string, fields: Partial<Message> = {}): Delivery => ({
  number,
  standingBy: false,
  received: received(id, fields),
});

/** A server whose streams bring the given deliveries, one stream after the other; the last one makes the agent leave. */
class FakeServer implements AgentServer {
  acknowledged: number[] = [];
  opened: string[] = [];
  subscriptions = 0;
  inboxPages: InboxPage[] = [];
  active = true;
  /** The streams stand by until this resolves. */
  taken: Promise<void> = Promise.resolve();
  /** What the last stream brings when the agent is leaving. */
  late: AsyncIterable<Delivery> = (async function* () {})();
  readonly leaving = new AbortController();
  /** How many streams are open. */
  open = 0;
  inboxLooks = 0;
  #exhausted = false;

  constructor(private readonly streams: (Delivery | Error)[][]) {}

  async register(): Promise<number> {
    return 30_000;
  }
  async heartbeat(): Promise<Heartbeat> {
    return { interval: 30_000, draining: false };
  }
  async deregister(): Promise<void> {}
  async createSubscription(): Promise<{ id: string; createdAt: Date; active: boolean }> {
    const made = { id: `sub_${++this.subscriptions}`, createdAt: new Date(2_000), active: this.active };
    this.active = true;
    return made;
  }
  async findSubscription(): Promise<undefined> {
    return undefined;
  }
  async deleteSubscription(): Promise<void> {}
  async *deliveries(id: string, _max: number, accepted: () => void, attempt: Attempt): AsyncGenerator<Delivery, void> {
    this.opened.push(id);
    this.open++;
    attempt.signal.addEventListener("abort", () => this.open--);
    accepted();
    await this.taken;
    yield { number: 0, standingBy: false, received: null };
    for (const item of this.streams.shift() ?? []) {
      if (item instanceof Error) {
        throw item;
      }
      yield item;
    }
    this.#exhausted = true;
    this.#leaveOnceGiven();
    yield* this.late;
    attempt.signal.throwIfAborted();
    await new Promise((_, reject) => attempt.signal.addEventListener("abort", () => reject(attempt.signal.reason)));
  }
  async surface(): Promise<void> {}

  async acknowledge(_id: string, numbers: readonly number[]): Promise<void> {
    this.acknowledged.push(...numbers);
  }
  /** Makes the agent leave once it has got everything, and everything that follows has happened. */
  #leaveOnceGiven(): void {
    if (this.#exhausted && this.inboxLooks >= 2) {
      setImmediate(() => this.leaving.abort());
    }
  }
  async inbox(): Promise<InboxPage> {
    this.inboxLooks++;
    this.#leaveOnceGiven();
    return this.inboxPages.shift() ?? { requests: [], nextCursor: undefined };
  }
}

async function play(
  server: FakeServer,
  handle: (received: Received) => Promise<void>,
  concurrency = 16,
): Promise<{ log: string[]; open: number }> {
  const logger = new RecordingLogger();
  const clock = new FakeClock();
  const options = {
    agentId: "me",
    concurrency,
    handle,
    log: new AgentLog("me", "here", logger, clock),
    accepted: () => {},
    tookOver: () => {},
  };
  const end = new AbortController();
  const receiving = new Receiving(server, clock, options, end.signal);
  try {
    await receiving.run(server.leaving.signal);
  } catch (error) {
    if (!server.leaving.signal.aborted) {
      throw error;
    }
  }
  await receiving.finished();
  const { open } = server;
  end.abort();
  return { log: logger.lines, open };
}

test("each message is handled once, and every delivery of it acknowledged", async () => {
  const server = new FakeServer([
    [delivery(1, "a"), delivery(2, "b"), delivery(3, "a"), lost()],
    [delivery(1, "a"), delivery(2, "b"), delivery(3, "a"), delivery(4, "c")],
  ]);
  const handled: string[] = [];
  await play(server, async ({ message }) => void handled.push(message.id));
  assert.deepEqual(handled.sort(), ["a", "b", "c"]);
  assert.deepEqual([...new Set(server.acknowledged)].sort(), [1, 2, 3, 4]);
});

test("responses, the agent's own messages and events are acknowledged unhandled", async () => {
  const server = new FakeServer([
    [delivery(1, "r", { messageType: "response" }), delivery(2, "o", { sender: "me" }), { number: 3, standingBy: false, received: null }],
  ]);
  await play(server, async () => assert.fail("nothing must be handled"));
  assert.deepEqual(server.acknowledged, [1, 2, 3]);
});

test("messages start in order, a bounded number at once, and are acknowledged only when handled", async () => {
  const server = new FakeServer([[1, 2, 3, 4].map((n) => delivery(n, `m${n}`))]);
  const started: string[] = [];
  const gate = new Gate();
  let running = 0;
  await play(
    server,
    async ({ message }) => {
      started.push(message.id);
      assert.ok(++running <= 2);
      if (started.length === 2) {
        assert.deepEqual(server.acknowledged, []);
        gate.open();
      }
      await gate.opened;
      running--;
    },
    2,
  );
  assert.deepEqual(started, ["m1", "m2", "m3", "m4"]);
  assert.deepEqual(server.acknowledged.sort(), [1, 2, 3, 4]);
});

test("a message that could not be handled is reported, stays unacknowledged, and is handled when it comes again", async () => {
  const server = new FakeServer([[delivery(1, "a"), delivery(2, "b")], []]);
  const { log } = await play(server, async ({ message }) => {
    if (message.id === "a") {
      throw new Error("no answer stored");
    }
  });
  assert.deepEqual(log, [
    "info agent me is connected to here and receives",
    "warn agent me could not finish message a, which will come again: no answer stored",
  ]);
  assert.deepEqual(server.acknowledged, [2]);
});

test("messages in the inbox that are older than the subscription come first, and what the stream brings is not handled twice", async () => {
  const server = new FakeServer([[delivery(1, "new")]]);
  const requests = [received("old", { createdAt: new Date(1_000) }), received("new", { createdAt: new Date(3_000) })];
  const rest = [...requests, received("granted", { createdAt: new Date(2_500) })];
  server.inboxPages = [
    { requests, nextCursor: undefined },
    { requests: rest, nextCursor: undefined },
  ];
  const handled: string[] = [];
  await play(server, async ({ message }) => void handled.push(message.id));
  assert.deepEqual(handled, ["old", "new", "granted"]);
});

test("an agent that leaves waits for the delivery of what it found in the inbox, and begins nothing new", async () => {
  const server = new FakeServer([[]]);
  const left = new Gate();
  server.leaving.signal.addEventListener("abort", left.open);
  server.late = (async function* () {
    await left.opened;
    yield delivery(1, "later");
    yield delivery(2, "found");
  })();
  const found = { requests: [received("found", { createdAt: new Date(3_000) })], nextCursor: undefined };
  server.inboxPages = [found, found];
  const handled: string[] = [];
  await play(server, async ({ message }) => void handled.push(message.id));
  assert.deepEqual(handled, ["found"]);
  assert.deepEqual(server.acknowledged, [2]);
});

test("the stream stays open until the running handlers have ended and their deliveries are acknowledged", async () => {
  const server = new FakeServer([[delivery(1, "long")]]);
  const open: number[] = [];
  const played = await play(server, async () => {
    await new Promise((resolve) => server.leaving.signal.addEventListener("abort", resolve));
    for (let turns = 0; turns < 100; turns++) {
      await new Promise(setImmediate);
      open.push(server.open);
    }
  });
  assert.ok(open.every((streams) => streams === 1));
  assert.deepEqual(server.acknowledged, [1]);
  assert.deepEqual([played.open, server.open], [1, 0]);
});

test("the inbox is left alone until this process is the one that receives", async () => {
  const server = new FakeServer([[]]);
  const gate = new Gate();
  server.taken = gate.opened;
  server.inboxPages = [{ requests: [received("old", { createdAt: new Date(1_000) })], nextCursor: undefined }];
  const handled: string[] = [];
  const played = play(server, async ({ message }) => void handled.push(message.id));
  while (server.opened.length === 0) {
    await new Promise(setImmediate);
  }
  assert.equal(server.inboxLooks, 0);
  gate.open();
  await played;
  assert.deepEqual(handled, ["old"]);
  assert.deepEqual(server.acknowledged, []);
});

test("a subscription that ended is created again; a failure that waiting cannot mend ends the receiving", async () => {
  const ended = errorFrom({ code: "FAILED_PRECONDITION", reason: "SUBSCRIPTION_ENDED", message: "" });
  const server = new FakeServer([[ended], [delivery(1, "a")]]);
  server.active = false;
  await play(server, async () => {});
  assert.deepEqual(server.opened, ["sub_2", "sub_3"]);
  for (const code of ["UNAUTHENTICATED", "PERMISSION_DENIED", "INVALID_ARGUMENT"] as const) {
    await assert.rejects(
      play(new FakeServer([[errorFrom({ code, message: "" })]]), async () => {}),
      { code },
    );
  }
});

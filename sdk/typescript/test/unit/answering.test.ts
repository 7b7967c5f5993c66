import assert from "node:assert/strict";
import { test } from "node:test";
import { Answering } from "../../src/agent/answering.js";
import { AgentLog } from "../../src/agent/log.js";
import { Handlers, type Handler, type ReceivedMessage } from "../../src/agent/message.js";
import type { Attention } from "../../src/conversation-types.js";
import type { Received } from "../../src/agent/server.js";
import { errorFrom, type Code } from "../../src/errors.js";
import { payloadAs } from "../../src/payload-as.js";
import { noTracing } from "../../src/tracing.js";
import type { ReplyRequest } from "../../src/transport.js";
import type { MessageType } from "../../src/types.js";
import { fakeClient, FakeClock, lost, message, RecordingLogger } from "./fakes.js";

interface Told {
  replies: ReplyRequest[];
  read: string[];
  /** What the agent's log says, without what all its lines begin with. */
  log: string[];
  texts: string[];
}

/** Handles one message on the channel `c` and returns what was answered. `refuse` may throw in place of a reply. */
async function handle(
  handlers: [string | undefined, Handler][],
  messageType: MessageType = "request",
  refuse: (count: number) => void = () => {},
): Promise<Told> {
  const logger = new RecordingLogger();
  const told: Told = { replies: [], read: [], log: [], texts: logger.texts };
  const client = fakeClient({
    async replyMessage(request) {
      told.replies.push(request);
      refuse(told.replies.length);
      return message("msg_r");
    },
    async markRead(_channelId, messageId) {
      told.read.push(messageId);
      throw errorFrom({ code: "FAILED_PRECONDITION", reason: "MESSAGE_EXPIRED", message: "" });
    },
  });
  const all = new Handlers();
  handlers.forEach(([channel, handler]) => all.add(channel, handler));
  const received: Received = {
    message: message("msg_q", { messageType }),
    intentId: "intent",
    channelName: "c",
    position: 5,
    attempt: 1,
  };
  const signal = new AbortController().signal;
  const log = new AgentLog("me", "here", logger, new FakeClock());
  await new Answering(client, all, noTracing, signal, log).handle(received);
  told.log = logger.lines.map((line) => line.replace(" agent me", ""));
  return told;
}

test("the first result that is not null answers, under a key that follows from the request", async () => {
  const { replies, log } = await handle([
    ["c", () => null],
    ["c", async () => ({ answer: 1 })],
    ["c", () => ({ answer: 2 })],
    ["other", () => assert.fail("of another channel")],
    [undefined, () => assert.fail("a handler of the channel was there")],
  ]);
  assert.deepEqual(
    replies.map(({ payload, idempotencyKey }) => [payload, idempotencyKey]),
    [[{ answer: 1 }, "sdk-reply-msg_q"]],
  );
  assert.deepEqual(log, []);
});

test("handlers without a channel take what no other handler takes; null and undefined send no answer", async () => {
  const { replies } = await handle([
    [undefined, () => ({ ok: true })],
    ["other", () => null],
  ]);
  assert.equal(replies.length, 1);
  assert.equal((await handle([["c", () => undefined]])).replies.length, 0);
});

test("a request that the handlers do not answer is marked as read, so that the inbox does not bring it again", async () => {
  const { read, log } = await handle([["c", () => null]]);
  assert.deepEqual([read, log], [["msg_q"], []]);
  assert.deepEqual((await handle([["c", () => ({ answer: 1 })]])).read, []);
  assert.deepEqual((await handle([["other", () => null]])).read, [], "it has not been handled");
  assert.deepEqual((await handle([["c", () => null]], "notify")).read, []);
});

test("a result for a message that is not a request is ignored", async () => {
  for (const type of ["notify", "broadcast"] as const) {
    assert.equal((await handle([["c", () => ({ ignored: true })]], type)).replies.length, 0);
  }
});

test("a failure answers a request, and stands in the log with its stack, for every kind of message", async () => {
  class TableMissing extends Error {}
  const fail = (): never => {
    throw new TableMissing("no such table", { cause: new Error("no such schema") });
  };
  const line = 'error: the handler for channel "c" failed on message msg_q: no such table';
  const { replies, log, texts } = await handle([["c", fail]]);
  assert.deepEqual(replies[0]?.payload, { error: { type: "TableMissing", message: "no such table" } });
  assert.deepEqual(replies[0]?.metadata, { openintent_error: true });
  assert.deepEqual(log, [line]);
  assert.match(texts[0]!, /\n +at fail .*answering\.test\.js[^]*no such schema/);
  const notified = await handle([["c", fail]], "notify");
  assert.equal(notified.replies.length, 0);
  assert.deepEqual(notified.log, [line]);
});

test("the log names a channel without a handler once, with those that have one", async () => {
  const unhandled = async (...names: string[]): Promise<string[]> =>
    (await handle(names.map((name) => [name, () => null]))).log;
  assert.deepEqual(await unhandled(), ['warn has no handler for channel "c"; it has no handlers at all']);
  const line = 'warn has no handler for channel "c"; it has handlers for "a", "b"';
  assert.deepEqual(await unhandled("a", "b", "a"), [line]);
  assert.deepEqual(await unhandled("a", "c"), []);

  const logger = new RecordingLogger();
  const answering = new Answering(
    fakeClient({}),
    new Handlers(),
    noTracing,
    new AbortController().signal,
    new AgentLog("me", "here", logger, new FakeClock()),
  );
  for (const channelName of ["c", "c", "d", "c"]) {
    await answering.handle({ message: message("m"), intentId: "i", channelName, position: 1, attempt: 1 });
  }
  assert.deepEqual(
    logger.lines,
    ["c", "d"].map((name) => `warn agent me has no handler for channel "${name}"; it has no handlers at all`),
  );
});

test("a payload that does not fit is one line, and an error of its own for the asker", async () => {
  const says = "payload does not fit: table is missing (message msg_q from responder)";
  const { replies, log, texts } = await handle([
    ["c", (received) => payloadAs(received, thrown)],
  ]);
  assert.deepEqual(replies[0]?.payload, { error: { type: "PayloadError", message: says } });
  assert.deepEqual(log, [`error: the payload of message msg_q on channel "c" does not fit: ${says}`]);
  assert.equal(texts[0]!.split("\n").length, 1);

  const returned = await handle([["c", () => "no object" as any]]);
  const wrong = "the handler's result must be an object; wrap other values in one.";
  assert.deepEqual(returned.replies[0]?.payload, { error: { type: "PayloadError", message: wrong } });
  assert.deepEqual(returned.texts, [`agent me: what the handler returned for message msg_q on channel "c" does not fit: ${wrong}`]);
});

function thrown(): never {
  throw new Error("table is missing");
}

test("whatever is thrown, the asker hears of it", async () => {
  const mute = Object.defineProperty(new Error(), "message", {
    get: () => {
      throw new Error("nothing to say");
    },
  });
  for (const [thrown, type, text] of [
    ["text", "string", "text"],
    [null, "object", "null"],
    [Object.create(null), "object", ""],
    [mute, "Error", ""],
    [new Error("a\0b\ud800c"), "Error", "a\ufffdb\ufffdc"],
    [new Error("x".repeat(100_000)), "Error", "x".repeat(8_192)],
  ] as const) {
    const { replies, log } = await handle([["c", () => Promise.reject(thrown)]]);
    assert.deepEqual(replies[0]?.payload, { error: { type, message: text } });
    assert.match(log.join(), /^error: the handler for channel "c" failed on message msg_q: /);
  }
});

test("a result that is not an object is a failure", async () => {
  const { replies } = await handle([["c", () => "text" as never]]);
  assert.equal((replies[0]?.payload as any).error.type, "PayloadError");
});

test("a reply is sent again until it is stored; a different one under its key counts as stored", async () => {
  const lostTwice = await handle([["c", () => ({ n: 1 })]], "request", (count) => {
    if (count < 3) {
      throw lost();
    }
  });
  assert.equal(new Set(lostTwice.replies.map(({ idempotencyKey }) => idempotencyKey)).size, 1);
  assert.equal(lostTwice.replies.length, 3);
  const reused = errorFrom({ code: "ALREADY_EXISTS", reason: "IDEMPOTENCY_KEY_REUSED", message: "" });
  const answered = await handle([["c", () => ({ n: 1 })]], "request", () => {
    throw reused;
  });
  assert.deepEqual(answered.log, []);
});

test("the asker is told when the server refuses an answer", async () => {
  const large = errorFrom({ code: "RESOURCE_EXHAUSTED", reason: "PAYLOAD_TOO_LARGE", message: "too large" });
  const refused = await handle([["c", () => ({ n: 1 })]], "request", (count) => {
    if (count === 1) {
      throw large;
    }
  });
  assert.deepEqual(refused.replies[1]?.payload, { error: { type: "ResourceExhaustedError", message: "too large" } });
  assert.deepEqual(refused.log, ['warn: the answer to message msg_q on channel "c" was refused: too large']);
});

test("an answer that comes too late is dropped, and one line says so", async () => {
  const line = 'warn: the answer to message msg_q on channel "c" came too late: It is late.';
  const refusals: [Code, string][] = [
    ["FAILED_PRECONDITION", "MESSAGE_EXPIRED"],
    ["FAILED_PRECONDITION", "CHANNEL_CLOSED"],
    ["FAILED_PRECONDITION", "INTENT_ENDED"],
    ["NOT_FOUND", "MESSAGE_NOT_FOUND"],
  ];
  for (const [code, reason] of refusals) {
    const refuse = (): never => {
      throw errorFrom({ code, reason, message: "It is\nlate." });
    };
    const late = await handle([["c", () => ({ n: 1 })]], "request", refuse);
    assert.equal(late.replies.length, 1);
    assert.deepEqual([late.log, late.texts.length], [[line], 1]);
    const early: Handler = async (received: ReceivedMessage) => void (await received.reply({ n: 1 }));
    const further = await handle([["c", early]], "request", refuse);
    assert.equal(further.replies.length, 1);
    assert.deepEqual([further.log, further.texts], [[line], [line.replace("warn", "agent me")]]);
  }
});

test("early and further answers have keys of their own, the same at each repetition", async () => {
  const early: Handler = async (message: ReceivedMessage) => {
    assert.equal(message.channelName, "c");
    await message.reply({ step: 1 }, { metadata: { note: "early" } });
    return { step: 2 };
  };
  const { replies } = await handle([["c", early]]);
  assert.deepEqual(
    replies.map(({ payload, idempotencyKey }) => [payload, idempotencyKey]),
    [
      [{ step: 1 }, "sdk-reply-msg_q-1"],
      [{ step: 2 }, "sdk-reply-msg_q"],
    ],
  );
});

test("what is about an obligation goes to the handlers of obligations", () => {
  const all = new Handlers();
  const [rest, owed]: Handler[] = [() => null, () => null];
  all.add(undefined, rest!);
  all.add(undefined, owed!, "obligation");
  const taking = (reason: string) => all.for({ channelName: "a", attention: { reason } as Attention });
  assert.deepEqual(["obligation", "obligation_return", "mention", "direct_request"].map(taking), [
    [owed],
    [owed],
    [rest],
    [rest],
  ]);
  assert.ok(all.attends);
});

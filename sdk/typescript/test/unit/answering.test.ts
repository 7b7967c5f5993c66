import assert from "node:assert/strict";
import { test } from "node:test";
import { Answering } from "../../src/agent/answering.js";
import { Handlers, type Handler, type ReceivedMessage } from "../../src/agent/message.js";
import type { Received } from "../../src/agent/server.js";
import { errorFrom } from "../../src/errors.js";
import { noTracing } from "../../src/tracing.js";
import type { ReplyRequest } from "../../src/transport.js";
import type { MessageType } from "../../src/types.js";
import { fakeClient, lost, message } from "./fakes.js";

interface Told {
  replies: ReplyRequest[];
  read: string[];
  failures: unknown[];
}

/** Handles one message on the channel `c` and returns what was answered. `refuse` may throw in place of a reply. */
async function handle(
  handlers: [string | undefined, Handler][],
  messageType: MessageType = "request",
  refuse: (count: number) => void = () => {},
): Promise<Told> {
  const told: Told = { replies: [], read: [], failures: [] };
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
  await new Answering(client, all, noTracing, signal, (error) => told.failures.push(error)).handle(received);
  return told;
}

test("the first result that is not null answers, under a key that follows from the request", async () => {
  const { replies, failures } = await handle([
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
  assert.deepEqual(failures, []);
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
  const { read, failures } = await handle([["c", () => null]]);
  assert.deepEqual([read, failures], [["msg_q"], []]);
  assert.deepEqual((await handle([["c", () => ({ answer: 1 })]])).read, []);
  assert.deepEqual((await handle([["other", () => null]])).read, [], "it has not been handled");
  assert.deepEqual((await handle([["c", () => null]], "notify")).read, []);
});

test("a result for a message that is not a request is ignored", async () => {
  for (const type of ["notify", "broadcast"] as const) {
    assert.equal((await handle([["c", () => ({ ignored: true })]], type)).replies.length, 0);
  }
});

test("a failure answers a request, and is reported for any other message", async () => {
  class TableMissing extends Error {}
  const fail = (): never => {
    throw new TableMissing("no such table");
  };
  const { replies, failures } = await handle([["c", fail]]);
  assert.deepEqual(replies[0]?.payload, { error: { type: "TableMissing", message: "no such table" } });
  assert.deepEqual(replies[0]?.metadata, { openintent_error: true });
  assert.deepEqual(failures, []);
  const notified = await handle([["c", fail]], "notify");
  assert.equal(notified.replies.length, 0);
  assert.equal(notified.failures.length, 1);
});

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
    const { replies, failures } = await handle([["c", () => Promise.reject(thrown)]]);
    assert.deepEqual(replies[0]?.payload, { error: { type, message: text } });
    assert.deepEqual(failures, []);
  }
});

test("a result that is not an object is a failure", async () => {
  const { replies } = await handle([["c", () => "text" as never]]);
  assert.equal((replies[0]?.payload as any).error.type, "InvalidArgumentError");
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
  assert.deepEqual(answered.failures, []);
});

test("the asker is told when the server refuses an answer; one that comes too late is dropped", async () => {
  const large = errorFrom({ code: "RESOURCE_EXHAUSTED", reason: "PAYLOAD_TOO_LARGE", message: "too large" });
  const refused = await handle([["c", () => ({ n: 1 })]], "request", (count) => {
    if (count === 1) {
      throw large;
    }
  });
  assert.deepEqual(refused.replies[1]?.payload, { error: { type: "ResourceExhaustedError", message: "too large" } });
  const late = await handle([["c", () => ({ n: 1 })]], "request", () => {
    throw errorFrom({ code: "FAILED_PRECONDITION", reason: "MESSAGE_EXPIRED", message: "" });
  });
  assert.equal(late.replies.length, 1);
  assert.equal(late.failures.length, 1);
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

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Attention } from "../../src/conversation-types.js";
import { nothingMore } from "../../src/conversation-types.js";
import { charactersOf, contentOf, fence, fencePart, fitted, fittedPart } from "../../src/mailbox/fence.js";
import type { JsonObject, Message } from "../../src/types.js";

const at = new Date("2026-11-30T08:00:00Z");

function messageWith(said: Partial<Message>): Message {
  return {
    ...nothingMore,
    id: "msg_1",
    channelId: "chan_1",
    sender: "bob",
    to: null,
    messageType: "notify",
    correlationId: null,
    payload: {},
    metadata: {},
    status: "delivered",
    createdAt: at,
    expiresAt: null,
    readAt: null,
    isError: false,
    ...said,
  };
}

interface Vector {
  name: string;
  message: Record<string, any>;
  room: number;
  attention?: { policy: Attention["policy"]; reason: string; claimed_by?: string };
  cursor?: string;
  line: string;
}

function messageIn({ message: m }: Vector): Message {
  const createdAt = new Date(m["created_at"]);
  return messageWith({
    id: m["id"],
    channelId: m["channel_id"],
    sender: m["sender"],
    senderKind: m["sender_kind"] ?? null,
    to: m["to"] ?? null,
    messageType: m["message_type"],
    correlationId: m["correlation_id"] ?? null,
    threadId: m["thread_id"] ?? null,
    createdAt,
    expiresAt: m["expires_at"] === undefined ? null : new Date(m["expires_at"]),
    editedAt: m["edited"] ? createdAt : null,
    deletedAt: m["deleted"] ? createdAt : null,
    subject: m["subject"] ?? null,
    kind: m["kind"] ?? null,
    payload: m["payload"],
  });
}

function attentionIn({ attention }: Vector): Attention | null {
  if (attention === undefined) {
    return null;
  }
  const claim = attention.claimed_by === undefined ? null : { holder: attention.claimed_by, expiresInMs: 1, fence: null };
  const { policy, reason } = attention;
  return { directedness: "to_me", policy, injection: "buffered", reason, priority: "normal", deadlineMs: null, claim, knock: null };
}

const vectors = JSON.parse(readFileSync(new URL("../../../../scenarios/vectors/fence.json", import.meta.url), "utf8")) as Vector[];

test("the fence is that of the doors", () => {
  assert.ok(vectors.length > 0);
  for (const vector of vectors) {
    const shown =
      vector.cursor === undefined
        ? fence(messageIn(vector), attentionIn(vector), vector.room)
        : fencePart(messageIn(vector), Number(vector.cursor), vector.room).text;
    assert.equal(shown, vector.line, vector.name);
  }
});

const hard = '\x01"é😀'.repeat(2_000);

test("a long message is cut and says how to read it", () => {
  for (const payload of [{ text: hard }, { list: [hard] }] as JsonObject[]) {
    const text = fitted(messageWith({ payload }), null, 2_000);
    const [line, note] = text.split("\n");
    assert.ok(charactersOf(text) <= 2_000 && charactersOf(text) > 1_980);
    assert.equal(note, 'This message is cut: read("msg_1") shows it from its beginning, in parts.');
    assert.ok((JSON.parse(line!) as { cut_from_bytes: number }).cut_from_bytes > 2_000);
  }
  const loud = { subject: "\x01".repeat(200), kind: "\x01".repeat(64), to: "<".repeat(256), threadId: "t".repeat(128), payload: { text: hard } };
  assert.ok(charactersOf(fitted(messageWith(loud), null, 2_000)) <= 2_000);
  assert.ok(charactersOf(fitted(messageWith({ ...loud, sender: "\x01".repeat(400) }), null, 2_000)) <= 2_000);
});

test("a message that fits is shown whole", () => {
  const short = messageWith({ payload: { text: "Hello" } });
  const whole = fence(short, null);
  assert.equal(fitted(short, null, whole.length), whole);
});

test("the parts of a message make the whole", () => {
  const content = Array.from({ length: 2_000 }, (_, n) => `${n}\n"é😀`).join("");
  for (const payload of [{ text: content }, { a: content, b: [content] }] as JsonObject[]) {
    let whole = "";
    for (let cursor = 0; ; ) {
      const text = fittedPart(messageWith({ payload }), cursor, 2_000);
      assert.ok(charactersOf(text) <= 2_000);
      const [line, note] = text.split("\n");
      const shown = JSON.parse(line!) as Record<string, string>;
      whole += shown["text"] ?? shown["payload_part"] ?? shown["payload_begins"];
      if (shown["cursor"] === undefined) {
        assert.equal(note, undefined);
        break;
      }
      assert.equal(note, `There is more: read("msg_1", "${shown["cursor"]}") goes on.`);
      assert.ok(Number(shown["cursor"]) > cursor);
      cursor = Number(shown["cursor"]);
    }
    assert.equal(whole, contentOf(payload).content);
  }
});

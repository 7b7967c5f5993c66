import assert from "node:assert/strict";
import { test } from "node:test";
import type { Attention } from "../../src/conversation-types.js";
import { nothingMore } from "../../src/conversation-types.js";
import { mailboxName } from "../../src/grpc/client.js";
import { Letter, Mail, needsClaim } from "../../src/mailbox/mail.js";
import type { Message } from "../../src/types.js";

const at = new Date("2026-11-30T08:00:00Z");

/** The letter that was sent at this second, under the name m and its number. */
function letterNo(number: number, policy?: Attention["policy"], said: Partial<Message> = {}, priority: Attention["priority"] = "normal"): Letter {
  const message: Message = {
    ...nothingMore,
    id: `m${number}`,
    channelId: "chan_1",
    sender: "bob",
    to: null,
    messageType: "notify",
    correlationId: null,
    payload: {},
    metadata: {},
    status: "delivered",
    createdAt: new Date(at.getTime() + number * 1000),
    expiresAt: null,
    readAt: null,
    isError: false,
    ...said,
  };
  const attention: Attention | null =
    policy === undefined
      ? null
      : { directedness: "to_me", policy, injection: "buffered", reason: "mention", priority, deadlineMs: 5_000, claim: null, knock: null };
  return new Letter({ message, intentId: "i", channelName: "talk", position: number, attempt: 1, attention }, 0);
}

const ids = (mail: Mail, now = 0): string[] => mail.waiting(now).map(({ message }) => message.id);

test("what is urgent comes first, then what waits for an answer, and each by its position", () => {
  const mail = new Mail();
  const request = { messageType: "request" } as const;
  const all = [
    letterNo(9, "ack_only"),
    letterNo(8, "must_respond", request),
    letterNo(7, "must_not_respond", {}, "urgent"),
    letterNo(6, "must_respond"),
    letterNo(5, "may_respond", request),
    letterNo(4, "must_not_respond", request),
    letterNo(3, "may_respond"),
    letterNo(2, "must_respond", {}, "urgent"),
  ];
  all.forEach((letter, i) => assert.ok(mail.arrive(letter, i + 1)));
  assert.deepEqual(ids(mail), ["m2", "m7", "m5", "m6", "m8", "m3", "m4", "m9"]);
});

test("without attention the message itself says it", () => {
  const mail = new Mail();
  [letterNo(1), letterNo(2, undefined, { messageType: "request" }), letterNo(3, undefined, { priority: "urgent" })].forEach((letter, i) =>
    mail.arrive(letter, i + 1),
  );
  assert.deepEqual(ids(mail), ["m3", "m2", "m1"]);
});

test("what is held or settled is not handed out again", () => {
  const mail = new Mail();
  const one = letterNo(1);
  assert.ok(mail.arrive(one, 0));
  one.taken = true;
  assert.ok(!mail.arrive(letterNo(1), 4));
  assert.ok(!mail.arrive(letterNo(1), 5));
  assert.deepEqual(ids(mail), []);
  mail.putBack("m1");
  mail.putBack("unknown");
  assert.deepEqual([ids(mail), one.attempt, mail.acknowledgeable()], [["m1"], 2, []]);
  mail.finish("m1");
  assert.deepEqual(mail.acknowledgeable(), [4, 5]);
  assert.ok(!mail.arrive(letterNo(1), 6));
  assert.deepEqual(mail.acknowledgeable(), [6]);
});

test("what others hold waits for longer and longer", () => {
  const mail = new Mail();
  const one = letterNo(1);
  mail.arrive(one, 1);
  one.putOff(0);
  assert.deepEqual([ids(mail, 500), mail.nextTurn(500), ids(mail, 1_000)], [[], 500, ["m1"]]);
  for (let i = 0; i < 20; i++) {
    one.putOff(0);
  }
  assert.deepEqual([mail.nextTurn(0), mail.nextTurn(10_000)], [10_000, undefined]);
});

test("a process that stands by keeps what was taken", () => {
  const mail = new Mail();
  const kept = letterNo(1);
  mail.arrive(kept, 1);
  mail.arrive(letterNo(2), 2);
  mail.passOver(3);
  kept.taken = true;
  mail.standBy();
  assert.deepEqual([mail.letter("m1"), mail.letter("m2"), mail.unacknowledged], [kept, undefined, 0]);
});

test("a message is over at its deadline", () => {
  assert.ok(!letterNo(1).isOver(1e9));
  assert.deepEqual([letterNo(1, "must_respond").isOver(4_999), letterNo(1, "must_respond").isOver(5_000)], [false, true]);
});

test("requests to a role that take an exact number of answers need a claim", () => {
  const needs = (collect: Message["collect"], to: string, messageType: Message["messageType"]): boolean =>
    needsClaim(letterNo(1, undefined, { collect, to, messageType }).message);
  assert.ok(needs("one", "role:desk", "request") && needs({ quorum: 2 }, "role:desk", "request"));
  assert.ok(!needs("any", "role:desk", "request") && !needs("one", "ann", "request") && !needs("one", "role:desk", "notify"));
});

test("the mailboxes of one agent differ by their channels", () => {
  assert.equal(mailboxName(undefined), "mailbox");
  assert.equal(mailboxName(["a", "b"]), "mailbox-7e18f737311b2dc3");
  assert.equal(mailboxName(["b", "a"]), mailboxName(["a", "b"]));
  assert.notEqual(mailboxName(["a"]), mailboxName(["a", "b"]));
});

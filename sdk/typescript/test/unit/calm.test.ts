import assert from "node:assert/strict";
import { test } from "node:test";
import { awaitsAnAnswer, Calm } from "../../src/testing/calm.js";
import type { Wire } from "../../src/testing/record.js";

const now = new Date("2026-07-01T12:00:00Z");
const [soon, past] = ["2026-07-01T12:00:00.500Z", "2026-07-01T12:00:00Z"];

const asked = (fields: Wire = {}): Wire => ({
  id: "1", sender: "lead", message_type: "request", status: "delivered", expires_at: soon, correlation_id: null, ...fields,
});

const answer = (number: number, to = "1"): Wire => ({
  id: `answer ${number}`, sender: `builder-${number}`, message_type: "response", status: "read", expires_at: null, correlation_id: to,
});

test("who awaits an answer", () => {
  const rows: [says: string, messages: Wire[], awaits: boolean][] = [
    ["nothing was said", [], false],
    ["it has asked", [asked()], true],
    ["it has asked a role", [asked({ to: "role:builder", collect: "one" })], true],
    ["another question was answered", [asked(), answer(1, "2")], true],
    ["its question was answered", [asked(), answer(1)], false],
    ["it has asked again", [asked(), answer(1), asked({ id: "2" })], true],
    ["any answer will do", [asked({ collect: "any" }), answer(1)], false],
    ["one answer will do", [asked({ collect: "one" }), answer(1)], false],
    ["one of two answers came", [asked({ collect: { quorum: 2 } }), answer(1)], true],
    ["two of two answers came", [asked({ collect: { quorum: 2 } }), answer(1), answer(2)], false],
    ["it collects answers until its time is over", [asked({ collect: "all" }), answer(1), answer(2)], true],
    ["the time of collecting is over", [asked({ collect: "all", expires_at: past }), answer(1)], false],
    ["the time of its question is over", [asked({ expires_at: past })], false],
    ["its question was withdrawn", [asked({ status: "expired" })], false],
    ["it goes on without an answer", [asked({ expires_at: null })], false],
    ["somebody else has asked", [asked({ sender: "other" })], false],
    ["it has told something", [asked({ message_type: "notify" })], false],
  ];
  for (const [says, messages, awaits] of rows) {
    assert.equal(awaitsAnAnswer("lead", messages, now), awaits, says);
  }
});

test("who is calm", () => {
  const rows: [says: string, atWork: boolean, messages: Wire[], timeMayPass: boolean, isCalm: boolean][] = [
    ["it has nothing to do", false, [], true, true],
    ["it is at work", true, [], true, false],
    ["it awaits an answer", true, [asked()], true, true],
    ["it works with the answer", true, [asked(), answer(1)], true, false],
    ["it awaits an answer that cannot come", true, [asked()], false, false],
  ];
  for (const [says, atWork, messages, timeMayPass, isCalm] of rows) {
    const calm = new Calm("lead", timeMayPass);
    assert.equal(calm.isReached(10_000, atWork, messages, now), false, says);
    assert.equal(calm.isReached(10_149, atWork, messages, now), false, says);
    assert.equal(calm.isReached(10_150, atWork, messages, now), isCalm, says);
  }
});

test("who says something is not calm yet", () => {
  const calm = new Calm("lead");
  assert.equal(calm.isReached(10_000, true, [asked()], now), false);
  assert.equal(calm.isReached(11_000, true, [asked(), asked({ id: "2" })], now), false);
  assert.equal(calm.isReached(12_000, true, [asked(), asked({ id: "2" }), asked({ id: "3", sender: "other" })], now), true);
});

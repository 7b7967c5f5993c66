import assert from "node:assert/strict";
import { test } from "node:test";

import type { Delivery, Explanation } from "../src/client/requests.ts";
import type { Annotation, Message } from "../src/client/types.ts";
import { roomBefore, sequenceOf, server, type Facts } from "../src/pages/requests/sequence.ts";
import { inWords, rulesThatCount, whileItWaits } from "../src/pages/requests/why.ts";
import { at, message } from "./helper.ts";

const long = Date.parse(at(9000));

function facts(request: Partial<Message>, more: Partial<Facts> = {}): Facts {
  return {
    request: message({ message_type: "request", to: "bob", created_at: at(0), ...request }),
    answers: [],
    deliveries: undefined,
    reactions: [],
    history: [],
    ...more,
  };
}

function delivery(agent: string, more: Partial<Delivery> = {}): Delivery {
  const none = { offered_at: null, read_at: null, answered_at: null, expired_at: null, dead_lettered_at: null, dead_letter_reason: null };
  return { agent_id: agent, status: "stored", stored_at: at(0), surfaced_at: null, disposition: null, disposed_at: null, ...none, ...more };
}

let position = 0;

function told(type: string, agent: string, seconds: number, more: Partial<Annotation> = {}): Annotation {
  return { type, position: ++position, message_id: "msg", channel_id: "chan", agent_id: agent, created_at: at(seconds), ...more };
}

const said = (of: Facts, now = long) => sequenceOf(of, now).steps.map(({ word, agent, after }) => [word, agent, after / 1000]);

test("a request's story goes from the sender by the server to the recipient and back, with the times between", () => {
  const of = facts(
    {},
    {
      deliveries: [delivery("bob", { offered_at: at(2), surfaced_at: at(3), read_at: at(4) })],
      history: [told("message_claimed", "bob", 10), told("message_claimed", "bob", 60), told("claim_released", "bob", 70, { reason: "responded" })],
      answers: [message({ sender: "bob", message_type: "response", created_at: at(70) })],
    },
  );
  assert.deepEqual(said(of), [
    ["Sent and stored", "bob", 0],
    ["Offered", "bob", 2],
    ["Surfaced", "bob", 1],
    ["Read", "bob", 1],
    ["Claimed", "bob", 6],
    ["Answered", "bob", 60],
  ]);
  const { lanes, steps } = sequenceOf(of, long);
  assert.deepEqual(lanes, ["alice", server, "bob"]);
  assert.deepEqual(
    steps.map(({ from, to }) => [lanes.indexOf(from), lanes.indexOf(to)]),
    [[0, 1], [1, 2], [2, 2], [2, 2], [2, 1], [2, 0]],
  );
});

test("whoever may not know what became of a request still sees for whom it waits", () => {
  assert.deepEqual(sequenceOf(facts({}), long).lanes, ["alice", server, "bob"]);
  assert.deepEqual(sequenceOf(facts({ to: "role:reviewer" }), long).lanes, ["alice", server, "role:reviewer"]);
  assert.deepEqual(sequenceOf(facts({ to: null }), long).lanes, ["alice", server]);
});

test("a reaction is told once, also if its story is not known any more", () => {
  const set = { agent_id: "bob", signal: "working", note: "at it", eta: null, created_at: at(5) };
  const story = told("message_reaction", "bob", 5, { change: "added", signal: "working", note: "at it" });
  for (const history of [[], [story]]) {
    assert.deepEqual(said(facts({}, { reactions: [set], history })), [["Sent and stored", "bob", 0], ["“working”", "bob", 5]]);
  }
});

test("a request ends by itself at its time, unless it was answered or withdrawn", () => {
  const expired = { expires_at: at(30) };
  const last = (of: Facts, now?: number) => said(of, now).at(-1)?.[0];
  assert.equal(last(facts(expired)), "Expired");
  assert.equal(last(facts(expired), Date.parse(at(29))), "Sent and stored");
  assert.equal(last(facts(expired, { answers: [message({ sender: "bob", created_at: at(20) })] })), "Answered");
  assert.equal(last(facts({ ...expired, deleted_at: at(10), status: "expired" })), "Withdrawn");
  assert.equal(last(facts({}, { history: [told("claim_released", "bob", 7, { reason: "expired" })] })), "Claim ended");
});

test("an answer that the reader may not see is told by the end of the claim", () => {
  const history = [told("message_claimed", "bob", 1), told("claim_released", "bob", 6, { reason: "responded" })];
  const request = { to: "role:builder", expires_at: at(30) };
  assert.deepEqual(said(facts(request, { history })), [
    ["Sent and stored", "role:builder", 0],
    ["Claimed", "bob", 1],
    ["Answered", "bob", 5],
  ]);
  const answers = [message({ sender: "bob", message_type: "response", created_at: at(6) })];
  assert.equal(said(facts(request, { history, answers })).filter(([word]) => word === "Answered").length, 1);
});

test("many recipients are counted where they have no lane", () => {
  const deliveries = Array.from({ length: 9 }, (_, i) => delivery(`agent-${i}`, { offered_at: at(i + 1) }));
  const { lanes, others, steps } = sequenceOf(facts({ to: "role:reader" }, { deliveries }), long);
  assert.equal(lanes.length, 8);
  assert.equal(others, 3);
  assert.ok(steps.every(({ from, to }) => lanes.includes(from) && lanes.includes(to)));
});

test("the room before a step grows with the time that passes, and has an end", () => {
  const rooms = [0, 999, 1000, 60_000, 3_600_000, 30 * 86_400_000].map(roomBefore);
  assert.deepEqual(rooms, [...rooms].sort((a, b) => a - b));
  assert.equal(rooms[1], 0);
  assert.ok(rooms.every((room) => room % 4 === 0 && room <= 28), String(rooms));
});

test("why an agent is woken stands in words, with the server's own beside them", () => {
  const nothing: Explanation = { directedness: null, policy: null, injection: null, reason: null, deadline_ms: null, claim: null, rules: [] };
  assert.deepEqual(inWords(nothing), []);
  assert.deepEqual(whileItWaits(nothing), []);
  const asked: Explanation = {
    ...nothing,
    directedness: "to_me",
    policy: "must_respond",
    injection: "immediate",
    deadline_ms: 90_000,
    claim: { holder: "bob", expires_in_ms: 30_000 },
  };
  assert.deepEqual(
    inWords(asked).map(({ word }) => word),
    ["to_me", "must_respond", "immediate"],
  );
  assert.deepEqual(whileItWaits({ ...asked, deadline_ms: 0, claim: null }), []);
  assert.deepEqual(whileItWaits(asked), ["It expires in 1 min 30 s.", "bob works on it, for another 30 s at least."]);
  const rules = [
    { rule: "own_message", effect: "does not apply" },
    { rule: "to_me", effect: "decides: to_me / must_respond / buffered" },
    { rule: "loop_brake", effect: "changes nothing" },
  ];
  assert.deepEqual(rulesThatCount(rules), [rules[1]]);
});

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import type { Coordinator, Verification } from "../src/client/intents.ts";
import { News, partsOf, type Part } from "../src/pages/intents/news.ts";
import { beginningOf, endingsOf, inPlace, namesIn, verdictOn } from "../src/pages/intents/status.ts";
import { at } from "./helper.ts";

test("an intent may end in the ways that its status allows, and begins or goes on by one button", () => {
  assert.deepEqual(endingsOf("active"), ["completed", "abandoned"]);
  for (const status of ["draft", "blocked", "suspended_awaiting_input"] as const) {
    assert.deepEqual(endingsOf(status), ["abandoned"], status);
    assert.notEqual(beginningOf(status), undefined, status);
  }
  for (const status of ["completed", "abandoned"] as const) {
    assert.deepEqual(endingsOf(status), [], status);
    assert.equal(beginningOf(status), undefined, status);
  }
  assert.equal(beginningOf("active"), undefined);
});

test("the coordinator is the one whose time is not over", () => {
  const one = (agent: string, status: string): Coordinator => ({ id: agent, agent_id: agent, role: "", status, last_heartbeat_at: null, granted_at: at(0), expires_at: null });
  assert.equal(inPlace([one("a", "completed"), one("b", "unresponsive")])?.agent_id, "b");
  assert.equal(inPlace([one("a", "completed"), one("b", "failed_over")]), undefined);
});

test("the verdict on a log says how much of it holds", () => {
  const whole: Verification = { event_count: 4, first_sequence: 1, last_sequence: 4, valid: true, break_count: 0, breaks: [], last_event_hash: "sha256:x", checkpoint: null };
  assert.equal(verdictOn(whole), "All 4 events hold, from 1 to 4.");
  assert.equal(verdictOn({ ...whole, event_count: 1, last_sequence: 1 }), "The one event holds.");
  assert.equal(verdictOn({ ...whole, event_count: 0 }), "The log is empty.");
  assert.equal(verdictOn({ ...whole, valid: false, break_count: 1 }), "The log was changed: 1 place of 4 events does not hold.");
  assert.equal(verdictOn({ ...whole, valid: false, break_count: 2 }), "The log was changed: 2 places of 4 events do not hold.");
  const shortened = { ...whole, first_sequence: 3, event_count: 2, checkpoint: { sequence: 2, removed_at: at(9), first_break: null } };
  assert.equal(verdictOn(shortened), "All 2 events hold, from 3 to 4. The server has removed the 2 events before them.");
  const broken = { ...shortened, checkpoint: { ...shortened.checkpoint, first_break: 2 } };
  assert.equal(verdictOn(broken), "All 2 events hold, from 3 to 4. The server has removed the 2 events before them; they did not hold from 2 on.");
});

test("names are read with commas or spaces between them, each once", () => {
  assert.deepEqual(namesIn(" planner, reviewer  planner,,fx-checker "), ["planner", "reviewer", "fx-checker"]);
  assert.deepEqual(namesIn(" "), []);
});

test("an event makes out of date what it is about", () => {
  assert.deepEqual(partsOf("channel_message"), ["channels"]);
  assert.deepEqual(partsOf("task.created"), ["tasks", "events"]);
  assert.deepEqual(partsOf("lease_acquired"), ["leases", "events"]);
  assert.deepEqual(partsOf("agent_assigned"), ["members", "events"]);
  assert.deepEqual(partsOf("state_patched"), ["intent", "channels", "events"]);
  assert.equal(partsOf("of.tomorrow").length, 6, "nobody knows what it changes");
});

test("what has changed is read again soon, once, and not with each event", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  const read: Part[][] = [];
  const news = new News(
    (parts) => read.push([...parts]),
    () => now,
  );
  const pass = (milliseconds: number) => {
    now += milliseconds;
    mock.timers.tick(milliseconds);
  };
  news.add(["tasks", "events"]);
  news.add(["channels", "events"]);
  pass(199);
  assert.deepEqual(read, []);
  pass(1);
  assert.deepEqual(read, [["tasks", "events", "channels"]]);
  for (let event = 0; event < 15; event++) {
    news.add(["channels"]);
    pass(100);
  }
  assert.equal(read.length, 1, "a busy intent is read every two seconds");
  pass(500);
  assert.deepEqual(read[1], ["channels"]);
  news.add(["channels"]);
  news.end();
  pass(10_000);
  assert.equal(read.length, 2);
  mock.timers.reset();
});

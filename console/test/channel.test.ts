import assert from "node:assert/strict";
import { test } from "node:test";

import type { Annotation, Message } from "../src/client/types.ts";
import { older } from "../src/pages/channel/older.ts";
import { mayAnswer, standingOf } from "../src/pages/channel/request.ts";
import { asWritten, mayDelete, mayEdit } from "../src/pages/channel/revising.ts";
import { rowsOf } from "../src/pages/channel/rows.ts";
import { grouped } from "../src/pages/channel/signals.ts";
import { Timeline } from "../src/pages/channel/timeline.ts";
import { at, message } from "./helper.ts";

test("messages of one sender that follow each other read as one", () => {
  const rows = rowsOf([
    message({ created_at: at(0) }),
    message({ created_at: at(10) }),
    message({ created_at: at(20), sender: "bob" }),
    message({ created_at: at(30), sender: "bob", to: "alice" }),
    message({ created_at: at(40), sender: "bob", to: "alice", message_type: "request" }),
    message({ created_at: at(50), sender: "bob", to: "alice" }),
    message({ created_at: at(60), sender: "bob", to: "alice" }),
    message({ created_at: at(60 + 301), sender: "bob", to: "alice" }),
    message({ created_at: at(60 + 302), sender: "bob", to: "alice", sender_kind: "human" }),
  ]);
  assert.deepEqual(
    rows.map((row) => row.continues),
    [false, true, false, false, false, false, true, false, false],
  );
});

test("days and silences separate messages", () => {
  const hour = 3600;
  const rows = rowsOf([
    message({ created_at: at(0) }),
    message({ created_at: at(1799) }),
    message({ created_at: at(2 * 1799 + 1) }),
    message({ created_at: at(48 * hour) }),
  ]);
  assert.deepEqual(
    rows.map((row) => [row.day, row.gap]),
    [
      [true, undefined],
      [false, undefined],
      [false, 1_800_000],
      [true, undefined],
    ],
  );
});

test("a line stands before the first unread message, unless that is the first of all", () => {
  const some = [message(), message(), message()];
  const fresh = (from: string | undefined) => rowsOf(some, from).map((row) => row.fresh);
  assert.deepEqual(fresh(some[1]?.id), [false, true, false]);
  assert.deepEqual(fresh(some[0]?.id), [false, false, false]);
  assert.deepEqual(fresh(undefined), [false, false, false]);
  assert.equal(rowsOf(some, some[1]?.id)[1]?.continues, false);
});

test("a row stays the same until its message or the one before it changes", () => {
  const some = [message(), message(), message(), message()];
  const rows = rowsOf(some);
  const again = (messages: typeof some) => rowsOf(messages).map((row) => rows.includes(row));
  assert.deepEqual(again([...some, message()]), [true, true, true, true, false]);
  assert.deepEqual(again(some.slice(1)), [false, true, true]);
  assert.deepEqual(again([...some.slice(0, 1), { ...some[1]!, deleted_at: at(1) }, ...some.slice(2)]), [true, false, false, true]);
});

test("a timeline has each message once, in order, however they come", () => {
  const [one, two, three] = [message(), message(), message()];
  const timeline = new Timeline();
  assert.equal(timeline.add([three]), true);
  assert.equal(timeline.add([one, two]), true);
  assert.equal(timeline.add([two, three]), false);
  assert.deepEqual(timeline.messages, [one, two, three]);
  const edited = { ...two, payload: { text: "new" } };
  timeline.replace(edited);
  timeline.replace(message());
  assert.deepEqual(timeline.messages, [one, edited, three]);
  assert.deepEqual(timeline.trim(2), [one]);
  assert.deepEqual(timeline.trim(2), []);
  assert.deepEqual(timeline.messages, [edited, three]);
  assert.equal(timeline.get(one.id), undefined);
});

test("a timeline knows answers and threads", () => {
  const request = message({ message_type: "request", to: "bob" });
  const late = message({ message_type: "response", correlation_id: request.id, sender: "carol", created_at: at(1000) });
  const soon = message({ message_type: "response", correlation_id: request.id, sender: "bob", created_at: at(999) });
  const timeline = new Timeline();
  timeline.add([request, late, soon]);
  assert.deepEqual(timeline.answers.get(request.id), [soon, late]);
  timeline.add([message({ thread_id: request.id }), message({ thread_id: request.id })]);
  timeline.add([{ ...request, thread_id: request.id }]);
  assert.equal(timeline.replies.get(request.id), 2);
});

test("a timeline forgets a message with all that is known of it", () => {
  const request = message({ message_type: "request", to: "bob" });
  const answers = [1, 2].map(() => message({ message_type: "response", correlation_id: request.id, thread_id: request.id }));
  const late = message({ message_type: "response", correlation_id: request.id, thread_id: request.id });
  const timeline = new Timeline();
  timeline.add([request, ...answers]);
  timeline.annotate(annotation({ message_id: request.id, change: "added", signal: "seen" }));
  timeline.annotate(annotation({ message_id: request.id, type: "message_claimed" }));
  timeline.trim(2);
  timeline.add([late]);
  assert.deepEqual([timeline.reactions.size, timeline.claims.size], [0, 0]);
  assert.deepEqual([timeline.answers.get(request.id), timeline.replies.get(request.id)], [[...answers, late], 3]);
  timeline.trim(1);
  assert.deepEqual([timeline.answers.get(request.id), timeline.replies.get(request.id)], [[late], 1]);
  timeline.trim(0);
  assert.deepEqual([timeline.messages.length, timeline.answers.size, timeline.replies.size], [0, 0, 0]);
});

function annotation(more: Partial<Annotation>): Annotation {
  return { type: "message_reaction", position: 1, message_id: "msg_a", channel_id: "chan_1", agent_id: "bob", created_at: at(0), ...more };
}

test("a timeline follows what happens to messages", () => {
  const timeline = new Timeline();
  const signals = () => (timeline.reactions.get("msg_a") ?? []).map((one) => `${one.agent_id} ${one.signal} ${one.note ?? ""}`.trim());
  timeline.annotate(annotation({ change: "added", signal: "seen" }));
  timeline.annotate(annotation({ change: "added", signal: "working", note: "soon" }));
  timeline.annotate(annotation({ change: "added", signal: "seen", agent_id: "carol" }));
  timeline.annotate(annotation({ change: "added", signal: "working", note: "later" }));
  assert.deepEqual(signals(), ["bob seen", "bob working later", "carol seen"]);
  timeline.annotate(annotation({ change: "removed", signal: "seen" }));
  timeline.annotate(annotation({ change: "removed", signal: "never set" }));
  assert.deepEqual(signals(), ["bob working later", "carol seen"]);

  timeline.annotate(annotation({ type: "message_claimed", expires_at: at(90) }));
  timeline.annotate(annotation({ type: "message_claimed", expires_at: at(180) }));
  timeline.annotate(annotation({ type: "message_claimed", expires_at: at(60), agent_id: "carol" }));
  assert.deepEqual(timeline.claims.get("msg_a"), [
    { holder: "bob", expires_at: at(180) },
    { holder: "carol", expires_at: at(60) },
  ]);
  timeline.annotate(annotation({ type: "claim_released", reason: "released" }));
  assert.deepEqual(timeline.claims.get("msg_a"), [{ holder: "carol", expires_at: at(60) }]);

  assert.equal(timeline.annotate(annotation({ type: "message_edited", revision: 2 })), "msg_a");
  assert.equal(timeline.annotate(annotation({ type: "message_deleted" })), "msg_a");
  assert.equal(timeline.annotate(annotation({ type: "obligation_discharged" })), undefined);
});

test("a request stands as what happened to it says", () => {
  const request = message({ message_type: "request", to: "bob", created_at: at(0), expires_at: at(60) });
  const [before, after] = [Date.parse(at(59)), Date.parse(at(60))];
  const answer = message({ sender: "bob", created_at: at(12) });
  const no = { agent_id: "bob", signal: "declined", note: "no time" };
  assert.deepEqual(standingOf(request, [], [], before), { state: "waiting", expires: after });
  assert.deepEqual(standingOf({ ...request, expires_at: null }, [], [], after), { state: "waiting" });
  assert.deepEqual(standingOf(request, [], [], after), { state: "expired" });
  assert.deepEqual(standingOf({ ...request, status: "expired" }, [], [], before), { state: "expired" });
  assert.deepEqual(standingOf(request, [], [no], after), { state: "declined", by: "bob", note: "no time" });
  assert.deepEqual(standingOf(request, [], [{ ...no, agent_id: "carol" }], before).state, "waiting", "only the one who was asked says no");
  assert.deepEqual(standingOf(request, [answer], [no], after), { state: "answered", by: "bob", after: 12_000, answer: answer.id, answers: 1 });
  assert.deepEqual(standingOf({ ...request, deleted_at: at(3) }, [answer], [], before), { state: "withdrawn" });
});

test("who was asked may answer, and who holds the role", () => {
  const request = message({ message_type: "request", to: "role:reviewer" });
  assert.equal(mayAnswer(request, "bob", ["reviewer"]), true);
  assert.equal(mayAnswer(request, "bob", ["planner"]), false);
  assert.equal(mayAnswer(request, "alice", ["reviewer"]), false, "not one's own");
  assert.equal(mayAnswer({ ...request, to: "bob" }, "bob", []), true);
  assert.equal(mayAnswer({ ...request, to: "bob" }, "carol", []), false);
});

test("the same signals stand together", () => {
  const one = (agent_id: string, signal: string, note: string | null = null) => ({ agent_id, signal, note, eta: null });
  assert.deepEqual(grouped([one("a", "agree"), one("b", "working", "noon"), one("c", "agree")], "c"), [
    { signal: "agree", agents: ["a", "c"], said: "", own: true },
    { signal: "working", agents: ["b"], said: "noon", own: false },
  ]);
});

/** A channel of which pages of a list begin after a time, as the API's do. */
function channelOf(times: number[], pageSize: number) {
  const all = times.map((time) => message({ created_at: at(time) }));
  let calls = 0;
  const list = async (since: string) => {
    calls++;
    const from = all.find((one) => one.id === since)?.created_at ?? new Date(since).toISOString().replace("Z", "000Z");
    const after = all.filter((one) => one.created_at > from);
    return { messages: after.slice(0, pageSize), more: after.length > pageSize };
  };
  return { all, list, calls: () => calls };
}

test("older messages are found before a known one, without gaps, up to the beginning", async () => {
  const shapes: number[][] = [
    Array.from({ length: 400 }, (_, i) => i),
    Array.from({ length: 400 }, (_, i) => i * i * 50),
    Array.from({ length: 400 }, (_, i) => 4_000_000 - (400 - i) ** 2),
    [...Array.from({ length: 300 }, (_, i) => i / 1000), 900_000, 900_001],
    [0, 5_000_000],
  ];
  for (const times of shapes) {
    const { all, list, calls } = channelOf(times, 50);
    const floor = Date.parse(at(-10));
    let known: Message[] = all.slice(-1);
    for (let rounds = 0; ; rounds++) {
      assert.ok(rounds < 40, "it comes to an end");
      const [first] = known as [Message];
      const span = Date.parse(all.at(-1)?.created_at ?? "") - Date.parse(first.created_at);
      const found = await older(first, span, floor, list);
      const place = all.indexOf(first);
      assert.deepEqual(found.messages, all.slice(place - found.messages.length, place), "there is no gap");
      known = [...found.messages, ...known];
      if (found.beginning) {
        break;
      }
      assert.ok(found.messages.length > 0, "it gets on");
    }
    assert.deepEqual(known, all);
    assert.ok(calls() < 120, `${calls()} calls`);
  }
});

test("an edit is offered where the server takes it", () => {
  const place = { open: true, audited: false };
  const now = Date.parse(at(100));
  const mine = message({ created_at: at(0) });
  const request = message({ message_type: "request", to: "bob", expires_at: at(101) });
  assert.ok(mayEdit(mine, "alice", place, 0, now));
  assert.ok(mayEdit(mine, "alice", { ...place, audited: true }, 0, now), "an audited log has both versions");
  assert.ok(mayEdit(request, "alice", place, 0, now));
  assert.ok(mayEdit({ ...mine, expires_at: at(50) }, "alice", place, 0, now), "a message that was delivered in time");
  assert.ok(!mayEdit(mine, "bob", place, 0, now));
  assert.ok(!mayEdit(mine, "alice", { ...place, open: false }, 0, now));
  assert.ok(!mayEdit({ ...mine, deleted_at: at(1) }, "alice", place, 0, now));
  assert.ok(!mayEdit({ ...mine, status: "expired" }, "alice", place, 0, now));
  assert.ok(!mayEdit({ ...mine, revision: 100 }, "alice", place, 0, now));
  assert.ok(!mayEdit(request, "alice", place, 1, now), "the answer is to what was asked");
  assert.ok(!mayEdit(request, "alice", place, 0, Date.parse(at(101))));
});

test("a deletion is offered where nothing keeps a copy", () => {
  const place = { open: true, audited: false };
  const mine = message();
  assert.ok(mayDelete(mine, "alice", place));
  assert.ok(!mayDelete(mine, "bob", place));
  assert.ok(!mayDelete(mine, "alice", { open: true, audited: true }));
  assert.ok(!mayDelete(mine, "alice", { open: false, audited: false }));
  assert.ok(!mayDelete({ ...mine, deleted_at: at(1) }, "alice", place));
});

test("who edits a message finds what it says: its text, or JSON if it has more", () => {
  assert.deepEqual(asWritten({ payload: { text: "On Mondey" } }), { text: "On Mondey", json: false });
  assert.deepEqual(asWritten({ payload: { question: "When?" } }), { text: '{\n  "question": "When?"\n}', json: true });
  assert.deepEqual(asWritten({ payload: { text: "Sum", sum: 4 } }), { text: '{\n  "text": "Sum",\n  "sum": 4\n}', json: true });
});

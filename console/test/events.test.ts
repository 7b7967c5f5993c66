import assert from "node:assert/strict";
import { test } from "node:test";

import { EventReader, type Said } from "../src/client/events.ts";
import { pauseBefore } from "../src/client/pause.ts";
import { Away, failureOf, Refused } from "../src/client/refusal.ts";

const stream =
  "id: 4\n\n" +
  ': caught up\nid: 7\n\n' +
  'id: 8\nevent: channel_message\ndata: {"text": "one\\ntwo"}\n\n' +
  "retry: 1000\nevent: error\ndata: first\ndata: second\n\n" +
  ": ping\n\n";

const said: Said[] = [
  { kind: "place", id: "4" },
  { kind: "comment", text: "caught up" },
  { kind: "place", id: "7" },
  { kind: "event", name: "channel_message", data: '{"text": "one\\ntwo"}', id: "8" },
  { kind: "retry", milliseconds: 1000 },
  { kind: "event", name: "error", data: "first\nsecond", id: "8" },
  { kind: "comment", text: "ping" },
];

test("a stream says the same in whatever pieces it comes", () => {
  for (const size of [1, 2, 7, 1000]) {
    const reader = new EventReader();
    const heard: Said[] = [];
    for (let i = 0; i < stream.length; i += size) {
      heard.push(...reader.push(stream.slice(i, i + size)));
    }
    assert.deepEqual(heard, said);
    assert.equal(reader.lastId, "8");
  }
});

test("a stream may end its lines as Windows does", () => {
  assert.deepEqual(new EventReader().push(stream.replaceAll("\n", "\r\n")), said);
});

test("an event that is cut off is not said", () => {
  assert.deepEqual(new EventReader("3").push("id: 9\ndata: half"), []);
});

test("pauses grow and have an end", () => {
  assert.equal(pauseBefore(1, 0.5), 500);
  assert.equal(pauseBefore(2, 0.5), 1000);
  assert.ok(pauseBefore(3, 0) < pauseBefore(3, 1));
  assert.equal(pauseBefore(10_000, 0.5), 15_000);
});

test("a refusal has the server's sentence, and a proxy's answer is none", () => {
  const problem = '{"status": 403, "reason": "FORBIDDEN", "detail": "Too little access.", "required_permission": "admin"}';
  const refused = failureOf(403, problem, null);
  assert.ok(refused instanceof Refused);
  assert.deepEqual([refused.reason, refused.detail, refused.facts["required_permission"]], ["FORBIDDEN", "Too little access.", "admin"]);
  const later = failureOf(429, '{"reason": "QUOTA_EXCEEDED", "detail": "Later."}', "3");
  assert.ok(later instanceof Refused && later.retryAfter === 3);

  assert.ok(failureOf(502, "<html>Bad gateway</html>", null) instanceof Away);
  assert.ok(failureOf(503, '{"reason": "SERVER_STOPPING", "detail": "The server is stopping."}', null) instanceof Away);
  assert.ok(failureOf(503, '{"reason": "SEARCH_TOO_SLOW", "detail": "Too slow."}', null) instanceof Refused);
  assert.ok(failureOf(404, "not JSON", null) instanceof Refused);
});

import assert from "node:assert/strict";
import { test } from "node:test";

import { cursorIn } from "../src/client/link.ts";
import type { Figure } from "../src/client/server.ts";
import { isInvite, keyOf, type Draft } from "../src/pages/keys/kinds.ts";
import { gapsOf } from "../src/pages/search/complete.ts";
import { queryOf, setFilters, without } from "../src/pages/search/filters.ts";
import { placeOfId } from "../src/pages/search/ids.ts";
import { amount, groupsOf, headlinesOf } from "../src/pages/server/figures.ts";
import { laggingBehind, needsSomebody, wayOf, whyPaused } from "../src/pages/subscriptions/standing.ts";
import { foundIn, wordsIn } from "../src/text/found.ts";

test("the header Link says where a list goes on", () => {
  assert.equal(cursorIn('</v1/keys?limit=2&cursor=a%2Fb>; rel="next"'), "a/b");
  assert.equal(cursorIn('<http://host/v1/keys?cursor=x>; rel="prev", <?cursor=y&limit=1>; rel="next"'), "y");
  for (const link of [null, "", '</v1/keys?cursor=x>; rel="prev"', '</v1/keys>; rel="next"']) {
    assert.equal(cursorIn(link), undefined);
  }
});

test("a subscription lags by what is neither acknowledged nor given up", () => {
  assert.equal(laggingBehind({ last_number: 12, acknowledged_through: 9 }), 3);
  assert.equal(laggingBehind({ last_number: 0, acknowledged_through: 0 }), 0);
  assert.equal(laggingBehind({ last_number: 4, acknowledged_through: 5 }), 0);
});

test("the page says how deliveries come, and nothing of a webhook but its host", () => {
  assert.equal(wayOf({ webhook_url: null, use_endpoint: false }), "the agent comes for it");
  assert.equal(wayOf({ webhook_url: null, use_endpoint: true }), "posted to the agent's endpoint");
  assert.equal(wayOf({ webhook_url: "https://hooks.example:8443/secret?token=1", use_endpoint: false }), "posted to hooks.example:8443");
  assert.equal(wayOf({ webhook_url: "nonsense", use_endpoint: false }), "posted to its webhook");
});

test("a subscription needs somebody that fails, is paused or has given up", () => {
  const well = { dead_letter_count: 0, last_error: null };
  assert.equal(needsSomebody(well), false);
  assert.equal(needsSomebody({ ...well, dead_letter_count: 1 }), true);
  assert.equal(needsSomebody({ ...well, last_error: "503" }), true);
  assert.equal(needsSomebody({ ...well, paused_reason: "KEY_REVOKED" }), true);
  assert.equal(whyPaused("KEY_REVOKED"), "The key that made it was revoked.");
  assert.equal(whyPaused("KEY_REMOVED"), "The key that made it is gone.");
});

test("what was looked for is marked as whole words", () => {
  const marked = (text: string, query: string) => foundIn(text, wordsIn(query)).filter((piece) => piece.found).map((piece) => piece.text);
  assert.deepEqual(foundIn("The Token is a token.", wordsIn("token")), [
    { text: "The ", found: false },
    { text: "Token", found: true },
    { text: " is a ", found: false },
    { text: "token", found: true },
    { text: ".", found: false },
  ]);
  assert.deepEqual(marked("tokens and tokenize", "token"), []);
  assert.deepEqual(marked("src/parser.go drops it", '"parser.go"'), ["parser", "go"]);
  assert.deepEqual(marked("発注を確認した", "確認"), ["確", "認"]);
  assert.deepEqual(marked("abc確認def", "確 abc def"), ["abc", "確", "def"]);
  assert.deepEqual(foundIn("", wordsIn("x")), []);
  assert.deepEqual(foundIn("nothing", wordsIn("")), [{ text: "nothing", found: false }]);
});

test("an address is a search, with filters that are set", () => {
  assert.equal(queryOf(new URLSearchParams("")), undefined);
  assert.equal(queryOf(new URLSearchParams("q=+&sender=a")), undefined);
  assert.deepEqual(queryOf(new URLSearchParams("q=a+b&sender=planner&kind=&to=*&other=1")), { q: "a b", sender: "planner", to: "*" });
  assert.deepEqual(
    setFilters(new URLSearchParams("to=role:x&intent_id=i&q=1")).map(([filter, value]) => [filter.label, value]),
    [
      ["In", "i"],
      ["To", "role:x"],
    ],
  );
  assert.deepEqual(without("sender"), { sender: undefined });
  assert.deepEqual(without("intent_id"), { intent_id: undefined, channel_id: undefined });
});

test("an id of any kind has a place", () => {
  const ulid = "01M8MPPVJ7GZRX5E33GB5176DE";
  assert.deepEqual(placeOfId(` chan_${ulid}\n`), { route: { page: "channel", id: `chan_${ulid}` } });
  assert.deepEqual(placeOfId("01a2296b-6a9f-7186-b447-7648c0949612"), { route: { page: "intent", id: "01a2296b-6a9f-7186-b447-7648c0949612" } });
  assert.deepEqual(placeOfId(`sub_${ulid}`), { route: { page: "subscriptions" }, query: { id: `sub_${ulid}` } });
  assert.deepEqual(placeOfId(`key_${ulid}`), { route: { page: "keys" }, query: { id: `key_${ulid}` } });
  assert.deepEqual(placeOfId(`task_${ulid}`), { task: `task_${ulid}` });
  for (const text of ["", "planner", "sub_1", `key_${ulid} and more`, `other_${ulid}`]) {
    assert.equal(placeOfId(text), undefined);
  }
});

test("a search says why it may not have found everything", () => {
  assert.deepEqual(gapsOf({ messages_left: 0, intents_not_indexed: 0, bounded: false }), []);
  const gaps = gapsOf({ messages_left: 1200, intents_not_indexed: 1, bounded: true });
  assert.match(gaps[0] ?? "", /up to 1,200 messages/);
  assert.match(gaps[1] ?? "", /^One intent is /);
  assert.match(gaps[2] ?? "", /There may be more/);
  assert.match(gapsOf({ messages_left: 0, intents_not_indexed: 4, bounded: false })[0] ?? "", /^4 intents are /);
});

test("an invite is for guests of one channel", () => {
  const invite = { operator: false, agents: ["guest-erin"], channels: ["chan_1"], intents: [] };
  assert.equal(isInvite(invite), true);
  assert.equal(isInvite({ ...invite, agents: [] }), true);
  assert.equal(isInvite({ ...invite, agents: ["erin"] }), false);
  assert.equal(isInvite({ ...invite, channels: [] }), false);
  assert.equal(isInvite({ ...invite, channels: ["chan_1", "chan_2"] }), false);
  assert.equal(isInvite({ ...invite, intents: ["i"] }), false);
  assert.equal(isInvite({ ...invite, operator: true }), false);
});

test("a key is made of what goes with its kind", () => {
  const draft: Draft = { label: " CI ", for: "agents", agents: "a, b a", roles: "", readOnly: false, places: "", days: 0 };
  assert.deepEqual(keyOf(draft, 0), { label: "CI", agents: ["a", "b"] });
  assert.deepEqual(keyOf({ ...draft, roles: "*", readOnly: true, places: "chan_1 i1,i2", days: 7 }, 0), {
    label: "CI",
    expires_at: "1970-01-08T00:00:00.000Z",
    agents: ["a", "b"],
    roles: ["*"],
    read_only: true,
    intents: ["i1", "i2"],
    channels: ["chan_1"],
  });
  assert.deepEqual(keyOf({ ...draft, for: "person", agents: "anna" }, 0), { label: "CI", agents: ["anna"], human: true });
  assert.deepEqual(keyOf({ ...draft, for: "operator", readOnly: true, places: "i1" }, 0), { label: "CI", operator: true });
});

const figures: Figure[] = [
  { name: "openintent_requests_total", value: 12_345, per_second: 1.5 },
  { name: "openintent_request_duration_seconds_count", value: 10, per_second: 2 },
  { name: "openintent_request_duration_seconds_sum", value: 0.5, per_second: 0.009 },
  { name: "openintent_streams_open", value: 3, per_second: null },
  { name: "openintent_lost_entries_total", value: 1, per_second: 0 },
  { name: "openintent_something_new", value: 7, per_second: null },
];

test("figures are grouped for people, and none is left out that the page does not know", () => {
  const groups = groupsOf(figures);
  assert.deepEqual(
    groups.map((group) => group.title),
    ["Calls", "Trouble", "Others"],
  );
  assert.deepEqual(groups[0]?.lines[0], { name: "openintent_requests_total", words: "Finished calls", value: "12,345", rate: "1.5/s", bad: false });
  assert.deepEqual(groups[1]?.lines, [{ name: "openintent_lost_entries_total", words: "Entries that the database has lost", value: "1", rate: "", bad: true }]);
  assert.equal(groups[2]?.lines[0]?.words, "something new");
});

test("a few numbers say how a server does", () => {
  const values = Object.fromEntries(headlinesOf(figures).map(({ label, value }) => [label, value]));
  assert.deepEqual(values, { "Calls a second": "1.5", "Mean time of a call": "4.5 ms", "Messages a second": "0", "Open streams": "3", "Wait to be stored": "0" });
  assert.equal(headlinesOf([])[1]?.value, "–");
});

test("numbers have as many digits as somebody can use", () => {
  assert.deepEqual([0, 1234, 0.1234, 12.34, 123.4, 0.004].map(amount), ["0", "1,234", "0.12", "12.3", "123", "0"]);
});

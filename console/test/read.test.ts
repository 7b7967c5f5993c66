import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

import type { Message } from "../src/client/types.ts";
import { message } from "./helper.ts";

// The module speaks to the server, for which it needs a page.
let focused = true;
const calls: { url: string; body: unknown }[] = [];
let answer: () => Response;
Object.assign(globalThis, {
  document: { baseURI: "http://localhost/console/", hasFocus: () => focused },
  window: new EventTarget(),
  fetch: async (url: URL, init: RequestInit) => {
    calls.push({ url: url.pathname, body: JSON.parse(String(init.body)) });
    return answer();
  },
});
const { isFor, ReadMarks } = await import("../src/pages/channel/read.ts");

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  mock.method(performance, "now", () => now);
  now = 0;
  focused = true;
  calls.length = 0;
  answer = () => new Response("{}");
});

let now = 0;

async function pass(milliseconds: number) {
  now += milliseconds;
  mock.timers.tick(milliseconds);
  await new Promise<void>((resolve) => setImmediate(resolve));
}

const marked = () => calls.map((call) => (call.body as { message_ids: string[] }).message_ids);

test("a message counts as read after a second in view", async () => {
  const marks = new ReadMarks("anna", new Set(["a", "b", "c"]), false);
  const end = marks.begin();
  marks.inView(["a", "b", "read before"]);
  await pass(900);
  marks.inView(["a", "c"]);
  await pass(100);
  await pass(900);
  assert.deepEqual(marked(), [["a", "c"]], "b was gone before");
  assert.equal(calls[0]?.url, "/v1/agents/anna/inbox/read");
  await pass(10_000);
  assert.equal(calls.length, 1, "once");
  end();
});

test("nothing counts as read while the window has no focus", async () => {
  const marks = new ReadMarks("anna", new Set(["a"]), false);
  const end = marks.begin();
  focused = false;
  marks.inView(["a"]);
  await pass(10_000);
  assert.deepEqual(marked(), []);
  focused = true;
  window.dispatchEvent(new Event("focus"));
  await pass(500);
  assert.deepEqual(marked(), [], "the second begins with the focus");
  await pass(500);
  assert.deepEqual(marked(), [["a"]]);
  end();
});

test("a session that may only read marks nothing", async () => {
  const marks = new ReadMarks("anna", new Set(["a"]), true);
  marks.inView(["a"]);
  await pass(10_000);
  assert.deepEqual(marked(), []);
});

test("what could not be marked while the server was away is still unread", async () => {
  const unread = new Set(["a"]);
  const marks = new ReadMarks("anna", unread, false);
  answer = () => {
    throw new TypeError("away");
  };
  marks.inView(["a"]);
  await pass(1000);
  assert.deepEqual([...unread], ["a"]);
  answer = () => Response.json({ reason: "MESSAGE_EXPIRED", detail: "Too late." }, { status: 409 });
  marks.inView(["a"]);
  await pass(1000);
  assert.deepEqual([...unread], [], "what may not be marked is not tried for ever");
});

test("who only watches marks nothing that is not for them", () => {
  const to = (target: string | null): Message => message({ sender: "planner", to: target });
  assert.deepEqual(
    [null, "*", "anna", "bob", "role:reviewer"].map((target) => isFor("anna", to(target))),
    [true, true, true, false, false],
  );
  assert.deepEqual(
    [null, "*", "anna", "operator"].map((target) => isFor("operator", to(target))),
    [false, false, false, true],
  );
  assert.equal(isFor("planner", to(null)), false, "nor what they said themselves");
});

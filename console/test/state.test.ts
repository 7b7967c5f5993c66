import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { Pace } from "../src/state/pace.ts";
import { pageOfId, pathOf, routeOf, type Route } from "../src/state/routes.ts";
import { patience, UndoQueue } from "../src/state/undo.ts";

test("every address has its page, and every page its address", () => {
  const routes: [string, Route][] = [
    ["", { page: "needs" }],
    ["intents", { page: "intents" }],
    ["intents/01a2", { page: "intent", id: "01a2" }],
    ["channels/chan_1", { page: "channel", id: "chan_1" }],
    ["messages/msg_1", { page: "message", id: "msg_1" }],
    ["requests/msg_1", { page: "request", id: "msg_1" }],
    ["agents", { page: "agents" }],
    ["agents/a%20%2F%23%3F", { page: "agent", id: "a /#?" }],
    ["search", { page: "search" }],
    ["subscriptions", { page: "subscriptions" }],
    ["keys", { page: "keys" }],
    ["server", { page: "server" }],
  ];
  for (const [path, route] of routes) {
    assert.deepEqual(routeOf(path), route);
    assert.deepEqual(routeOf(`/${path}/`), route);
    assert.equal(pathOf(route), path);
  }
  for (const path of ["nowhere", "channels", "messages", "intents/1/2", "keys/1", "agents/%E0%A4%A", "constructor/1", "__proto__/1", "/x"]) {
    assert.deepEqual(routeOf(path), { page: "unknown" }, path);
  }
});

test("an id of any kind has its page", () => {
  assert.deepEqual(pageOfId(" chan_01M8MN9X8WK7JDXEZE1PKCZEWA "), { page: "channel", id: "chan_01M8MN9X8WK7JDXEZE1PKCZEWA" });
  assert.deepEqual(pageOfId("msg_01M8MNN9X8WK7JDXEZE1PKCZEW")?.page, "message");
  assert.deepEqual(pageOfId("01a2295a-a6ed-7329-bc5e-51871f576373")?.page, "intent");
  assert.deepEqual(pageOfId("agent_01M8MNN9X8WK7JDXEZE1PKCZEW")?.page, "agent");
  for (const text of ["", "planner", "msg_", "msg_1 chan_2", "01a2295a"]) {
    assert.equal(pageOfId(text), undefined);
  }
});

/** A world in which time passes as the test says. */
function world() {
  let now = 0;
  const timers = new Set<{ due: number; then: () => void }>();
  return {
    now: () => now,
    after(milliseconds: number, then: () => void) {
      const timer = { due: now + milliseconds, then };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    pass(milliseconds: number) {
      now += milliseconds;
      for (const timer of [...timers]) {
        if (timer.due <= now) {
          timers.delete(timer);
          timer.then();
        }
      }
    },
  };
}

test("what is decided is done when its time has come, once", () => {
  const time = world();
  const done: boolean[] = [];
  const queue = new UndoQueue(time);
  const id = queue.add("Declined", (leaving) => done.push(leaving));
  assert.deepEqual(queue.list, [{ id, label: "Declined", due: patience }]);
  time.pass(patience - 1);
  assert.deepEqual(done, []);
  time.pass(1);
  assert.deepEqual(done, [false]);
  assert.deepEqual(queue.list, []);
  queue.flush();
  time.pass(patience);
  assert.deepEqual(done, [false]);
  assert.equal(queue.undo(id), false, "it is too late");
});

test("what is undone is not done", () => {
  const time = world();
  let changes = 0;
  let undone = 0;
  const queue = new UndoQueue(time, () => changes++);
  const id = queue.add("Declined", () => assert.fail(), () => undone++);
  assert.equal(queue.undo(id), true);
  assert.equal(queue.undo(id), false);
  time.pass(2 * patience);
  queue.flush();
  assert.deepEqual([changes, undone], [2, 1]);
});

test("what is decided is done at once when the page is left", () => {
  const time = world();
  const done: string[] = [];
  const queue = new UndoQueue(time);
  queue.add("one", (leaving) => done.push(`one ${leaving}`));
  queue.add("two", (leaving) => done.push(`two ${leaving}`));
  queue.flush();
  time.pass(2 * patience);
  assert.deepEqual(done, ["one true", "two true"]);
});

test("the server is asked soon, seldom, and never while nobody looks", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  let asked = 0;
  const pass = (milliseconds: number) => {
    for (let i = 0; i < milliseconds; i += 100) {
      now += 100;
      mock.timers.tick(100);
    }
  };
  const pace = new Pace(
    () => asked++,
    () => now,
  );
  pace.look(true);
  pace.begin();
  pass(100);
  assert.equal(asked, 1);
  for (let i = 0; i < 50; i++) {
    pace.want();
    pass(100);
  }
  assert.equal(asked, 1, "not more than once in ten seconds");
  pass(6000);
  assert.equal(asked, 2);
  pass(57_000);
  assert.equal(asked, 2);
  pass(4000);
  assert.equal(asked, 3, "once a minute while nothing happens");
  pace.look(false);
  pace.want();
  pass(300_000);
  assert.equal(asked, 3, "never while nobody looks");
  pace.look(true);
  pass(100);
  assert.equal(asked, 4);
  pace.end();
  pass(300_000);
  assert.equal(asked, 4);
  mock.timers.reset();
});

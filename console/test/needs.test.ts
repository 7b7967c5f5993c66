import assert from "node:assert/strict";
import { test } from "node:test";

import type { Task } from "../src/client/intents.ts";
import type { Concern } from "../src/client/types.ts";
import { commonActions, doneOf, groupsOf, kindNamed, labelOf } from "../src/pages/needs/kinds.ts";
import { waits } from "../src/pages/needs/reassigning.ts";
import { doctorCommand, harnesses, wakeCommand } from "../src/pages/needs/wake.ts";
import { at } from "./helper.ts";

function concern(id: string, kind: string, since: number, actions: string[] = []): Concern {
  return { id, kind, since: at(since), summary: "", actions };
}

test("concerns stand in groups, oldest first, and what somebody waits for comes first", () => {
  const groups = groupsOf([
    concern("a", "dead_letters", 1),
    concern("b", "of tomorrow", 0),
    concern("c", "question", 9),
    concern("d", "brake", 2),
    concern("e", "question", 3),
  ]);
  assert.deepEqual(
    groups.map((group) => [group.kind, ...group.concerns.map((one) => one.id)]),
    [
      ["question", "e", "c"],
      ["brake", "d"],
      ["dead_letters", "a"],
      ["of tomorrow", "b"],
    ],
  );
  const halted = groupsOf([concern("a", "question", 1), concern("b", "obligation", 4), concern("c", "question", 9)], ({ id }) => id !== "a");
  assert.deepEqual(
    halted.map((group) => [kindNamed(group.kind).title, ...group.concerns.map((one) => one.id)]),
    [
      ["Work stands still", "b", "c"],
      ["Questions for you", "a"],
    ],
    "what halts somebody's work comes first",
  );
  assert.equal(kindNamed("of_tomorrow").title, "of tomorrow", "a newer server may know more kinds");
});

test("what is done to many is what all of them allow, with one click", () => {
  const some = [
    concern("a", "question", 1, ["answer", "claim", "decline", "defer"]),
    concern("b", "question", 2, ["answer", "decline", "of_tomorrow", "defer"]),
  ];
  assert.deepEqual(commonActions(some), ["decline", "defer"]);
  assert.deepEqual(commonActions([...some, concern("c", "brake", 3, ["lift"])]), []);
  assert.deepEqual(commonActions([]), []);
  assert.equal(labelOf("of_tomorrow"), undefined);
  assert.deepEqual([doneOf("decline", 1), doneOf("decline", 3)], ["Declined", "3 declined"]);
});

test("a task waits for a dead agent until it is given to another one, or over", () => {
  const waiting = (assigned_agent: string | null, status: Task["status"]) => waits({ assigned_agent, status } as Task, { agent_id: "worker" });
  assert.ok(waiting("worker", "running"));
  assert.ok(waiting("worker", "failed"), "it may be tried again");
  assert.ok(!waiting("carrier", "running"));
  assert.ok(!waiting(null, "ready"));
  assert.ok(!waiting("worker", "completed"));
});

test("what wakes an agent is one command, whatever the agent is called", () => {
  assert.equal(wakeCommand("data-agent", harnesses[1][1]), `openintent wake --agent data-agent --exec 'opencode run --continue "Read your inbox on openintent."'`);
  assert.equal(wakeCommand("data-agent", ""), "openintent wake --agent data-agent");
  assert.equal(doctorCommand("$(rm -r ~); it's"), `openintent doctor --agent '$(rm -r ~); it'\\''s'`);
  assert.equal(doctorCommand("--server"), "openintent doctor --agent '--server'");
});

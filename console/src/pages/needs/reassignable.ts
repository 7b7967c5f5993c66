import { getTask, listAssignments, listCoordinators, type Task } from "../../client/intents.ts";
import type { Concern } from "../../client/types.ts";
import { waits } from "./reassigning.ts";

/** The task, unless it waits no more, and who could take it over. */
export interface Reassignable {
  task: Task | undefined;
  members: string[];
}

/** How many pages of members are read; an intent that has more is a large one. */
const mostPages = 10;

/** readReassignable reads what somebody chooses from who gives a task to another agent. */
export async function readReassignable(concern: Concern, signal: AbortSignal): Promise<Reassignable> {
  const intent = concern.intent_id ?? "";
  const [task, assignments, coordinators] = await Promise.all([
    getTask(concern.task_id ?? "", signal),
    readAll((cursor) => listAssignments(intent, cursor, signal)),
    listCoordinators(intent, signal),
  ]);
  const names = new Set([...assignments, ...coordinators.items].map((one) => one.agent_id));
  names.delete(concern.agent_id ?? "");
  return { task: waits(task, concern) ? task : undefined, members: [...names].sort() };
}

async function readAll<T>(read: (cursor: string | undefined) => Promise<{ items: T[]; next: string | undefined }>): Promise<T[]> {
  const all: T[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < mostPages && (pages === 0 || cursor !== undefined); pages++) {
    const page = await read(cursor);
    all.push(...page.items);
    cursor = page.next;
  }
  return all;
}

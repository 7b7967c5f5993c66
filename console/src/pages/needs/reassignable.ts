import { listAssignments, listCoordinators, listTasks, type Task } from "../../client/intents.ts";
import type { Concern } from "../../client/types.ts";
import { tasksOf } from "./reassigning.ts";

/** Who could take over, and the tasks that wait. */
export interface Reassignable {
  tasks: Task[];
  members: string[];
}

/** How many pages of tasks and members are read; an intent that has more is a large one. */
const mostPages = 10;

/** readReassignable reads what somebody chooses from who gives a task to another agent. */
export async function readReassignable(concern: Concern, signal: AbortSignal): Promise<Reassignable> {
  const intent = concern.intent_id ?? "";
  const [tasks, assignments, coordinators] = await Promise.all([
    readAll((cursor) => listTasks(intent, cursor, signal)),
    readAll((cursor) => listAssignments(intent, cursor, signal)),
    listCoordinators(intent, signal),
  ]);
  const names = new Set([...assignments, ...coordinators.items].map((one) => one.agent_id));
  names.delete(concern.agent_id ?? "");
  return { tasks: tasksOf(concern, tasks), members: [...names].sort() };
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

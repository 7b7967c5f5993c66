import type { Task } from "../../client/intents.ts";
import type { Concern } from "../../client/types.ts";

const over = new Set<Task["status"]>(["completed", "cancelled", "skipped"]);

/** tasksOf finds the task that a concern is about, among those of an intent. A concern names it in its sentence alone. */
export function tasksOf({ summary, agent_id }: Pick<Concern, "summary" | "agent_id">, tasks: readonly Task[]): Task[] {
  const waiting = tasks.filter((task) => task.assigned_agent === agent_id && !over.has(task.status));
  const named = waiting.filter((task) => summary.includes(`(${task.id}) waits for `));
  return named.length > 0 ? named : waiting;
}

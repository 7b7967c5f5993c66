import type { Task } from "../../client/intents.ts";
import type { Concern } from "../../client/types.ts";

const over = new Set<Task["status"]>(["completed", "cancelled", "skipped"]);

/** waits reports whether a task still waits for the agent that a concern names. */
export function waits(task: Task, { agent_id }: Pick<Concern, "agent_id">): boolean {
  return task.assigned_agent === agent_id && !over.has(task.status);
}

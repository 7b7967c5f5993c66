import type { Coordinator, IntentStatus, TaskStatus, Verification } from "../../client/intents.ts";
import { count } from "../../text/size.ts";

type Tone = "plain" | "good" | "warn" | "bad" | "accent";

/** How a status is shown, in the order in which the page offers them. */
export const statuses: Record<IntentStatus, { word: string; tone: Tone; meaning: string }> = {
  active: { word: "Active", tone: "good", meaning: "It is worked on." },
  draft: { word: "Draft", tone: "plain", meaning: "It is being written, and nobody works on it yet." },
  blocked: { word: "Blocked", tone: "warn", meaning: "It waits for other intents." },
  suspended_awaiting_input: { word: "Suspended", tone: "warn", meaning: "It stands still until somebody gives it what it waits for." },
  completed: { word: "Completed", tone: "accent", meaning: "It was reached." },
  abandoned: { word: "Abandoned", tone: "plain", meaning: "It was given up." },
};

/** How an intent that goes on is set going, by its status. */
const beginnings: Partial<Record<IntentStatus, string>> = { draft: "Start", blocked: "Unblock", suspended_awaiting_input: "Resume" };

/** beginningOf is the button with which work on an intent begins or goes on; nothing if it is under way or over. */
export function beginningOf(status: IntentStatus): string | undefined {
  return beginnings[status];
}

/** endingsOf lists how an intent may end now. */
export function endingsOf(status: IntentStatus): IntentStatus[] {
  if (status === "completed" || status === "abandoned") {
    return [];
  }
  return status === "active" ? ["completed", "abandoned"] : ["abandoned"];
}

export const tasks: Record<TaskStatus, Tone> = {
  pending: "plain",
  ready: "accent",
  claimed: "accent",
  running: "accent",
  blocked: "warn",
  completed: "good",
  failed: "bad",
  cancelled: "plain",
  skipped: "plain",
};

/** inPlace finds who coordinates an intent now. The server has one at most. */
export function inPlace(coordinators: readonly Coordinator[]): Coordinator | undefined {
  return coordinators.findLast(({ status }) => status !== "completed" && status !== "failed_over");
}

/** verdictOn says in a sentence what came of recomputing a log. */
export function verdictOn({ event_count, valid, break_count, first_sequence, last_sequence, checkpoint }: Verification): string {
  if (event_count === 0) {
    return "The log is empty.";
  }
  const holds = event_count === 1 ? "The one event holds." : `All ${count(event_count, "event")} hold, from ${first_sequence} to ${last_sequence}.`;
  const broken = `The log was changed: ${count(break_count, "place")} of ${count(event_count, "event")} ${break_count === 1 ? "does" : "do"} not hold.`;
  return (valid ? holds : broken) + removedBefore(checkpoint);
}

function removedBefore(checkpoint: Verification["checkpoint"]): string {
  if (checkpoint === null) {
    return "";
  }
  const broken = checkpoint.first_break === null ? "" : `; they did not hold from ${checkpoint.first_break} on`;
  return ` The server has removed the ${count(checkpoint.sequence, "event")} before them${broken}.`;
}

/** namesIn reads names that somebody has written with commas or spaces between them. */
export function namesIn(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((name) => name !== ""))];
}

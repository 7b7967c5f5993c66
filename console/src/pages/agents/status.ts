import type { AgentStatus } from "../../client/agents.ts";

type Tone = "plain" | "good" | "warn" | "bad";

/** How a status is shown, in the order in which the page offers them. */
export const statuses: Record<AgentStatus, { word: string; tone: Tone; meaning: string }> = {
  active: { word: "Active", tone: "good", meaning: "At work." },
  unhealthy: { word: "Unhealthy", tone: "warn", meaning: "Silent for longer than it promised; a heartbeat makes it active again." },
  draining: { word: "Draining", tone: "plain", meaning: "Finishing; it takes on nothing new." },
  dead: { word: "Dead", tone: "bad", meaning: "Silent for so long that it counts as lost; a heartbeat brings it back." },
  registering: { word: "Registering", tone: "plain", meaning: "Being set up." },
  deregistered: { word: "Left", tone: "plain", meaning: "It has taken itself out of service." },
};

const kinds: Record<string, string> = {
  stream: "an open stream",
  wait: "a call that waits",
  c2a: "a connection of C2A",
  webhook: "a webhook",
  wake: "openintent wake",
};

/** pathNamed says what kind of way to an agent a path is. */
export function pathNamed(kind: string): string {
  return kinds[kind] ?? kind;
}

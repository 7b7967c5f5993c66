/** The signals of RFC-0021's conversations, in the order in which the page offers them, each with its tone. */
export const signals = [
  ["seen", "dim"],
  ["agree", "good"],
  ["working", "accent"],
  ["queued", "accent"],
  ["done", "good"],
  ["declined", "bad"],
  ["blocked", "bad"],
  ["unclear", "warn"],
] as const;

/** toneOf is how a signal looks; a team's own ones have no colour. */
export function toneOf(signal: string): "dim" | "good" | "accent" | "bad" | "warn" {
  return signals.find(([name]) => name === signal)?.[1] ?? (signal === "claimed" ? "accent" : "dim");
}

/** wordOf is a signal in words; a team's own ones begin with `x-`. */
export function wordOf(signal: string): string {
  return signal.replace(/^x-/, "");
}

/** A group of the same signal. */
export interface Group {
  signal: string;
  agents: string[];
  /** What one of them says beside it: the newest note or time. */
  said: string;
  own: boolean;
}

/** grouped puts the same signals together, in the order in which the first of each was set. */
export function grouped(reactions: readonly { agent_id: string; signal: string; note: string | null; eta: string | null }[], reader: string): Group[] {
  const groups = new Map<string, Group>();
  for (const { agent_id, signal, note, eta } of reactions) {
    const group = groups.get(signal) ?? { signal, agents: [], said: "", own: false };
    group.agents.push(agent_id);
    group.said = [note, eta].filter(Boolean).join(", ") || group.said;
    group.own ||= agent_id === reader;
    groups.set(signal, group);
  }
  return [...groups.values()];
}

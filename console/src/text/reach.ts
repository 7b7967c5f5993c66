import type { Level } from "../client/agents.ts";

/** What the levels of reach are called, and what each means. */
export const levels: Record<Level, { word: string; meaning: string }> = {
  live: { word: "live", meaning: "Something of it waits for messages now." },
  wakeable: { word: "can be woken", meaning: "Nothing of it waits now, but something can wake it." },
  none: { word: "no way open", meaning: "No way to it is open. What is sent to it is stored, and waits." },
  unknown: { word: "not heard of", meaning: "Nobody has called in its name for 30 days, or ever." },
};

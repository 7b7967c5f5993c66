import type { Key, NewKey } from "../../client/keys.ts";

/** isInvite reports whether a key is an invite: it is for one channel, and for guests alone. */
export function isInvite(key: Pick<Key, "operator" | "agents" | "channels" | "intents">): boolean {
  return !key.operator && key.channels.length === 1 && key.intents.length === 0 && key.agents.every((agent) => agent.startsWith("guest-"));
}

/** Whom a new key is for. */
export type For = "agents" | "person" | "operator";

/** What somebody writes who makes a key. */
export interface Draft {
  label: string;
  for: For;
  agents: string;
  roles: string;
  readOnly: boolean;
  /** Ids of intents and channels. */
  places: string;
  /** After how many days it ends; 0: never. */
  days: number;
}

/** keyOf makes the key that somebody means. What does not go with its kind is left out. */
export function keyOf(draft: Draft, now: number): NewKey {
  const key: NewKey = { label: draft.label.trim() };
  if (draft.days > 0) {
    key.expires_at = new Date(now + draft.days * 86_400_000).toISOString();
  }
  if (draft.for === "operator") {
    return { ...key, operator: true };
  }
  key.agents = namesIn(draft.agents);
  if (draft.for === "person") {
    key.human = true;
  }
  const roles = namesIn(draft.roles);
  if (roles.length > 0) {
    key.roles = roles;
  }
  if (draft.readOnly) {
    key.read_only = true;
  }
  const places = namesIn(draft.places);
  const channels = places.filter((id) => id.startsWith("chan_"));
  const intents = places.filter((id) => !id.startsWith("chan_"));
  return { ...key, ...(intents.length > 0 && { intents }), ...(channels.length > 0 && { channels }) };
}

/** namesIn splits what somebody wrote at commas and space, and leaves out what is there twice. */
function namesIn(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((name) => name !== ""))];
}

import type { JsonObject } from "../types.js";

/** A message as the record has it. `to` is null if it is to everyone, and `dispositions` says, by recipient, what became of it. */
export interface Said {
  readonly id: string;
  readonly channelId: string;
  readonly channel: string;
  readonly sender: string;
  readonly to: string | null;
  readonly messageType: string;
  readonly payload: JsonObject;
  readonly correlationId: string | null;
  readonly subject: string | null;
  readonly createdAt: string;
  readonly dispositions: Readonly<Record<string, string>>;
}

/** A message as a scripted peer got it. */
export interface Heard {
  readonly id: string;
  readonly channelId: string;
  readonly channel: string;
  readonly sender: string;
  readonly messageType: string;
  readonly payload: JsonObject;
}

/** What is wanted of a message: each field must be equal, or is a function that says whether it will do. */
export type Wanted<M> = { readonly [Name in keyof M]?: M[Name] | ((value: M[Name]) => boolean) };

/** Whether a message has all that is wanted. */
export function matches<M extends object>(message: M, wanted: Wanted<M>): boolean {
  return Object.entries(wanted).every(([name, value]) => {
    const found: unknown = message[name as keyof M];
    return typeof value === "function" ? Boolean(value(found)) : plain(found) === plain(value);
  });
}

/** Says what is wanted. */
export function described(wanted: object): string {
  const parts = Object.entries(wanted).map(([name, value]) => `${name} ${typeof value === "function" ? "as a function wants it" : plain(value)}`);
  return parts.join(", ") || "any message";
}

/** Lists messages, each on a line of its own. */
export function listed(messages: readonly (Said | Heard)[]): string {
  return messages.map((message) => `  ${line(message)}`).join("\n") || "  nothing";
}

function line(message: Said | Heard): string {
  const said = "to" in message && message.to !== null ? ` to ${message.to}` : "";
  const became = "dispositions" in message ? Object.entries(message.dispositions).map(([agent, word]) => `; ${agent}: ${word}`) : [];
  return `${message.sender}${said} on ${message.channel}, ${message.messageType}: ${plain(message.payload)}${became.join("")}`;
}

/** A value as JSON, in which the members of objects have one order. */
export function plain(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    part !== null && typeof part === "object" && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  ) ?? "undefined";
}

import type { Intent, JsonObject } from "../types.js";

/** A message, or something that belongs to one, as the server gives it over REST. */
export type Wire = Record<string, any>;

/** What reads lists over REST. */
interface Reader {
  list(path: string): Promise<any[]>;
}

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

/** A time before all messages. A list that begins there begins with the oldest. */
const beginning = "1970-01-01T00:00:00Z";

/** Reads the messages of an intent, each with the name of its channel. */
export async function messagesOf(server: Reader, intent: Intent | string): Promise<[channel: string, message: Wire][]> {
  const found: [string, Wire][] = [];
  for (const channel of await server.list(`/v1/intents/${typeof intent === "string" ? intent : intent.id}/channels`)) {
    for (const message of await server.list(`/v1/channels/${channel.id}/messages?since=${beginning}`)) {
      found.push([channel.name, message]);
    }
  }
  return found;
}

/** What was said by a message, of whose deliveries some are known. */
export function saidBy(channel: string, wire: Wire, deliveries: readonly Wire[] = []): Said {
  const [seconds, rest = ""] = String(wire["created_at"]).replace("Z", "").split(".");
  return {
    id: wire["id"],
    channelId: wire["channel_id"],
    channel,
    sender: wire["sender"],
    to: wire["to"] === undefined || wire["to"] === "*" ? null : wire["to"],
    messageType: wire["message_type"],
    payload: wire["payload"] as JsonObject,
    correlationId: wire["correlation_id"] ?? null,
    subject: wire["subject"] ?? null,
    createdAt: `${seconds}.${rest.padEnd(6, "0")}Z`,
    dispositions: Object.fromEntries(deliveries.filter((one) => one["disposition"]).map((one) => [one["agent_id"], one["disposition"]])),
  };
}

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

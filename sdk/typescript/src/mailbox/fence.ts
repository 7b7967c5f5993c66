import type { Attention } from "../conversation-types.js";
import type { Message } from "../types.js";

/*
 * How a model is shown what others wrote: one line of JSON, in which the server's facts come first and each text of the sender is the value
 * of one member, which no text can end. The doors of the server show it in the same way (`sdk/scenarios/vectors/fence.json` holds both to that).
 */

/** What a model is shown of a payload, under the name that says which part it is. */
interface Shown {
  readonly cut_from_bytes?: number;
  readonly cursor?: string;
  readonly text?: string;
  /** A whole payload, which is JSON already. */
  readonly payload?: string;
  readonly payload_begins?: string;
  readonly payload_part?: string;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** A message as a model is shown it, with at most so many bytes of its payload; undefined: with the whole of it. */
export function fence(message: Message, attention: Attention | null, room?: number): string {
  return line(facts(message, attention), shownOf(message, room), message);
}

/**
 * A message with the part of its payload that begins at a byte and has at most so many bytes, and the byte at which the next part begins;
 * null: there is none.
 */
export function fencePart(message: Message, from: number, room: number): { text: string; next: number | null } {
  const { content, isText } = contentOf(message.payload);
  const whole = encoder.encode(content);
  const start = boundary(whole, Math.min(Math.max(from, 0), whole.length));
  const end = start + boundary(whole.subarray(start), room);
  const part = decoder.decode(whole.subarray(start, end));
  const next = end < whole.length ? end : null;
  const led = next === null ? {} : { cut_from_bytes: whole.length, cursor: String(next) };
  const shown = start === 0 ? shownOf(message, room) : { cut_from_bytes: whole.length, [isText ? "text" : "payload_part"]: part };
  return { text: line(facts(message, null), { ...led, ...shown }, message), next };
}

/** How many characters a text has. */
export const charactersOf = (text: string): number => {
  let count = 0;
  for (const _ of text) {
    count++;
  }
  return count;
};

/** A message as a model is shown it, in at most so many characters. A message that is cut says how to read it. */
export function fitted(message: Message, attention: Attention | null, most: number): string {
  const whole = fence(message, attention);
  if (charactersOf(whole) <= most) {
    return whole;
  }
  const note = `\nThis message is cut: read("${message.id}") shows it from its beginning, in parts.`;
  const plain = { ...message, subject: null, kind: null };
  const bare = { ...plain, to: null, threadId: null };
  for (const [shorter, judged] of [[message, attention], [plain, attention], [bare, null]] as const) {
    const text = longest((room) => fence(shorter, judged, room), message, most - note.length);
    if (text !== undefined) {
      return text + note;
    }
  }
  return note.trim();
}

/** How many bytes a part has at least, so that whoever reads on comes to the end. */
const leastPart = 100;

/** The part of a message that begins at a byte, in at most so many characters. It says how to go on. */
export function fittedPart(message: Message, start: number, most: number): string {
  const shown = (room: number): string => {
    const { text, next } = fencePart(message, start, room);
    return next === null ? text : `${text}\nThere is more: read("${message.id}", "${next}") goes on.`;
  };
  return longest(shown, message, most) ?? shown(leastPart);
}

/** What is shown with the most room for which it has at most so many characters; undefined if it has more without any. */
function longest(shown: (room: number) => string, message: Message, most: number): string | undefined {
  if (charactersOf(shown(0)) > most) {
    return undefined;
  }
  let low = 0;
  for (let high = encoder.encode(contentOf(message.payload).content).length; low < high; ) {
    const middle = Math.ceil((low + high) / 2);
    if (charactersOf(shown(middle)) <= most) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return shown(low);
}

/** A payload as a model reads it: the text in `{"text": T}`, and the JSON of any other. */
export function contentOf(payload: object): { content: string; isText: boolean } {
  const entries = Object.entries(payload);
  const [name, value] = entries[0] ?? [];
  if (entries.length === 1 && name === "text" && typeof value === "string") {
    return { content: value, isText: true };
  }
  return { content: canonical(payload), isText: false };
}

/** The largest integer that a double tells apart from its neighbours. */
const largestInteger = Number.MAX_SAFE_INTEGER;

/** Writes JSON as the server does: ordered members, no spaces, and large integers with an exponent. */
export function canonical(value: unknown): string {
  if (typeof value === "number") {
    const size = Math.abs(value);
    return size > largestInteger && size < 1e21 ? value.toExponential() : String(value === 0 ? 0 : value);
  }
  if (Array.isArray(value)) {
    return `[${value.map(canonical).join(",")}]`;
  }
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(",")}}`;
  }
  return JSON.stringify(value ?? null);
}

/** What the server vouches for. What is empty or false is left out. */
function facts(message: Message, attention: Attention | null): Record<string, unknown> {
  const all = {
    id: message.id,
    from: message.sender,
    from_kind: message.senderKind,
    to: message.to,
    type: message.messageType,
    channel: message.channelId,
    at: moment(message.createdAt),
    answers: message.messageType === "response" ? message.correlationId : null,
    thread: message.threadId === message.id ? null : message.threadId,
    expires: moment(message.expiresAt),
    edited: message.editedAt !== null,
    deleted: message.deletedAt !== null,
    ...(attention && { policy: attention.policy, why: attention.reason, claimed_by: attention.claim?.holder }),
  };
  const always = ["id", "from", "type", "at"];
  return Object.fromEntries(Object.entries(all).filter(([name, value]) => Boolean(value) || always.includes(name)));
}

/** The payload, or its beginning. */
function shownOf(message: Message, room: number | undefined): Shown {
  const { content, isText } = contentOf(message.payload);
  const whole = encoder.encode(content);
  if (room === undefined || whole.length <= room) {
    return isText ? { text: content } : { payload: content };
  }
  const begins = decoder.decode(whole.subarray(0, boundary(whole, room)));
  return { cut_from_bytes: whole.length, [isText ? "text" : "payload_begins"]: begins };
}

/** Writes the line: facts, what the sender said of the message, and its payload. */
function line(known: Record<string, unknown>, { cut_from_bytes, cursor, ...shown }: Shown, message: Message): string {
  const members = {
    ...known,
    ...(cut_from_bytes !== undefined && { cut_from_bytes }),
    ...(cursor !== undefined && { cursor }),
    ...(message.subject && { subject: message.subject }),
    ...(message.kind && { kind: message.kind }),
  };
  const written = Object.entries(members).map(([name, value]) => `"${name}":${escaped(value)}`);
  for (const [name, text] of Object.entries(shown)) {
    written.push(`"${name}":${name === "payload" ? text : escaped(text)}`);
  }
  return `{${written.join(",")}}`;
}

function escaped(value: unknown): string {
  return JSON.stringify(value).replace(/\u2028/g, "\\u2028").replace(/\u2029/g, "\\u2029");
}

/** The last byte up to this one at which a character begins, or the end. */
function boundary(whole: Uint8Array, at: number): number {
  if (at >= whole.length) {
    return whole.length;
  }
  let start = at;
  while (start > 0 && (whole[start]! & 0xc0) === 0x80) {
    start--;
  }
  return start;
}

/** A time to the second, which is enough for a model. */
function moment(at: Date | null): string {
  return at === null ? "" : `${at.toISOString().slice(0, 19)}Z`;
}

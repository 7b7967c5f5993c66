import { OpenIntentError } from "../errors.js";
import type { Mailbox } from "../mailbox/mailbox.js";
import type { MailboxTool } from "../mailbox/tools.js";
import type { JsonObject } from "../types.js";
import type { Showing } from "./showing.js";

/*
 * A question for whose answer a run is suspended, until the answer comes into the mailbox: after a minute or after hours, in this process or in
 * the next one. What is kept of it lies in the framework's own store.
 */

/** What a suspended run keeps of its question. */
export interface Asked {
  /** The id of the request. */
  readonly openintent_asked: string;
  /** When it waits no longer, in milliseconds since 1970. */
  readonly until: number;
}

/** How long a question is waited for unless the model says otherwise, and at most, in seconds: the server knows its key for a day. */
const usual = 3_600;
const longest = 72_000;

/** The schema of the arguments of an `ask` that suspends its run. */
export function suspendingParameters(ask: MailboxTool): JsonObject {
  const wait_seconds = { type: "integer", description: `how long you wait, 1 to ${longest} seconds; ${usual}` };
  return { ...ask.parameters, properties: { ...(ask.parameters["properties"] as JsonObject), wait_seconds } };
}

/** Sends a question, once for a key, and returns what to keep of it; or a sentence for the model, if it was refused. */
export async function sendQuestion(mailbox: Mailbox, given: Readonly<Record<string, unknown>>, key: string): Promise<Asked | string> {
  const { channel, to, question, wait_seconds } = given;
  const wait = Math.min(Math.max(Number(wait_seconds || usual) || usual, 1), longest);
  try {
    const options = { to: String(to), messageType: "request", idempotencyKey: key } as const;
    const { id, createdAt } = await mailbox.send(String(channel), { text: String(question) }, options);
    return { openintent_asked: id, until: createdAt.getTime() + wait * 1000 };
  } catch (error) {
    if (error instanceof OpenIntentError) {
      return `Refused: ${error.message}`;
    }
    throw error;
  }
}

/** What a value says of a question; undefined: it is of something else. */
export function askedIn(value: unknown): Asked | undefined {
  const asked = value as Partial<Asked> | null | undefined;
  return typeof asked?.openintent_asked === "string" && typeof asked.until === "number" ? (asked as Asked) : undefined;
}

/** What the model is told as the answer to its question, if that has come, or its time is over. An answer that came counts as shown. */
export function answerTo({ openintent_asked: id, until }: Asked, showing: Showing): string | undefined {
  const answers = showing.messages.filter(({ message }) => message.messageType === "response" && message.correlationId === id);
  if (answers.length > 0) {
    showing.hold(answers);
    return answers.map(({ text }) => text).join("\n");
  }
  return Date.now() < until ? undefined : `Nobody has answered ${id} in time. An answer that comes later comes as a message.`;
}

/** How long to wait for the first of these questions at most, in seconds. */
export function patienceFor(asked: readonly Asked[]): number {
  return Math.max(0, Math.min(...asked.map(({ until }) => until)) - Date.now()) / 1000;
}

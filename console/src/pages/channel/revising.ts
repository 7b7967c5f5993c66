import type { Message } from "../../client/types.ts";
import { isEmpty, saidIn } from "../../text/payload.ts";

/** How many revisions of a message the server keeps at most. */
const mostRevisions = 100;

/** What a reader may do with their own message depends on its channel, too. */
interface Place {
  open: boolean;
  audited: boolean;
}

/** mayEdit reports whether the server would take an edit by a reader: of their own message, as long as nothing has come of it. */
export function mayEdit(message: Message, reader: string, { open }: Place, answers: number, now: number): boolean {
  const over = message.status === "expired" || (message.message_type === "request" && message.expires_at !== null && Date.parse(message.expires_at) <= now);
  return open && message.sender === reader && message.deleted_at === undefined && !over && answers === 0 && (message.revision ?? 1) < mostRevisions;
}

/** mayDelete reports whether the server would delete a reader's own message. What an audited channel's log has a copy of stays. */
export function mayDelete(message: Message, reader: string, { open, audited }: Place): boolean {
  return open && !audited && message.sender === reader && message.deleted_at === undefined;
}

/** asWritten is a message's content as somebody writes it: its text, or JSON if it has more. */
export function asWritten({ payload }: Pick<Message, "payload">): { text: string; json: boolean } {
  const { words, rest } = saidIn(payload);
  return isEmpty(rest) && payload["text"] === words ? { text: words, json: false } : { text: JSON.stringify(payload, undefined, 2), json: true };
}

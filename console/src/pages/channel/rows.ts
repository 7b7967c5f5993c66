import type { Message } from "../../client/types.ts";
import { dayOf } from "../../text/time.ts";

/** Row is a message with what separates it from the message before. */
export interface Row {
  message: Message;
  time: number;
  /** True if it is the first of a day. */
  day: boolean;
  /** For how many milliseconds nobody had said anything, if that was long; a day's first message has none. */
  gap: number | undefined;
  /** True if it is the first that came since the reader's last visit. */
  fresh: boolean;
  /** True if it goes on with the message before, so that the sender need not be named again. */
  continues: boolean;
}

/** A silence that is longer than this, in milliseconds, is shown as one. */
const silence = 30 * 60_000;

/** A message that follows its sender's last one within this time goes on with it. */
const together = 5 * 60_000;

/** The row that a message had last, and the message before it. Most rows stay as they are when messages come. */
const known = new WeakMap<Message, { after: Message | undefined; row: Row }>();

/** rowsOf lays out messages, which are in the order in which they were sent. newFrom is the first that the reader has not read. */
export function rowsOf(messages: readonly Message[], newFrom?: string): Row[] {
  let before: Row | undefined;
  return messages.map((message, place) => {
    const fresh = place > 0 && message.id === newFrom;
    const last = known.get(message);
    if (last !== undefined && last.after === before?.message && last.row.fresh === fresh) {
      before = last.row;
    } else {
      const row = rowAfter(before, message, fresh);
      known.set(message, { after: before?.message, row });
      before = row;
    }
    return before;
  });
}

function rowAfter(before: Row | undefined, message: Message, fresh: boolean): Row {
  const time = Date.parse(message.created_at);
  const passed = before === undefined ? 0 : time - before.time;
  const day = before === undefined || dayOf(time) !== dayOf(before.time);
  const gap = !day && passed >= silence ? passed : undefined;
  const continues = !day && gap === undefined && !fresh && before !== undefined && goesOn(before.message, message, passed);
  return { message, time, day, gap, fresh, continues };
}

/** goesOn reports whether a message reads as one with the message before it. A request stands alone, so that nobody overlooks it. */
function goesOn(before: Message, message: Message, passed: number): boolean {
  const plain = (one: Message) => one.message_type === "notify" || one.message_type === "broadcast";
  return (
    before.sender === message.sender &&
    (before.to ?? "*") === (message.to ?? "*") &&
    before.sender_kind === message.sender_kind &&
    before.thread_id === message.thread_id &&
    message.mentions === undefined &&
    message.priority === before.priority &&
    message.kind === before.kind &&
    before.deleted_at === undefined &&
    plain(before) &&
    plain(message) &&
    passed < together
  );
}

import type { Message } from "../../client/types.ts";

/** A page of a list that begins after a time, oldest first. */
export interface Page {
  messages: Message[];
  /** True if more follow. */
  more: boolean;
}

/** What older needs: lists what was sent after a time. */
export type ListSince = (since: string) => Promise<Page>;

/** How many windows are tried, and how many messages are worth the search. */
const tries = 12;
const enough = 40;

/**
 * older finds the messages right before one that is known. The API lists forward from a time and not backward, so this looks at windows
 * before the known message: wider ones if they hold little, and narrower ones if they hold more than a page. `span` is the width to begin
 * with, in milliseconds, and `floor` a time before the first message.
 */
export async function older(known: Message, span: number, floor: number, list: ListSince): Promise<{ messages: Message[]; beginning: boolean }> {
  const end = Date.parse(known.created_at);
  let width = Math.max(span, 1000);
  let [narrow, wide] = [0, Infinity];
  let found: Message[] = [];
  let overflowing: Page | undefined;
  for (let attempt = 0; attempt < tries || (found.length === 0 && overflowing === undefined); attempt++) {
    const begin = Math.max(floor, end - width);
    const page = await list(new Date(begin).toISOString());
    const before = page.messages.filter((message) => message.created_at < known.created_at);
    if (page.more && before.length === page.messages.length) {
      [wide, overflowing] = [width, page];
      width = narrow + (wide - narrow) / 4;
    } else if (before.length >= enough || begin <= floor) {
      return { messages: before, beginning: begin <= floor };
    } else {
      [narrow, found] = [width, before];
      width = wide === Infinity ? width * 4 : (narrow + wide) / 2;
    }
    if (wide - narrow < 1) {
      break;
    }
  }
  return { messages: found.length > 0 || overflowing === undefined ? found : await readThrough(overflowing, known, list), beginning: false };
}

/** readThrough follows a list from a page on up to a known message. */
async function readThrough(first: Page, known: Message, list: ListSince): Promise<Message[]> {
  const messages = [...first.messages];
  let page = first;
  while (page.more) {
    const last = page.messages.at(-1);
    if (last === undefined || last.created_at >= known.created_at) {
      break;
    }
    page = await list(last.id);
    messages.push(...page.messages);
  }
  return messages.filter((message) => message.created_at < known.created_at);
}

import type { Message } from "./types.js";

/** What narrows a search. What is absent narrows nothing. */
export interface SearchFilters {
  intentId?: string;
  channelId?: string;
  /** The id of a thread's first message. */
  threadId?: string;
  sender?: string;
  /** An address exactly as messages were sent to it: an agent, `role:` and a role, or `*` for everyone. */
  to?: string;
  kind?: string;
  /** Only messages sent after this time. */
  after?: Date;
  /** Only messages sent before this time. */
  before?: Date;
  /** 1 to 100; 20 unless given. */
  limit?: number;
  /** `nextCursor` of the page before, with the same query. */
  cursor?: string;
}

/** A message that a search has found. */
export interface FoundMessage {
  readonly message: Message;
  /** The text around what was found, up to 200 characters. */
  readonly snippet: string;
  readonly intentId: string;
  readonly channelName: string;
}

/** A page of what a search has found, the newest first. */
export interface SearchPage {
  readonly messages: readonly FoundMessage[];
  /** Goes on; null on the last page. */
  readonly nextCursor: string | null;
  /** The time up to which the server's index has all messages: those of the named intent, or of all. Null while there is no such time. */
  readonly completeThrough: Date | null;
  /** The time from which it has those of the named intent; null is the beginning. */
  readonly completeFrom: Date | null;
  /** How many messages of the named intent are not indexed yet, at most. They are being indexed, the newest first: search again. */
  readonly messagesLeft: number;
  /** How many of the intents that the client may search are not wholly indexed, if the search names none. One that names an intent has it indexed. */
  readonly intentsNotIndexed: number;
  /** Whether the server had looked at as many messages as one page may. There may be more to find. */
  readonly bounded: boolean;
}

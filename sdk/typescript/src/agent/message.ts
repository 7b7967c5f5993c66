import type { Claim, ClaimOptions } from "../claims.js";
import type { Attention, Reaction } from "../conversation-types.js";
import type { MessageOptions } from "../saying.js";
import type { JsonObject, Message, Thread } from "../types.js";
import type { Received } from "./server.js";

/** A message as a handler gets it. */
export interface ReceivedMessage<T = JsonObject> extends Message<T> {
  readonly intentId: string;
  readonly channelName: string;
  /** The place in the intent's log; null for a request that waited in the inbox when the agent started. */
  readonly position: number | null;
  /** Which attempt at the delivery this is, from 1. The same message may come again after a crash, with the same `id`. */
  readonly attempt: number;
  /**
   * The ids of the messages that came with one delivery, oldest first, this one among them, because they had waited for their sender to
   * pause; none for a message that came by itself.
   */
  readonly sourceIds: readonly string[];
  /** Aborts when the agent ends and waits no longer. */
  readonly signal: AbortSignal;
  /** What it asks of the agent; null unless the agent attends to messages. */
  readonly attention: Attention | null;
  /**
   * Sends an early or further answer to a request, besides what the handler returns. To any other message it sends its sender a
   * notify message that has it as parent. Returns null when another answer was stored in its place before a crash.
   */
  reply(payload: object, options?: MessageOptions & { metadata?: object }): Promise<Message | null>;
  /** Reads the whole thread of this message. */
  thread(): Promise<Thread>;
  /** Reacts to this message; see `Client.addReaction`. */
  react(signal: string, options?: { note?: string; eta?: string }): Promise<Reaction[]>;
  /** Takes a signal away, if it is there. */
  unreact(signal: string): Promise<Reaction[]>;
  reactions(): Promise<Reaction[]>;
  /**
   * Works while it holds a claim on this message; `reply` answers under it. A request that takes a certain number of answers is
   * claimed before its handler is called, and needs no claim more.
   */
  withClaim<R>(work: (claim: Claim) => R | Promise<R>, options?: ClaimOptions): Promise<R>;
}

/**
 * Handles messages. The object that it returns for a request is sent as the response; null or undefined send none. What it
 * throws becomes an error response, which the asker gets as a RemoteError.
 */
export type Handler<T = any> = (message: ReceivedMessage<T>) => Result | Promise<Result>;

type Result = object | null | undefined | void;

/** What a handler's messages are about; null for any that no such handler takes. */
type About = "mention" | "obligation" | null;

/** What messages are about, by the reasons of their attention. */
const abouts: ReadonlyMap<string, About> = new Map([
  ["mention", "mention"],
  ["obligation", "obligation"],
  ["obligation_return", "obligation"],
]);

/** An agent's handlers, by channel. */
export class Handlers {
  readonly #all: { readonly channel: string | undefined; readonly handler: Handler; readonly about: About }[] = [];

  /**
   * Adds a handler for channels of this name or, without one, for those that no handler's name matches. One about
   * something takes the messages about it, in place of the others.
   */
  add(channel: string | undefined, handler: Handler, about: About = null): void {
    this.#all.push({ channel, handler, about });
  }

  /** The handlers for a message on a channel of this name, in the order they were added. */
  for({ channelName, attention }: Pick<Received, "channelName" | "attention">): readonly Handler[] {
    const about = abouts.get(attention?.reason ?? "") ?? null;
    const told = about === null ? [] : this.#matching(channelName, about);
    return told.length > 0 ? told : this.#matching(channelName, null);
  }

  #matching(channelName: string, wanted: About): readonly Handler[] {
    const all = this.#all.filter(({ about }) => about === wanted);
    const named = all.filter(({ channel }) => channel === channelName);
    return (named.length > 0 ? named : all.filter(({ channel }) => channel === undefined)).map(({ handler }) => handler);
  }

  /** Whether any handler takes only messages about something. */
  get attends(): boolean {
    return this.#all.some(({ about }) => about !== null);
  }

  /** The names of the channels that have handlers of their own. */
  get channels(): readonly string[] {
    return [...new Set(this.#all.flatMap(({ channel }) => (channel === undefined ? [] : [channel])))];
  }
}

/** Whether the handlers of this agent get a message: they do not get responses or the agent's own messages. */
export function isForHandlers({ message }: Received, agentId: string): boolean {
  return message.messageType !== "response" && message.sender !== agentId;
}

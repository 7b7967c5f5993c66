import type { JsonObject, Message } from "../types.js";
import type { Received } from "./server.js";

/** A message as a handler gets it. */
export interface ReceivedMessage<T = JsonObject> extends Message<T> {
  readonly intentId: string;
  readonly channelName: string;
  /** The place in the intent's log; null for a request that waited in the inbox when the agent started. */
  readonly position: number | null;
  /** Which attempt at the delivery this is, from 1. The same message may come again after a crash, with the same `id`. */
  readonly attempt: number;
  /** Aborts when the agent ends and waits no longer. */
  readonly signal: AbortSignal;
  /**
   * Sends an early or further answer to a request, besides what the handler returns. Returns null when another answer was
   * stored in its place before a crash.
   */
  reply(payload: object, options?: { metadata?: object }): Promise<Message | null>;
}

/**
 * Handles messages. The object that it returns for a request is sent as the response; null or undefined send none. What it
 * throws becomes an error response, which the asker gets as a RemoteError.
 */
export type Handler<T = any> = (message: ReceivedMessage<T>) => Result | Promise<Result>;

type Result = object | null | undefined | void;

/** An agent's handlers, by channel. */
export class Handlers {
  readonly #named: { readonly channel: string; readonly handler: Handler }[] = [];
  readonly #others: Handler[] = [];

  /** Adds a handler for channels of this name or, without one, for those that no handler's name matches. */
  add(channel: string | undefined, handler: Handler): void {
    if (channel === undefined) {
      this.#others.push(handler);
    } else {
      this.#named.push({ channel, handler });
    }
  }

  /** The handlers for messages on a channel of this name, in the order they were added. */
  for(channelName: string): readonly Handler[] {
    const named = this.#named.filter(({ channel }) => channel === channelName).map(({ handler }) => handler);
    return named.length > 0 ? named : this.#others;
  }

  /** The names of the channels that have handlers of their own. */
  get channels(): readonly string[] {
    return [...new Set(this.#named.map(({ channel }) => channel))];
  }
}

/** Whether the handlers of this agent get a message: they do not get responses or the agent's own messages. */
export function isForHandlers({ message }: Received, agentId: string): boolean {
  return message.messageType !== "response" && message.sender !== agentId;
}

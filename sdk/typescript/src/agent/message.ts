import type { JsonObject, Message } from "../types.js";
import type { Received } from "./server.js";

/** A message as a handler gets it. */
export interface ReceivedMessage<T = JsonObject> extends Message<T> {
  readonly intentId: string;
  readonly channelName: string;
  /** The place in the intent's log; null for a request that waited in the inbox when the agent started. */
  readonly position: number | null;
  /** Which attempt at the delivery this is, from 1. The same message may come again after a crash; its `id` tells. */
  readonly attempt: number;
  /** Aborts when the agent ends and waits no more. */
  readonly signal: AbortSignal;
  /**
   * Sends an early or a further answer to a request, beside what the handler returns. It gives null when, before a crash,
   * something else was answered in its place.
   */
  reply(payload: object, options?: { metadata?: object }): Promise<Message | null>;
}

/**
 * Handles messages. What it returns for a request is sent as its response: an object; null or undefined send none. What it
 * throws becomes an error response, which the asker gets as a RemoteError.
 */
export type Handler<T = any> = (message: ReceivedMessage<T>) => Result | Promise<Result>;

type Result = object | null | undefined | void;

/** An agent's handlers, by channel. */
export class Handlers {
  readonly #named: { readonly channel: string; readonly handler: Handler }[] = [];
  readonly #others: Handler[] = [];

  /** Adds a handler for the channels of a name or, without one, for those that no name matches. */
  add(channel: string | undefined, handler: Handler): void {
    if (channel === undefined) {
      this.#others.push(handler);
    } else {
      this.#named.push({ channel, handler });
    }
  }

  /** Those that a message on a channel is for, in the order they were added. */
  for(channelName: string): readonly Handler[] {
    const named = this.#named.filter(({ channel }) => channel === channelName).map(({ handler }) => handler);
    return named.length > 0 ? named : this.#others;
  }
}

/** Whether something received is for the handlers of this agent: responses and the agent's own messages are not. */
export function isForHandlers({ message }: Received, agentId: string): boolean {
  return message.messageType !== "response" && message.sender !== agentId;
}

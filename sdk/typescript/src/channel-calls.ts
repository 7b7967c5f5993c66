import { checkBounds } from "./bounds.js";
import { Asking, metadataOf, type AskAllOptions, type AskOptions } from "./asking.js";
import type { Annotation } from "./conversation-types.js";
import { MessageCalls } from "./conversing.js";
import { Following, type FollowOptions } from "./following.js";
import { toJsonObject } from "./json.js";
import { refuseUnknown, type Names } from "./options.js";
import { callNames, newKey, withRetry, type CallOptions, type RetryOptions } from "./retry.js";
import { documentNames, messageNames, requestNames, said } from "./saying.js";
import type { DocumentOptions, MessageOptions, RequestOptions } from "./saying.js";
import type { Settings } from "./settings.js";
import { inSpan, traced, type Trace } from "./tracing.js";
import type { Attempt, Included, ReplyRequest, SendRequest, Transport } from "./transport.js";
import type { Channel, JsonObject, Message, MessageType } from "./types.js";

/** How a message is sent. */
export interface SendOptions extends CallOptions, RequestOptions, DocumentOptions {
  /** An agent, `role:<role_id>`, or `*`; absent: everybody. A request must name an agent or a role. */
  to?: string;
  /** `notify` unless given. */
  messageType?: MessageType;
  /** When it expires if it is unread, or unanswered if it is a request. */
  expiresAt?: Date;
  /** Facts about the message. */
  metadata?: object;
  /** The sending agent; only the operator may name another than its own. */
  sender?: string;
  /** For a response that is sent this way: the request's id. */
  correlationId?: string;
  /** Lets the caller repeat the send too; this package makes one unless given. 1 to 255 characters. */
  idempotencyKey?: string;
}

const sendNames: Names<SendOptions> = {
  ...callNames,
  ...requestNames,
  ...documentNames,
  to: true,
  messageType: true,
  expiresAt: true,
  metadata: true,
  sender: true,
  correlationId: true,
  idempotencyKey: true,
};

export interface ReplyOptions extends CallOptions, MessageOptions {
  metadata?: object;
  sender?: string;
  idempotencyKey?: string;
  /** The fence of the claim under which this answers. */
  fence?: number;
}

const replyNames: Names<ReplyOptions> = {
  ...callNames,
  ...messageNames,
  metadata: true,
  sender: true,
  idempotencyKey: true,
  fence: true,
};

export interface ListOptions extends CallOptions {
  /** Only messages after the one with this id. Without it, the newest are returned. */
  since?: string;
  /** Only messages that have this agent as a recipient. */
  to?: string;
  /** 1 to 1,000; 1,000 unless given. */
  limit?: number;
  messageType?: MessageType;
  /** Only responses to this request. */
  correlationId?: string;
  /** Only the messages of this thread, its first one too. */
  threadId?: string;
}

const listNames: Names<ListOptions> = {
  ...callNames,
  since: true,
  to: true,
  limit: true,
  messageType: true,
  correlationId: true,
  threadId: true,
};

/** What a client can do on a channel whose id it knows. The client inherits it, and its handles call it. */
export class ChannelCalls extends MessageCalls {
  readonly #asking: Asking;

  protected constructor(transport: Transport, settings: Settings) {
    super(transport, settings);
    this.#asking = new Asking(transport, settings);
  }

  async getChannel(channelId: string, options: CallOptions = {}): Promise<Channel> {
    refuseUnknown("getChannel", options, callNames);
    return this.#retried(options, (attempt) => this.transport.getChannel(channelId, attempt));
  }

  /** Closes a channel; closing a closed one is not an error. */
  async closeChannel(channelId: string, options: CallOptions = {}): Promise<Channel> {
    refuseUnknown("closeChannel", options, callNames);
    return this.#retried(options, (attempt) => this.transport.closeChannel(channelId, attempt));
  }

  /** Sends a message and returns once it is stored. */
  async sendMessage(channelId: string, payload: object, options: SendOptions = {}): Promise<Message> {
    refuseUnknown("send", options, sendNames);
    const { to, sender, correlationId, expiresAt } = options;
    return this.#sending("openintent.send", channelId, options, (trace) => {
      const request: SendRequest = {
        channelId,
        payload: toJsonObject(payload, "payload"),
        metadata: traced(metadataOf(options.metadata), trace),
        messageType: options.messageType ?? "notify",
        ...(to !== undefined && { to }),
        ...(sender !== undefined && { sender }),
        ...(correlationId !== undefined && { correlationId }),
        ...(expiresAt !== undefined && { expiresAt }),
        idempotencyKey: options.idempotencyKey ?? newKey(),
        ...said(options),
      };
      checkBounds("SendMessageRequest", { ...request, ...request.said });
      return (attempt) => this.transport.sendMessage(request, attempt);
    });
  }

  /** Answers a request. @throws MessageExpiredError when it is too late. */
  async replyTo(channelId: string, messageId: string, payload: object, options: ReplyOptions = {}): Promise<Message> {
    refuseUnknown("replyTo", options, replyNames);
    return this.#sending("openintent.reply", channelId, options, (trace) => {
      const request: ReplyRequest = {
        channelId,
        messageId,
        payload: toJsonObject(payload, "payload"),
        metadata: traced(metadataOf(options.metadata), trace),
        ...(options.sender !== undefined && { sender: options.sender }),
        idempotencyKey: options.idempotencyKey ?? newKey(),
        ...said(options),
      };
      checkBounds("ReplyMessageRequest", { ...request, ...request.said });
      return (attempt) => this.transport.replyMessage(request, attempt);
    });
  }

  /** One page of the messages that the client's agent may see, in the order they were sent. */
  async listMessages<T = JsonObject>(channelId: string, options: ListOptions = {}): Promise<Message<T>[]> {
    refuseUnknown("listMessages", options, listNames);
    const { signal, timeout, ...selection } = options;
    const call = (attempt: Attempt): Promise<Message[]> => this.transport.listMessages({ channelId, ...selection }, attempt);
    return this.#retried({ signal, timeout }, call) as Promise<Message<T>[]>;
  }

  async getMessage<T = JsonObject>(channelId: string, messageId: string, options: CallOptions = {}): Promise<Message<T>> {
    refuseUnknown("getMessage", options, callNames);
    const call = (attempt: Attempt): Promise<Message> => this.transport.getMessage(channelId, messageId, attempt);
    return this.#retried(options, call) as Promise<Message<T>>;
  }

  /** Marks a message as read; repetitions are harmless. */
  async markRead(channelId: string, messageId: string, options: CallOptions = {}): Promise<Message> {
    refuseUnknown("markRead", options, callNames);
    return this.#retried(options, (attempt) => this.transport.markRead(channelId, messageId, attempt));
  }

  /**
   * Asks an agent or a `role:...` and returns the first response.
   *
   * @throws MessageTimeoutError when none came within `timeout` (30) seconds
   * @throws ChannelClosedError when the channel was closed meanwhile
   * @throws RemoteError when the responder's handler failed
   */
  ask<T = JsonObject>(channelId: string, to: string, payload: object, options: AskOptions = {}): Promise<Message<T>> {
    return this.#asking.ask(channelId, to, payload, options) as Promise<Message<T>>;
  }

  /**
   * Asks and returns all responses that came within `timeout` (30) seconds, or as soon as `minResponses` came. Too few are
   * not an error. A response that says that its handler failed counts like the others, and has `isError`.
   */
  askAll<T = JsonObject>(
    channelId: string,
    to: string,
    payload: object,
    options: AskAllOptions = {},
  ): Promise<Message<T>[]> {
    return this.#asking.askAll(channelId, to, payload, options) as Promise<Message<T>[]>;
  }

  /**
   * Asks and yields responses as they come, until the window ends or `minResponses` came. Leaving it early leaves the request
   * open. The question is sent when the first response is asked for.
   */
  askAllIter<T = JsonObject>(
    channelId: string,
    to: string,
    payload: object,
    options: AskAllOptions = {},
  ): AsyncGenerator<Message<T>, void> {
    return this.#asking.askAllIter(channelId, to, payload, options) as AsyncGenerator<Message<T>, void>;
  }

  /** Picks up a question that was asked before a crash. It waits up to `timeout` (30) seconds for its first response. */
  resumeAsk<T = JsonObject>(channelId: string, messageId: string, options: CallOptions = {}): Promise<Message<T>> {
    return this.#asking.resumeAsk(channelId, messageId, options) as Promise<Message<T>>;
  }

  /** Follows a channel; `ChannelHandle.messages` is the same. */
  follow<T = JsonObject>(
    channelId: string,
    options: FollowOptions & { include: readonly Included[] },
  ): Following<T, Annotation>;
  follow<T = JsonObject>(channelId: string, options?: FollowOptions): Following<T>;
  follow<T = JsonObject>(channelId: string, options: FollowOptions = {}): Following<T, Annotation> | Following<T> {
    return new Following<T, Annotation>(this.transport, this.settings, channelId, options);
  }

  /** Sends something in a span. The request is made once, so every attempt sends the same. */
  #sending(
    name: string,
    channelId: string,
    options: CallOptions,
    prepare: (trace: Trace | null) => (attempt: Attempt) => Promise<Message>,
  ): Promise<Message> {
    const span = this.settings.tracing.start(name, "client", { "openintent.channel": channelId });
    return inSpan(span, async (trace) => {
      const call = prepare(trace);
      return this.#retried({ signal: options.signal, timeout: options.timeout, traceparent: trace?.traceparent }, call);
    });
  }

  #retried<T>(options: RetryOptions, call: (attempt: Attempt) => Promise<T>): Promise<T> {
    return withRetry(this.settings, options, call);
  }
}

import type { Client } from "../client.js";
import { AlreadyExistsError, FailedPreconditionError, isRetryable, NotFoundError, OpenIntentError } from "../errors.js";
import { toJsonObject } from "../json.js";
import { inSpan, type Tracing } from "../tracing.js";
import type { JsonObject, Message } from "../types.js";
import type { AgentLog } from "./log.js";
import type { Handlers, ReceivedMessage } from "./message.js";
import type { Received } from "./server.js";

/** The outcome of handling a message: its answer, if there is one. */
type Outcome = { answer: JsonObject; metadata?: JsonObject } | null;

/** Hands messages to handlers and sends what they answer. */
export class Answering {
  constructor(
    private readonly client: Client,
    private readonly handlers: Handlers,
    private readonly tracing: Tracing,
    /** Ends the sending of answers when the agent waits no longer. */
    private readonly signal: AbortSignal,
    private readonly log: AgentLog,
  ) {}

  /**
   * Handles one message. When it returns, the handlers have returned, and the answer is stored or never can be. When the
   * agent ends before that, it throws, and the message must be handled again.
   */
  async handle(received: Received): Promise<void> {
    const { message } = received;
    const attributes = { "openintent.channel": message.channelId, "openintent.message": message.id };
    const { traceparent } = message.metadata;
    const parent = typeof traceparent === "string" ? traceparent : undefined;
    const span = this.tracing.start("openintent.handle", "server", attributes, parent);
    await inSpan(span, async () => {
      const replies = new Replies(this.client, message, this.signal);
      const outcome = await this.#run(received, replies);
      if (message.messageType === "request") {
        await (outcome === null ? this.#forgo(received) : this.#answer(received, replies, outcome));
      }
    });
  }

  /**
   * Marks a request as read that the handlers did not answer, so that the agent does not find it in the inbox and handle it
   * again. A request without a handler is left to a later life of the agent. A refusal does no harm: the inbox does not have
   * what has expired.
   */
  async #forgo(received: Received): Promise<void> {
    const { id, channelId } = received.message;
    if (this.handlers.for(received.channelName).length === 0) {
      return;
    }
    try {
      await this.client.markRead(channelId, id, { signal: this.signal });
    } catch {
      this.signal.throwIfAborted();
    }
  }

  /** Runs the handlers in turn. The first result or failure answers; the log has every failure. */
  async #run(received: Received, replies: Replies): Promise<Outcome> {
    const message = this.#offer(received, replies);
    const handlers = this.handlers.for(received.channelName);
    if (handlers.length === 0) {
      this.log.unhandled(received, this.handlers.channels);
    }
    let outcome: Outcome = null;
    for (const handler of handlers) {
      try {
        const result = await handler(message);
        if (result !== null && result !== undefined && outcome === null) {
          outcome = { answer: toJsonObject(result, "the handler's result") };
        }
      } catch (error) {
        if (isLate(error) && replies.failedWith(error)) {
          this.log.answeredLate(received, error); // Nothing answers this request any more.
          continue;
        }
        this.log.handlerFailed(received, error);
        outcome ??= failureOf(error);
      }
    }
    return outcome;
  }

  /** Says why the server has not stored an answer. */
  #unanswered(received: Received, error: unknown): void {
    if (isLate(error)) {
      this.log.answeredLate(received, error);
    } else {
      this.log.answerRefused(received, error);
    }
  }

  #offer({ message, intentId, channelName, position, attempt }: Received, replies: Replies): ReceivedMessage {
    return {
      ...message,
      intentId,
      channelName,
      position,
      attempt,
      signal: this.signal,
      reply: (payload, options = {}) => replies.further(payload, options.metadata),
    };
  }

  /** Stores an answer, however long that takes. When the server refuses it, the asker is told of a failure instead. */
  async #answer(received: Received, replies: Replies, outcome: NonNullable<Outcome>): Promise<void> {
    try {
      await replies.answer(outcome.answer, outcome.metadata);
    } catch (error) {
      if (!(error instanceof OpenIntentError)) {
        throw error;
      }
      this.#unanswered(received, error);
      if (["INVALID_ARGUMENT", "RESOURCE_EXHAUSTED"].includes(error.code)) {
        const { answer, metadata } = failureOf(error);
        await replies.answer(answer, metadata).catch((again: unknown) => {
          this.signal.throwIfAborted();
          this.#unanswered(received, again);
        });
      }
    }
  }
}

/** Whether the server refuses an answer because the request, its channel or its intent has ended, or is gone. */
function isLate(error: unknown): boolean {
  return error instanceof FailedPreconditionError || error instanceof NotFoundError;
}

/** The answers to one request. Their keys follow from its id, so each is stored once, even after a crash. */
class Replies {
  #further = 0;
  readonly #failures = new Set<unknown>();

  constructor(
    private readonly client: Client,
    private readonly request: Message,
    private readonly signal: AbortSignal,
  ) {}

  /** Sends the answer that the handlers gave. */
  answer(payload: object, metadata: object | undefined): Promise<Message | null> {
    return this.#send(`sdk-reply-${this.request.id}`, payload, metadata);
  }

  /** Sends an early or further answer. */
  further(payload: object, metadata: object | undefined): Promise<Message | null> {
    return this.#send(`sdk-reply-${this.request.id}-${++this.#further}`, payload, metadata);
  }

  /** Whether an answer failed with this error. */
  failedWith(error: unknown): boolean {
    return this.#failures.has(error);
  }

  /** Sends an answer, however long that takes. Returns null when another was sent in its place before a crash. */
  async #send(idempotencyKey: string, payload: object, metadata: object | undefined): Promise<Message | null> {
    const { id, channelId } = this.request;
    for (;;) {
      try {
        return await this.client.replyTo(channelId, id, payload, { metadata, idempotencyKey, signal: this.signal });
      } catch (error) {
        this.signal.throwIfAborted();
        if (error instanceof AlreadyExistsError) {
          return null;
        }
        if (!isRetryable(error)) {
          this.#failures.add(error);
          throw error;
        }
      }
    }
  }
}

/** How much of a failure's text is sent. */
const longestText = 8_192;

/** The answer that says that a handler failed. Whatever was thrown, its text is made fit for a payload. */
function failureOf(error: unknown): NonNullable<Outcome> {
  const type = readable(() => (error instanceof Error ? typeOf(error) : typeof error));
  const message = readable(() => (error instanceof Error ? error.message : error));
  return { answer: { error: { type, message } }, metadata: { openintent_error: true } };
}

/** The text of what `read` returns; empty when it cannot be read or has no text. */
function readable(read: () => unknown): string {
  try {
    return String(read()).slice(0, longestText).replace(/[\0\p{Surrogate}]/gu, "\ufffd");
  } catch {
    return "";
  }
}

/** The name of an error's type; classes that extend Error often leave its `name` as it is. */
function typeOf(error: Error): string {
  return error.name === "Error" ? error.constructor.name : error.name;
}

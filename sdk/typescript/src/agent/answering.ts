import type { Client } from "../client.js";
import { AlreadyExistsError, FailedPreconditionError, isRetryable, NotFoundError, OpenIntentError, PayloadError } from "../errors.js";
import { toJsonObject } from "../json.js";
import { inSpan, type Tracing } from "../tracing.js";
import { linkedAbort } from "../clock.js";
import type { HeldClaim } from "../claims.js";
import type { MessageOptions } from "../saying.js";
import type { JsonObject, Message } from "../types.js";
import type { AgentLog } from "./log.js";
import type { Handlers, ReceivedMessage } from "./message.js";
import type { Reporting } from "./reporting.js";
import type { Received } from "./server.js";
import { needsClaim, type Outcome as TurnOutcome } from "./turns.js";

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
    private readonly reports: Reporting | null = null,
    private readonly skipUnaddressed = false,
  ) {}

  /**
   * Handles one message. When it returns, the handlers have returned, and the answer is stored or never can be. When the
   * agent ends before that, it throws, and the message must be handled again. A request that takes a certain number of answers is
   * claimed before; while this is not the last attempt at it, a failure is not answered.
   */
  async handle(received: Received, last = true): Promise<TurnOutcome> {
    const { message, attention } = received;
    const claimed = needsClaim(message); // Others may hold the claims on it now, and lose them.
    if (this.skipUnaddressed && attention?.policy === "must_not_respond" && !claimed) {
      this.reports?.disposed(message, "ignored");
      return "done";
    }
    if (!claimed || this.handlers.for(received).length === 0) {
      await this.#inTurn(received, new Replies(this.client, message, this.signal), null, true);
      return "done";
    }
    const place = { channelId: message.channelId, messageId: message.id };
    let held: HeldClaim;
    try {
      held = await this.client.holdClaim(place, `sdk-claim-${message.id}`, { signal: this.signal });
    } catch (error) {
      this.signal.throwIfAborted();
      return afterRefusal(error);
    }
    const replies = new Replies(this.client, message, this.signal);
    replies.fence = held.fence;
    let failed = false;
    try {
      failed = await this.#inTurn(received, replies, held.lost, last);
      if (failed) {
        await this.client.setDisposition(message.channelId, message.id, "failed", { signal: this.signal }).catch(() => {});
      }
    } finally {
      await (replies.stored ? held.letGo() : held.release());
    }
    return held.lost.aborted && !replies.stored ? "taken" : failed ? "failed" : "done";
  }

  /**
   * Calls the handlers of a message, and answers with what they return unless the claim on it is lost. Returns true when they failed
   * and another attempt follows.
   */
  async #inTurn(received: Received, replies: Replies, lost: AbortSignal | null, last: boolean): Promise<boolean> {
    const { message } = received;
    const attributes = { "openintent.channel": message.channelId, "openintent.message": message.id };
    const { traceparent } = message.metadata;
    const parent = typeof traceparent === "string" ? traceparent : undefined;
    const span = this.tracing.start("openintent.handle", "server", attributes, parent);
    if (this.handlers.for(received).length > 0) {
      this.reports?.surfaced(message);
    }
    return inSpan(span, async () => {
      const working = linkedAbort(this.signal, lost ?? undefined);
      const outcome = await this.#run(received, replies, working.signal).finally(() => working.release());
      const failed = outcome?.metadata !== undefined;
      if (lost?.aborted || (failed && !last)) {
        return failed && !lost?.aborted;
      }
      if (message.messageType === "request") {
        await (outcome === null ? this.#forgo(received) : this.#answer(received, replies, outcome));
      }
      this.#report(received, outcome, replies);
      return false;
    });
  }

  /** Notes what became of a message. An answer to a request says it by itself. */
  #report(received: Received, outcome: Outcome, replies: Replies): void {
    const { message } = received;
    if (this.handlers.for(received).length === 0) {
      return;
    }
    const answered = message.messageType === "request" && outcome !== null;
    if (outcome?.metadata !== undefined) {
      this.reports?.disposed(message, "failed");
    } else if (!answered && !replies.stored) {
      this.reports?.disposed(message, "acknowledged");
    } else if (message.messageType !== "request") {
      this.reports?.disposed(message, "responded");
    }
  }

  /**
   * Marks a request as read that the handlers did not answer, so that the agent does not find it in the inbox and handle it
   * again. A request without a handler is left to a later life of the agent. A refusal does no harm: the inbox does not have
   * what has expired.
   */
  async #forgo(received: Received): Promise<void> {
    const { id, channelId } = received.message;
    if (this.handlers.for(received).length === 0) {
      return;
    }
    try {
      await this.client.markRead(channelId, id, { signal: this.signal });
    } catch {
      this.signal.throwIfAborted();
    }
  }

  /** Runs the handlers in turn. The first result or failure answers; the log has every failure. */
  async #run(received: Received, replies: Replies, signal: AbortSignal): Promise<Outcome> {
    const message = this.#offer(received, replies, signal);
    const handlers = this.handlers.for(received);
    if (handlers.length === 0) {
      this.log.unhandled(received, this.handlers.channels);
    }
    let outcome: Outcome = null;
    for (const handler of handlers) {
      let returned = false;
      try {
        const result = await handler(message);
        returned = true;
        if (result !== null && result !== undefined && outcome === null) {
          outcome = { answer: toJsonObject(result, "the handler's result") };
        }
      } catch (error) {
        if (isLate(error) && replies.failedWith(error)) {
          this.log.answeredLate(received, error); // Nothing answers this request any more.
          continue;
        }
        if (error instanceof PayloadError && (returned || error.messageId === received.message.id)) {
          this.log.unfit(received, returned, error);
        } else {
          this.log.handlerFailed(received, error);
        }
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

  #offer(received: Received, replies: Replies, signal: AbortSignal): ReceivedMessage {
    const { message, intentId, channelName, position, attempt, attention = null, sourceIds = [] } = received;
    const { channelId, id } = message;
    return {
      ...message,
      intentId,
      channelName,
      position,
      attempt,
      sourceIds,
      signal,
      attention,
      reply: (payload, options = {}) => replies.further(payload, options),
      thread: () => this.client.getThread(channelId, id, { signal }),
      react: (name, options = {}) => this.client.addReaction(channelId, id, name, { ...options, signal }),
      unreact: (name) => this.client.removeReaction(channelId, id, name, { signal }),
      reactions: () => this.client.listReactions(channelId, id, { signal }),
      withClaim: (work, options = {}) =>
        this.client.withClaim(channelId, id, (claim) => replies.under(claim.fence, () => work(claim)), { signal, ...options }),
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

type FurtherOptions = MessageOptions & { metadata?: object | undefined };

/** Whether the server refuses an answer because the request, its channel or its intent has ended, or is gone. */
function isLate(error: unknown): boolean {
  return error instanceof FailedPreconditionError || error instanceof NotFoundError;
}

/** The answers to one request. Their keys follow from its id, so each is stored once, even after a crash. */
class Replies {
  /** The fence of the claim under which they are sent. */
  fence: number | undefined;
  /** Whether any was stored. */
  stored = false;
  #further = 0;
  readonly #failures = new Set<unknown>();

  constructor(
    private readonly client: Client,
    private readonly request: Message,
    private readonly signal: AbortSignal,
  ) {}

  /** Sends the answer that the handlers gave. */
  answer(payload: object, metadata: object | undefined): Promise<Message | null> {
    return this.#send(`sdk-reply-${this.request.id}`, payload, { metadata });
  }

  /** Sends an early or further answer. */
  further(payload: object, options: FurtherOptions): Promise<Message | null> {
    return this.#send(`sdk-reply-${this.request.id}-${++this.#further}`, payload, options);
  }

  /** Works while answers are sent under a claim. */
  async under<R>(fence: number, work: () => R | Promise<R>): Promise<R> {
    const before = this.fence;
    this.fence = fence;
    try {
      return await work();
    } finally {
      this.fence = before;
    }
  }

  /** Whether an answer failed with this error. */
  failedWith(error: unknown): boolean {
    return this.#failures.has(error);
  }

  /** Sends an answer, however long that takes. Returns null when another was sent in its place before a crash. */
  async #send(idempotencyKey: string, payload: object, options: FurtherOptions): Promise<Message | null> {
    for (;;) {
      try {
        const sent = await this.#once(payload, { ...options, idempotencyKey, signal: this.signal });
        this.stored = true;
        return sent;
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

  #once(payload: object, options: FurtherOptions & { idempotencyKey: string; signal: AbortSignal }): Promise<Message> {
    const { id, channelId, sender, messageType } = this.request;
    if (messageType !== "request") {
      return this.client.sendMessage(channelId, payload, { parent: id, ...options, to: sender, messageType: "notify" });
    }
    return this.client.replyTo(channelId, id, payload, { fence: this.fence, ...options });
  }
}

/** What came of a request whose claim was refused: it is over, or there is no place for this agent now. */
function afterRefusal(error: unknown): TurnOutcome {
  if (!(error instanceof OpenIntentError) || error.code === "UNAUTHENTICATED" || error.reason === "AGENT_LEAVING") {
    throw error;
  }
  const over = ["FAILED_PRECONDITION", "NOT_FOUND", "PERMISSION_DENIED", "INVALID_ARGUMENT"].includes(error.code);
  return over ? "done" : "taken";
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

import { checkBounds } from "./bounds.js";
import type { Reaction } from "./conversation-types.js";
import { badField, errorFrom, OpenIntentError, remoteError } from "./errors.js";
import { toJsonObject } from "./json.js";
import { refuseUnknown, type Names } from "./options.js";
import { callNames, newKey, withRetry, type CallOptions, type RetryOptions } from "./retry.js";
import { exactly, requestNames, said, type RequestOptions } from "./saying.js";
import type { Settings } from "./settings.js";
import { inSpan, traced, type Span, type Trace } from "./tracing.js";
import type { AskAllRequest, AskRequest, Attempt, Transport } from "./transport.js";
import type { JsonObject, Message } from "./types.js";

/** How a question is asked. `timeout` is how long to wait for answers, in seconds: 30 unless given, 600 at most. */
export interface AskOptions extends CallOptions, RequestOptions {
  /** Facts about the message. */
  metadata?: object;
  /** The asking agent; the operator alone may name another than its own. */
  sender?: string;
  /** For a day the same key is one question: asking again waits for its answer. */
  idempotencyKey?: string;
}

export interface AskAllOptions extends AskOptions {
  /** How many responses are enough; absent: as many as `collect` says exactly, or else whatever comes within the time. */
  minResponses?: number;
}

const askNames: Names<AskOptions> = { ...callNames, ...requestNames, metadata: true, sender: true, idempotencyKey: true };
const askAllNames: Names<AskAllOptions> = { ...askNames, minResponses: true };

const defaultWindow = 30;
/** The longest that the server waits in one call, in seconds. */
const longestWait = 600;
/** Enough to look once, in seconds. */
const shortestWindow = 0.001;
/** How much longer than its window to wait for responses, in seconds: the server ends the window by its own clock. */
const beyondWindow = 1;
/** How long to look for the reason why a question has no response, in seconds. */
const lastLook = 5;

/** Asking, over any transport. */
export class Asking {
  constructor(
    private readonly transport: Transport,
    private readonly settings: Settings,
  ) {}

  async ask(channelId: string, to: string, payload: object, options: AskOptions): Promise<Message> {
    refuseUnknown("ask", options, askNames);
    const window = options.timeout ?? defaultWindow;
    return inSpan(this.span(channelId, to), async (trace) => {
      const request = questionOf(channelId, to, payload, window, options, trace);
      return answerOf(await this.asked(request, options, trace, this.transport.ask));
    });
  }

  async askAll(channelId: string, to: string, payload: object, options: AskAllOptions): Promise<Message[]> {
    refuseUnknown("askAll", options, askAllNames);
    const window = options.timeout ?? defaultWindow;
    return inSpan(this.span(channelId, to), (trace) => {
      const request = { ...questionOf(channelId, to, payload, window, options, trace), ...enough(options) };
      return this.asked(request, options, trace, this.transport.askAll);
    });
  }

  /**
   * Yields responses as they come. The question is sent when the first one is asked for. The server keeps the time of the
   * window. The first response names the request, as its correlation.
   */
  async *askAllIter(channelId: string, to: string, payload: object, options: AskAllOptions): AsyncGenerator<Message, void> {
    refuseUnknown("askAllIter", options, askAllNames);
    const { clock } = this.settings;
    const window = options.timeout ?? defaultWindow;
    const deadline = clock.now() + (window + beyondWindow) * 1000;
    const wanted = options.minResponses ?? exactly(options.collect) ?? Infinity;
    const span = this.span(channelId, to);
    let failure: unknown;
    try {
      const request = {
        ...questionOf(channelId, to, payload, window, options, span.trace),
        ...enough(options),
        minResponses: 1,
      };
      let responses = await span.run(() => this.asked(request, options, span.trace, this.transport.askAll));
      for (let given = 0; responses.length > given;) {
        for (const response of responses.slice(given)) {
          yield response;
          if (++given >= wanted) {
            return;
          }
        }
        const messageId = responses[0]!.correlationId!;
        const retrying = { signal: options.signal, traceparent: span.trace?.traceparent };
        responses = await this.await(channelId, messageId, deadline, given + 1, retrying);
      }
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      span.end(failure);
    }
  }

  /**
   * Asks until the deadline. Every attempt asks the same question. When an attempt has failed that cannot have arrived, the
   * next one waits only for what is left of the time, so that the server's wait ends at the deadline.
   */
  private asked<T>(
    request: AskAllRequest,
    { signal }: AskOptions,
    trace: Trace | null,
    ask: (this: Transport, request: AskAllRequest, attempt: Attempt) => Promise<T>,
  ): Promise<T> {
    const { clock } = this.settings;
    const window = request.timeoutSeconds;
    const begun = clock.now();
    let asked = request;
    let failed = false;
    const retrying = { signal, timeout: window, waits: true, traceparent: trace?.traceparent };
    return this.retried(retrying, (attempt, perhapsAsked) => {
      if (failed && !perhapsAsked) {
        const left = Math.round(window * 1000 - (clock.now() - begun)) / 1000;
        asked = { ...request, timeoutSeconds: Math.max(left, shortestWindow) };
      }
      failed = true;
      return ask.call(this.transport, asked, attempt);
    });
  }

  /** Waits for the first response to an earlier request of the caller's. */
  async resumeAsk(channelId: string, messageId: string, options: CallOptions): Promise<Message> {
    refuseUnknown("resumeAsk", options, callNames);
    const window = options.timeout ?? defaultWindow;
    const deadline = this.settings.clock.now() + window * 1000;
    const responses = await this.await(channelId, messageId, deadline, 1, { signal: options.signal }, true);
    if (responses[0] !== undefined) {
      return answerOf(responses[0]);
    }
    throw await this.whyUnanswered(channelId, messageId, options).catch((error: unknown) => naming(error, messageId));
  }

  /**
   * Waits until there are as many responses as wanted, until the deadline, or until the server says that no more can come.
   * At the deadline it still looks once. With `heedsNo`, a no of the one agent that was asked ends the wait, too.
   */
  private async await(
    channelId: string,
    messageId: string,
    deadline: number,
    wanted: number,
    options: RetryOptions,
    heedsNo?: boolean,
  ): Promise<Message[]> {
    const { clock } = this.settings;
    const left = (): number => Math.max(0, (deadline - clock.now()) / 1000);
    for (;;) {
      const remaining = left();
      const retrying = { ...options, timeout: Math.max(remaining, shortestWindow), waits: true };
      const responses = await this.retried(retrying, (attempt) =>
        this.transport.awaitResponses(channelId, messageId, Math.min(left(), longestWait), wanted, attempt, heedsNo),
      ).catch((error: unknown) => {
        throw naming(error, messageId);
      });
      const whole = remaining > longestWait && remaining - left() >= longestWait - 1;
      if (responses.length >= wanted || !whole) {
        return responses;
      }
    }
  }

  /**
   * The error for a question that has no response: its time ran out, or before that it was withdrawn, the agent said no, or its channel
   * closed.
   */
  private async whyUnanswered(channelId: string, messageId: string, options: CallOptions): Promise<Error> {
    const look = { signal: options.signal, timeout: lastLook };
    const channel = await this.retried(look, (attempt) => this.transport.getChannel(channelId, attempt));
    const known = { metadata: { message_id: messageId } };
    const request = await this.retried(look, (attempt) => this.transport.getMessage(channelId, messageId, attempt)).catch(
      () => null,
    );
    if (request?.deletedAt) {
      const message = "The question was withdrawn before a response came.";
      return errorFrom({ code: "FAILED_PRECONDITION", reason: "MESSAGE_DELETED", message, ...known });
    }
    const no = channel.status === "closed" || !request ? undefined : await this.noTo(request, look);
    if (no) {
      const message = `${no.agentId} has declined the request${no.note ? ` (${JSON.stringify(no.note)})` : ""}; it may still answer.`;
      const metadata = { ...known.metadata, ...(no.note && { note: no.note }) };
      return errorFrom({ code: "FAILED_PRECONDITION", reason: "DECLINED", message, metadata });
    }
    if (channel.status === "closed") {
      if (request?.expiresAt == null || channel.closedAt == null || channel.closedAt <= request.expiresAt) {
        const message = "The channel was closed before a response came.";
        return errorFrom({ code: "FAILED_PRECONDITION", reason: "CHANNEL_CLOSED", message, ...known });
      }
    }
    const message = "No response came before the time ran out.";
    return errorFrom({ code: "DEADLINE_EXCEEDED", reason: "MESSAGE_TIMEOUT", message, ...known });
  }

  /** The no of the one agent that was asked. */
  private async noTo({ channelId, id, to }: Message, look: RetryOptions): Promise<Reaction | undefined> {
    const reactions = await this.retried(look, (attempt) => this.transport.conversation.listReactions(channelId, id, attempt));
    return reactions.find(({ agentId, signal }) => agentId === to && signal === "declined");
  }

  private span(channelId: string, to: string): Span {
    return this.settings.tracing.start("openintent.ask", "client", { "openintent.channel": channelId, "openintent.to": to });
  }

  private retried<T>(options: RetryOptions, call: Parameters<typeof withRetry<T>>[2]): Promise<T> {
    return withRetry(this.settings, options, call);
  }
}

function questionOf(
  channelId: string,
  to: string,
  payload: object,
  timeoutSeconds: number,
  options: AskOptions,
  trace: Trace | null,
): AskRequest {
  const request: AskRequest = {
    channelId,
    to,
    payload: toJsonObject(payload, "payload"),
    metadata: traced(metadataOf(options.metadata), trace),
    timeoutSeconds,
    ...(options.sender !== undefined && { sender: options.sender }),
    // Made once, so that every attempt asks the same question.
    idempotencyKey: options.idempotencyKey ?? newKey(),
    ...said(options),
  };
  checkBounds("AskRequest", { ...request, ...request.said });
  return request;
}

export function metadataOf(metadata: object | undefined): JsonObject {
  return metadata === undefined ? {} : toJsonObject(metadata, "metadata");
}

function enough(options: AskAllOptions): { minResponses?: number } {
  const { minResponses } = options;
  if (minResponses !== undefined && !(Number.isInteger(minResponses) && minResponses >= 1)) {
    throw badField("min_responses", "must be a whole number of 1 or more");
  }
  return minResponses === undefined ? {} : { minResponses };
}

/** The response, unless it says that the responder's handler failed. */
function answerOf(response: Message): Message {
  if (response.isError) {
    throw remoteError(response);
  }
  return response;
}

/** Adds the request's id to an error that lacks it. */
function naming(error: unknown, messageId: string): unknown {
  if (!(error instanceof OpenIntentError) || error.messageId !== null) {
    return error;
  }
  const { code, reason, message, violations, retryDelayMs, cause } = error;
  const metadata = { ...error.metadata, message_id: messageId };
  return errorFrom({ code, reason, message, metadata, violations, retryDelayMs, cause });
}

import { linkedAbort, sleep, type Clock } from "./clock.js";
import { errorFrom, isRetryable, type OpenIntentError } from "./errors.js";
import type { Attempt } from "./transport.js";

/** How long to try a call that has no deadline of its own, in milliseconds. */
export const defaultPatience = 30_000;

/** How long after the deadline an answer may still come, in milliseconds: the server knows best that a wait ran out. */
export const grace = 5_000;

/** The longest deadline of a call, in seconds, that this package can keep. */
const longestTimeout = 2_000_000;

const firstWait = 100;
const longestWait = 5_000;

/** How long to wait before trying again, after this many failures in a row (from 1), in milliseconds. */
export function backoff(clock: Clock, failures: number, error?: OpenIntentError): number {
  const whole = Math.min(firstWait * 2 ** Math.min(failures - 1, 16), longestWait);
  const jittered = whole / 2 + (whole / 2) * clock.random();
  return Math.max(jittered, error?.retryDelayMs ?? 0);
}

/** How a call is bounded. */
export interface CallOptions {
  /** Gives up the call, which then throws the signal's reason. */
  signal?: AbortSignal;
  /** The call's deadline, in seconds from now. Without it a call is tried for 30 seconds. */
  timeout?: number;
}

export interface RetryOptions extends CallOptions {
  traceparent?: string | undefined;
  /** Whether the server itself waits up to the deadline, so that its answer may come a little after. */
  waits?: boolean;
  /** False for calls whose repetition would do something twice. */
  repeatable?: boolean;
}

/** Refuses timeouts that make no deadline. */
export function checkTimeout(timeout: number | undefined): void {
  if (timeout !== undefined && !(timeout > 0 && timeout <= longestTimeout)) {
    throw errorFrom({
      code: "INVALID_ARGUMENT",
      reason: "INVALID_FIELD",
      message: "timeout must be a number of seconds above 0.",
      violations: [{ field: "timeout", description: "must be a number of seconds above 0" }],
    });
  }
}

/**
 * Makes a call and, as long as trying again may help, makes it again until the deadline. Each attempt gets the number of
 * attempts before it.
 *
 * @throws MessageTimeoutError when the deadline ran out; the last failure when the call had no deadline.
 */
export async function withRetry<T>(
  clock: Clock,
  options: RetryOptions,
  call: (attempt: Attempt, before: number) => Promise<T>,
): Promise<T> {
  checkTimeout(options.timeout);
  const deadline = clock.now() + (options.timeout === undefined ? defaultPatience : options.timeout * 1000);
  for (let before = 0; ; before++) {
    try {
      return await once(clock, options, deadline + (options.waits ? grace : 0), (attempt) => call(attempt, before));
    } catch (error) {
      if (!isRetryable(error) || options.repeatable === false) {
        throw error;
      }
      const wait = backoff(clock, before + 1, error);
      if (clock.now() + wait >= deadline) {
        throw options.timeout === undefined ? error : ranOut(error);
      }
      await sleep(clock, wait, options.signal);
    }
  }
}

/** Makes one attempt, which ends at `end` at the latest. */
async function once<T>(
  clock: Clock,
  options: RetryOptions,
  end: number,
  call: (attempt: Attempt) => Promise<T>,
): Promise<T> {
  options.signal?.throwIfAborted();
  const timeoutMs = Math.max(1, Math.ceil(end - clock.now()));
  const linked = linkedAbort(options.signal);
  const stop = clock.after(timeoutMs, () => linked.abort(ranOut()));
  try {
    return await call({
      signal: linked.signal,
      timeoutMs,
      ...(options.traceparent && { traceparent: options.traceparent }),
    });
  } finally {
    stop();
    linked.release();
  }
}

/** The error for a deadline that ran out on this side. */
export function ranOut(last?: OpenIntentError): OpenIntentError {
  return errorFrom({
    code: "DEADLINE_EXCEEDED",
    message: last ? `The time ran out; the last attempt failed: ${last.message}` : "The time ran out.",
    ...(last && { metadata: last.metadata, cause: last }),
  });
}

/** A new idempotency key. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return "sdk-" + Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

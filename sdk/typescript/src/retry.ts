import { linkedAbort, sleep, type Clock } from "./clock.js";
import { badField, isRetryable, type OpenIntentError } from "./errors.js";
import type { Names } from "./options.js";
import { gotNoConnection, gotNoneHere, mayBeDone, noAnswer, perhapsDone, saysMore, stillAway, timeToConnect } from "./server-away.js";
import type { Settings } from "./settings.js";
import type { Attempt } from "./transport.js";

/** How long to try a call that has no deadline of its own, in milliseconds. */
export const defaultPatience = 30_000;

/** How long after the deadline an answer may still come, in milliseconds: the server knows best that a wait ran out. */
export const grace = 5_000;

/** The longest deadline of a call, in seconds, that this package can keep. */
const longestTimeout = 2_000_000;

const firstWait = 100;
const longestWait = 5_000;
/** The longest wait while there is no connection to a server on this machine: its clients are back within a second of its start. */
const longestLocalWait = 500;

/** How long to wait before trying again, after this many failures in a row (from 1), in milliseconds. */
export function backoff(clock: Clock, failures: number, error?: OpenIntentError): number {
  const whole = Math.min(firstWait * 2 ** Math.min(failures - 1, 16), gotNoneHere(error) ? longestLocalWait : longestWait);
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

export const callNames: Names<CallOptions> = { signal: true, timeout: true };

export interface RetryOptions extends CallOptions {
  traceparent?: string | undefined;
  /** Whether the server itself waits up to the deadline, so that its answer may come a little after. */
  waits?: boolean;
  /** False for a call that is not made again once it may have been carried out, since that would do it twice. */
  repeatable?: boolean;
}

/** Refuses timeouts that make no deadline. */
export function checkTimeout(timeout: number | undefined): void {
  if (timeout !== undefined && !(timeout > 0 && timeout <= longestTimeout)) {
    throw badField("timeout", "must be a number of seconds above 0");
  }
}

/**
 * How long to wait before the next attempt at a call; undefined when the deadline leaves no time for one. The last one may
 * be cut short, so a call that must not be made twice goes without it.
 */
function pause(
  clock: Clock,
  failures: number,
  failure: OpenIntentError,
  deadline: number,
  repeatable: boolean,
): number | undefined {
  const wait = backoff(clock, failures, failure);
  const left = deadline - clock.now();
  if (wait < left) {
    return wait;
  }
  const lastChance = left - firstWait;
  return repeatable && lastChance > failure.retryDelayMs ? lastChance : undefined;
}

/**
 * Makes a call and, as long as trying again may help, makes it again until the deadline. Each attempt learns whether an
 * earlier one may have been carried out.
 *
 * @throws UnavailableError when the server was away until the deadline
 */
export async function withRetry<T>(
  { clock, server, connectTimeout, outage }: Pick<Settings, "clock" | "server"> & Partial<Settings>,
  options: RetryOptions,
  call: (attempt: Attempt, perhapsDoneBefore: boolean) => Promise<T>,
): Promise<T> {
  checkTimeout(options.timeout);
  const seconds = options.timeout ?? defaultPatience / 1000;
  const begun = clock.now();
  const deadline = begun + seconds * 1000;
  const repeatable = options.repeatable ?? true;
  let messageId: string | null = null;
  let last: OpenIntentError | null = null;
  let done = false;
  for (let failures = 1; ; failures++) {
    try {
      const result = await once(clock, options, deadline + (options.waits ? grace : 0), (attempt) => call(attempt, done));
      outage?.over();
      return result;
    } catch (error) {
      outage?.failed(error);
      if (!isRetryable(error)) {
        throw error;
      }
      messageId = error.messageId ?? messageId;
      last = saysMore(last, error);
      done ||= mayBeDone(error, options.waits ?? false);
      if (done && !repeatable) {
        throw perhapsDone(server, error);
      }
      const bound = gotNoConnection(error) ? Math.min(seconds, timeToConnect(connectTimeout, outage?.reached ?? true, error)) : seconds;
      const wait = pause(clock, failures, error, begun + bound * 1000, repeatable);
      if (wait === undefined) {
        throw stillAway(server, bound, last, messageId);
      }
      outage?.lasts(error);
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
  const stop = clock.after(timeoutMs, () => linked.abort(noAnswer()));
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

/** How many bytes of a key are random, and of how many keys they are made together: the platform takes long for a few. */
const keyBytes = 16;
const random = new Uint8Array(keyBytes * 64);
let used = random.length;

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/**
 * A new idempotency key. Keys begin with the time, so that those of one moment lie together in the server's index: a commit of many messages then
 * changes few pages of it.
 */
export function newKey(): string {
  if (used === random.length) {
    crypto.getRandomValues(random);
    used = 0;
  }
  let key = `sdk-${Date.now().toString(32)}-`;
  for (const end = used + keyBytes; used < end; used++) {
    key += hex[random[used]!];
  }
  return key;
}

import { linkedAbort, sleep, type Clock } from "../clock.js";
import { OpenIntentError } from "../errors.js";
import { backoff, defaultPatience } from "../retry.js";
import { noAnswer } from "../server-away.js";
import type { Attempt } from "../transport.js";

/** Codes that waiting does not change: an error with one ends the agent. */
const final = new Set(["UNAUTHENTICATED", "PERMISSION_DENIED", "INVALID_ARGUMENT"]);

/** Whether a failure is final: trying again cannot mend it. */
export function isFinal(error: unknown): boolean {
  return !(error instanceof OpenIntentError) || final.has(error.code);
}

/** Makes a call again and again, until it succeeds, fails for good, or the signal aborts. `failed` hears of the failures. */
export async function persist<T>(
  clock: Clock,
  signal: AbortSignal,
  call: (attempt: Attempt) => Promise<T>,
  failed: (error: unknown) => void,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    signal.throwIfAborted();
    const linked = linkedAbort(signal);
    const stop = clock.after(defaultPatience, () => linked.abort(noAnswer()));
    try {
      return await call({ signal: linked.signal, timeoutMs: defaultPatience });
    } catch (error) {
      signal.throwIfAborted();
      if (isFinal(error)) {
        throw error;
      }
      failed(error);
      await sleep(clock, backoff(clock, failures, error as OpenIntentError), signal);
    } finally {
      stop();
      linked.release();
    }
  }
}

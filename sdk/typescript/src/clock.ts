/** Where this package takes the time from, so that tests can use a clock of their own. */
export interface Clock {
  /** Milliseconds since some moment; never goes back. */
  now(): number;
  /**
   * Calls back once after a time in milliseconds, unless the returned function is called first. What waits in the background does not keep
   * the program running.
   */
  after(milliseconds: number, then: () => void, inBackground?: boolean): () => void;
  /** The same for a rest between two pieces of work, which a test may cut short; `after` unless it is there. */
  rest?(milliseconds: number, then: () => void): () => void;
  /** A number from 0 up to, without, 1. */
  random(): number;
}

/** The longest time that a timer of the platform can wait, in milliseconds; about 24 days. */
const longestTimer = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  after(milliseconds, then, inBackground = false) {
    const timer = setTimeout(then, Math.min(milliseconds, longestTimer));
    if (inBackground) {
      (timer as { unref?: () => void }).unref?.(); // Browsers have none.
    }
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/** What to call when a signal aborts: the platform warns of many listeners on one signal, so each signal gets one. */
const followers = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls back once when the signal, which has not aborted yet, aborts, unless the returned function is called first. */
function onAbort(signal: AbortSignal, then: () => void): () => void {
  let own = followers.get(signal);
  if (own === undefined) {
    const made = new Set<() => void>();
    own = made;
    followers.set(signal, made);
    signal.addEventListener("abort", () => [...made].forEach((follow) => follow()), { once: true });
  }
  own.add(then);
  return () => own.delete(then);
}

/** Waits, or throws the signal's reason as soon as it aborts. */
export function sleep(clock: Clock, milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const rested = (): void => {
      release?.();
      resolve();
    };
    const stop = clock.rest?.(milliseconds, rested) ?? clock.after(milliseconds, rested);
    const release =
      signal &&
      onAbort(signal, () => {
        stop();
        reject(signal.reason);
      });
  });
}

/** An abort signal that follows others and can be aborted on its own; `release` lets go of the others. */
export interface LinkedAbort {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
  release(): void;
}

/** Makes a signal that aborts as soon as one of the given signals does. */
export function linkedAbort(...signals: (AbortSignal | undefined)[]): LinkedAbort {
  const controller = new AbortController();
  const released: (() => void)[] = [];
  for (const signal of signals) {
    if (signal === undefined) {
      continue;
    }
    if (signal.aborted) {
      controller.abort(signal.reason);
      break;
    }
    released.push(onAbort(signal, () => controller.abort(signal.reason)));
  }
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    release: () => released.splice(0).forEach((release) => release()),
  };
}

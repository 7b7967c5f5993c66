import { elapsed } from "./pause.ts";

// Browsers open only six connections to a server that speaks HTTP/1.1, for all tabs together. So a tab that nobody sees gives its streams up
// after a while and goes on where it was when somebody looks at it again. One of the hidden tabs keeps watch, so that its title can say that
// something needs the reader.

/** For how long a hidden tab keeps its streams, in milliseconds: those who come back soon notice nothing. */
const lingering = 20_000;

/** The lock that one hidden tab has. Browsers without locks for pages that came without TLS have no watch. */
const watch = "openintent-console-watch";

const hidden = () => document.visibilityState === "hidden";

/** Rest says when a stream may be open. */
export class Rest {
  constructor(readonly keepsWatch: boolean) {}

  /** lease waits until the stream may be open. The signal that it returns aborts when it may be no longer, or when the given one does. */
  async lease(signal: AbortSignal): Promise<{ signal: AbortSignal; end: () => void }> {
    const lease = new AbortController();
    let unwatch = () => {};
    if (hidden()) {
      unwatch = await this.#untilSeenOrWatching(signal);
    }
    let rest = new AbortController();
    const changed = () => {
      rest.abort();
      rest = new AbortController();
      if (hidden()) {
        void this.#lingerAndRest(rest.signal, lease);
      } else {
        unwatch();
      }
    };
    const end = () => {
      document.removeEventListener("visibilitychange", changed);
      signal.removeEventListener("abort", end);
      rest.abort();
      unwatch();
      lease.abort();
    };
    document.addEventListener("visibilitychange", changed);
    signal.addEventListener("abort", end);
    if (signal.aborted) {
      end();
    }
    return { signal: lease.signal, end };
  }

  async #lingerAndRest(seen: AbortSignal, lease: AbortController): Promise<void> {
    await elapsed(lingering, seen);
    if (!seen.aborted) {
      lease.abort();
    }
  }

  /** #untilSeenOrWatching returns when the tab is seen again, or is the one that keeps watch; what it returns ends the watch. */
  #untilSeenOrWatching(signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve) => {
      const waiting = new AbortController();
      const done = (unwatch: () => void) => {
        document.removeEventListener("visibilitychange", seen);
        signal.removeEventListener("abort", seen);
        waiting.abort();
        resolve(unwatch);
      };
      const seen = () => (signal.aborted || !hidden()) && done(() => {});
      document.addEventListener("visibilitychange", seen);
      signal.addEventListener("abort", seen);
      seen();
      if (this.keepsWatch && "locks" in navigator && !waiting.signal.aborted) {
        navigator.locks
          .request(watch, { signal: waiting.signal }, () => new Promise<void>((release) => done(release)))
          .catch(() => {
            // Somebody looked before this tab's turn came.
          });
      }
    });
  }
}

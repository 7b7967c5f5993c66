/** How long to wait before the first new try, and at most, in milliseconds. */
const first = 500;
const longest = 15_000;

/** pauseBefore says how many milliseconds to wait before the try with this number, from 1. chance, from 0 to 1, keeps many pages apart. */
export function pauseBefore(attempt: number, chance: number): number {
  const full = Math.min(longest, first * 2 ** Math.min(attempt - 1, 10));
  return Math.round(full * (0.75 + 0.5 * chance));
}

/** elapsed waits so many milliseconds, or less if the signal aborts; it never fails. */
export function elapsed(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", done);
  });
}

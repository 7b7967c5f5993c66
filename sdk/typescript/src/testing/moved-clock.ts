import { systemClock, type Clock } from "../clock.js";

/** How long `move` waits at most for what fell due to be done, in milliseconds. */
const settlesWithin = 500;

interface Rest {
  readonly due: number;
  wake(): void;
}

/** Time that flows, and that a test moves besides: what clients hold is renewed by it, and agents send their heartbeats by it. */
export class MovedClock implements Clock {
  #moved = 0;
  #begun = 0;
  readonly #rests = new Set<Rest>();

  now(): number {
    return systemClock.now() + this.#moved;
  }

  /** A bound of something, which real time keeps. */
  after(milliseconds: number, then: () => void, inBackground?: boolean): () => void {
    return systemClock.after(milliseconds, then, inBackground);
  }

  rest(milliseconds: number, then: () => void): () => void {
    this.#begun++;
    const stop = (): void => {
      stopTimer();
      this.#rests.delete(rest);
    };
    const wake = (): void => {
      stop();
      then();
    };
    const rest = { due: this.now() + milliseconds, wake };
    const stopTimer = systemClock.after(milliseconds, wake);
    this.#rests.add(rest);
    return stop;
  }

  random(): number {
    return systemClock.random();
  }

  /** How many milliseconds it is until something is to be done; infinite if there is nothing. */
  untilNext(): number {
    return Math.min(Infinity, ...[...this.#rests].map(({ due }) => due)) - this.now();
  }

  /** Lets so much time pass, and waits until those who fell due rest again, as far as that takes no longer than half a second. */
  async move(milliseconds: number): Promise<void> {
    this.#moved += milliseconds;
    const due = [...this.#rests].filter((rest) => rest.due <= this.now());
    const enough = this.#begun + due.length;
    due.forEach((rest) => rest.wake());
    const end = systemClock.now() + settlesWithin;
    while (this.#begun < enough && systemClock.now() < end) {
      await turn();
    }
  }
}

/**
 * Waits before the next look of somebody who began to look at a time of Date.now(): for a tenth of the time since then, at least 5 ms and at most
 * 50 ms.
 */
export function pauseSince(begun: number): Promise<void> {
  return turn(Math.min(Math.max(5, (Date.now() - begun) / 10), 50));
}

/** Lets the program's other work go on. */
export function turn(milliseconds = 1): Promise<void> {
  return new Promise((resolve) => void systemClock.after(milliseconds, resolve));
}

/** How often to ask at most, and at least while somebody looks, in milliseconds. */
const shortest = 10_000;
const longest = 60_000;

/**
 * Pace says when to ask the server again: soon after something has happened, but not more than once in ten seconds, and never while nobody
 * looks.
 */
export class Pace {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asked = -Infinity;
  #wanted = false;
  #looking = false;
  #running = false;

  constructor(
    readonly ask: () => void,
    readonly now: () => number = () => performance.now(),
  ) {}

  /** begin asks at once. */
  begin(): void {
    this.#running = true;
    this.#wanted = true;
    this.#plan();
  }

  end(): void {
    this.#running = false;
    this.#asked = -Infinity;
    clearTimeout(this.#timer);
  }

  /** want says that something has happened. */
  want(): void {
    this.#wanted = true;
    this.#plan();
  }

  /** look says whether somebody looks at the page. */
  look(looking: boolean): void {
    this.#looking = looking;
    this.#plan();
  }

  #plan(): void {
    clearTimeout(this.#timer);
    if (!this.#running || !this.#looking) {
      return;
    }
    const due = this.#asked + (this.#wanted ? shortest : longest);
    const wait = Math.max(0, due - this.now());
    this.#timer = setTimeout(() => this.#askNow(), Number.isFinite(wait) ? wait : 0);
  }

  #askNow(): void {
    this.#asked = this.now();
    this.#wanted = false;
    this.ask();
    this.#plan();
  }
}

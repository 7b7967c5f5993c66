/** One thing that will be done when its time has come, unless it is undone. */
export interface Pending {
  readonly id: number;
  /** What will be done, such as "Declined 3 questions". */
  readonly label: string;
  /** When it is done, as the clock of the queue tells the time. */
  readonly due: number;
}

/** What a queue needs of the world. */
export interface World {
  now(): number;
  /** after calls back once, after so many milliseconds, and returns what cancels that. */
  after(milliseconds: number, then: () => void): () => void;
}

/** How long what is done can be undone, in milliseconds. */
export const patience = 10_000;

/**
 * UndoQueue does things a while after they were decided, so that a person can undo them. Each of them is done once or not at all: when its
 * time has come, or at once when the page is left.
 */
export class UndoQueue {
  #next = 1;
  #waiting = new Map<number, { pending: Pending; act: (leaving: boolean) => void; undone: () => void; cancel: () => void }>();

  constructor(
    readonly world: World,
    /** Called whenever the list changes. */
    readonly changed: () => void = () => {},
  ) {}

  get list(): Pending[] {
    return [...this.#waiting.values()].map((one) => one.pending);
  }

  /** add decides something. `act` is told whether the page is being left, so that its calls outlive the page; `undone` is called in its place. */
  add(label: string, act: (leaving: boolean) => void, undone: () => void = () => {}): number {
    const id = this.#next++;
    const pending = { id, label, due: this.world.now() + patience };
    const cancel = this.world.after(patience, () => this.#do(id, false));
    this.#waiting.set(id, { pending, act, undone, cancel });
    this.changed();
    return id;
  }

  /** undo takes something back, and reports whether that was still possible. */
  undo(id: number): boolean {
    const one = this.#waiting.get(id);
    if (!one) {
      return false;
    }
    one.cancel();
    this.#waiting.delete(id);
    this.changed();
    one.undone();
    return true;
  }

  /** flush does everything at once, because the page is left. */
  flush(leaving = true): void {
    for (const id of [...this.#waiting.keys()]) {
      this.#do(id, leaving);
    }
  }

  #do(id: number, leaving: boolean): void {
    const one = this.#waiting.get(id);
    if (!one) {
      return;
    }
    one.cancel();
    this.#waiting.delete(id);
    this.changed();
    one.act(leaving);
  }
}

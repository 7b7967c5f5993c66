/** Something that many may wait for; it opens once. */
export class Gate {
  open!: () => void;
  readonly opened = new Promise<void>((resolve) => (this.open = resolve));
}

/** Lets others wait until something is true; whoever changes it says so. */
export class Condition {
  #waiting: (() => void)[] = [];

  changed(): void {
    this.#waiting.splice(0).forEach((look) => look());
  }

  /** Returns once `met` is true; fails after a time in milliseconds with what `missing` says. */
  async until(met: () => boolean, patience: number, missing: () => string): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    let late = false;
    timer = setTimeout(() => {
      late = true;
      this.changed();
    }, patience);
    try {
      while (!met()) {
        if (late) {
          throw new Error(`It did not happen in time: ${missing()}.`);
        }
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
      }
    } finally {
      clearTimeout(timer);
    }
  }
}

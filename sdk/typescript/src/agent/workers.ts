/** Runs jobs, at most `concurrency` at once, and starts them in the order in which they were added. */
export class Workers {
  readonly #waiting: (() => Promise<void>)[] = [];
  #running = 0;
  #stopped = false;
  #changed: (() => void)[] = [];

  constructor(private readonly concurrency: number) {}

  /** How many jobs run now. */
  get running(): number {
    return this.#running;
  }

  /** Adds a job. What it throws is its own concern. */
  add(job: () => Promise<void>): void {
    if (!this.#stopped) {
      this.#waiting.push(job);
      this.#start();
    }
  }

  /** Starts nothing more, and drops the jobs that wait. */
  stop(): void {
    this.#stopped = true;
    this.#waiting.length = 0;
    this.#tell();
  }

  /** Returns once fewer than `limit` jobs wait to be started. */
  async room(limit: number): Promise<void> {
    while (this.#waiting.length >= limit) {
      await new Promise<void>((resolve) => this.#changed.push(resolve));
    }
  }

  /** Returns once nothing runs or waits. */
  async idle(): Promise<void> {
    while (this.#running + this.#waiting.length > 0) {
      await new Promise<void>((resolve) => this.#changed.push(resolve));
    }
  }

  #start(): void {
    while (this.#running < this.concurrency && this.#waiting.length > 0) {
      const job = this.#waiting.shift()!;
      this.#running++;
      void job()
        .catch(() => {})
        .finally(() => {
          this.#running--;
          this.#start();
          this.#tell();
        });
    }
  }

  #tell(): void {
    this.#changed.splice(0).forEach((tell) => tell());
  }
}

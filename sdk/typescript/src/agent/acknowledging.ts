import { sleep, type Clock } from "../clock.js";
import { isRetryable } from "../errors.js";
import { backoff, defaultPatience } from "../retry.js";
import type { AgentServer } from "./server.js";

/** How many deliveries one call acknowledges at most, as the server allows. */
const largestBatch = 1000;

/**
 * Acknowledges deliveries in the background: while one call is under way, the next gathers. What is lost with the process is
 * delivered again.
 */
export class Acknowledging {
  #numbers: number[] = [];
  #flushing: Promise<void> | null = null;

  constructor(
    private readonly server: AgentServer,
    private readonly clock: Clock,
    private readonly subscriptionId: string,
    private readonly signal: AbortSignal,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** Says that a delivery is done with. */
  done(number: number): void {
    this.#numbers.push(number);
    this.#flushing ??= this.#flush();
  }

  /** Returns once everything that is done is acknowledged, or given up. */
  async flushed(): Promise<void> {
    while (this.#flushing !== null) {
      await this.#flushing;
    }
  }

  async #flush(): Promise<void> {
    await Promise.resolve(); // Lets what finishes at the same time into the same call.
    for (let failures = 0; this.#numbers.length > 0 && !this.signal.aborted;) {
      const batch = this.#numbers.slice(0, largestBatch);
      try {
        await this.server.acknowledge(this.subscriptionId, batch, { signal: this.signal, timeoutMs: defaultPatience });
        failures = 0;
        this.#numbers.splice(0, batch.length);
      } catch (error) {
        if (isRetryable(error)) {
          await sleep(this.clock, backoff(this.clock, ++failures, error), this.signal).catch(() => {});
          continue;
        }
        this.#numbers.splice(0, batch.length);
        if (!this.signal.aborted) {
          this.failed(error); // They will come again.
        }
      }
    }
    this.#flushing = null; // In the same step in which nothing was left, so that nothing is left behind.
  }
}

import { sleep, type Clock } from "../clock.js";
import { isRetryable, OpenIntentError } from "../errors.js";
import { backoff, defaultPatience } from "../retry.js";
import type { AgentServer } from "./server.js";

/** How many deliveries one call acknowledges at most, as the server allows. */
const largestBatch = 1000;

/**
 * How long finished deliveries wait for more of them at most, in milliseconds. It is less than the time after which the server
 * stores what it has sent, so what is handled soon is never stored.
 */
const gathering = 25;

/** The reason of the refusal to acknowledge a delivery that a replaced stream has sent. */
const comesAgain = "DELIVERY_COMES_AGAIN";

/** Acknowledges deliveries in the background, many with one call. What is lost with the process is delivered again. */
export class Acknowledging {
  #numbers: number[] = [];
  #flushing: Promise<void> | null = null;
  #leaving = false;
  #hurry: () => void = () => {};

  constructor(
    private readonly server: AgentServer,
    private readonly clock: Clock,
    private readonly subscriptionId: string,
    /** This many do not wait for more: the stream goes on while they are acknowledged. */
    private readonly many: number,
    private readonly signal: AbortSignal,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** Says that a delivery is done with. */
  done(number: number): void {
    this.#numbers.push(number);
    this.#flushing ??= this.#flush();
    if (this.#numbers.length >= this.many) {
      this.#hurry();
    }
  }

  /** Returns once everything that is done is acknowledged, or given up. */
  async flushed(): Promise<void> {
    this.#leaving = true;
    this.#hurry();
    while (this.#flushing !== null) {
      await this.#flushing;
    }
  }

  /** Waits for a while until more deliveries are finished. */
  #gather(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#leaving) {
        resolve();
        return;
      }
      const stop = this.clock.after(gathering, resolve);
      this.#hurry = () => {
        stop();
        resolve();
      };
    });
  }

  async #flush(): Promise<void> {
    await this.#gather();
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
        if (this.#leftOut(batch, error)) {
          continue;
        }
        this.#numbers.splice(0, batch.length);
        if (!this.signal.aborted) {
          this.failed(error); // They will come again.
        }
      }
    }
    this.#flushing = null; // In the same step that found nothing left, so that no delivery is left behind.
  }

  /**
   * Leaves a delivery out that a replaced stream has sent, if the server refused the batch for one. Its message comes again under
   * a new number, is recognized as handled, and is acknowledged then.
   */
  #leftOut(batch: readonly number[], error: unknown): boolean {
    if (!(error instanceof OpenIntentError) || error.reason !== comesAgain) {
      return false;
    }
    const place = batch.indexOf(Number(error.metadata["number"]));
    if (place < 0) {
      return false;
    }
    this.#numbers.splice(place, 1);
    return true;
  }
}

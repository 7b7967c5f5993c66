import { untrack } from "svelte";

import { Away, Refused } from "../client/refusal.ts";
import { connection } from "./connection.svelte.ts";

/**
 * Loading is something that a page reads from the server, with the states that a reader may see: nothing yet, the thing itself, and why
 * there is none. What is there stays while it is read again.
 */
export class Loading<T> {
  value = $state.raw<T>();
  refused = $state.raw<Refused>();
  #reading: AbortController | undefined;
  #failed = false;

  constructor(readonly read: (signal: AbortSignal) => Promise<T>) {
    // What the server was away for is read again when it is back.
    $effect(() => {
      if (connection.returns > 0 && untrack(() => this.#failed)) {
        untrack(() => void this.again());
      }
    });
    $effect(() => () => this.#reading?.abort());
  }

  /** True while nothing can be shown: neither the thing nor a refusal. */
  get blank(): boolean {
    return this.value === undefined && this.refused === undefined;
  }

  /** again reads once more, in place of a reading that is under way. */
  async again(): Promise<void> {
    this.#reading?.abort();
    const reading = new AbortController();
    this.#reading = reading;
    try {
      const value = await this.read(reading.signal);
      if (!reading.signal.aborted) {
        this.value = value;
        this.refused = undefined;
        this.#failed = false;
      }
    } catch (failure) {
      if (reading.signal.aborted) {
        return;
      }
      if (failure instanceof Refused) {
        this.refused = failure;
      } else if (failure instanceof Away) {
        this.#failed = true;
      } else {
        throw failure;
      }
    }
  }
}

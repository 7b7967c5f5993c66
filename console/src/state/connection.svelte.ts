import { serverNow } from "../client/client.ts";
import { elapsed } from "../client/pause.ts";

/** Whether the server is there. It is away from the first call on that nothing answered, until something does. */
class Connection {
  /** Since when the server is away; undefined while it is there. */
  awaySince = $state<number>();
  /** Whether the stream of the agent stands. */
  live = $state(false);
  /** How often the server has come back; what failed while it was away is tried again when this changes. */
  returns = $state(0);

  /** note records that the server has answered, or has not. */
  note(answered: boolean): void {
    if (answered && this.awaySince !== undefined) {
      this.awaySince = undefined;
      this.returns++;
      this.#waiting.forEach((stop) => stop());
    } else if (!answered && this.awaySince === undefined) {
      this.awaySince = serverNow();
    }
  }

  #waiting = new Set<() => void>();

  /**
   * back waits until the server answers again, or the signal aborts. Where nothing else asks the server, it returns after some seconds, so
   * that its caller does.
   */
  async back(signal: AbortSignal): Promise<void> {
    const enough = new AbortController();
    const stop = () => enough.abort();
    this.#waiting.add(stop);
    signal.addEventListener("abort", stop);
    await elapsed(3000, enough.signal);
    this.#waiting.delete(stop);
    signal.removeEventListener("abort", stop);
  }
}

export const connection = new Connection();

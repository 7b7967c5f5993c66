import type { ChannelHandle } from "../../src/exports.js";
import type { Following } from "../../src/following.js";
import type { ChannelMessage } from "../../src/types.js";
import { Condition } from "./waiting.js";

/** How long to wait for a message that must come, in milliseconds. */
const patience = 20_000;

/** A channel that is followed in the background. */
export class BackgroundFollowing {
  readonly all: ChannelMessage[] = [];
  readonly #changed = new Condition();
  readonly #following: Following<any>;
  #ended: { error: unknown } | null = null;

  constructor(handle: ChannelHandle) {
    this.#following = handle.messages();
  }

  /** Returns once the server has accepted. */
  async start(): Promise<void> {
    await this.#following.started();
    void this.#collect();
  }

  async #collect(): Promise<void> {
    try {
      for await (const message of this.#following) {
        this.all.push(message);
        this.#changed.changed();
      }
      this.#ended = { error: null };
    } catch (error) {
      this.#ended = { error };
    }
    this.#changed.changed();
  }

  /** Waits until that many came; returns all so far. */
  async count(count: number): Promise<ChannelMessage[]> {
    const missing = (): string =>
      `${this.all.length} of ${count} messages came; ${String(this.#ended?.error ?? "it follows on")}`;
    await this.#changed.until(() => this.all.length >= count, patience, missing);
    return [...this.all];
  }

  /** Waits for the end, and throws its error. */
  async end(): Promise<null> {
    await this.#changed.until(
      () => this.#ended !== null,
      patience,
      () => "the following has not ended",
    );
    if (this.#ended!.error !== null) {
      throw this.#ended!.error;
    }
    return null;
  }

  async leave(): Promise<void> {
    await this.#following.return();
  }
}

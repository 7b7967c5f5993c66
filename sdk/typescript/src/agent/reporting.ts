import type { Client } from "../client.js";
import { sleep, type Clock } from "../clock.js";
import type { Disposition } from "../conversation-types.js";
import { OpenIntentError } from "../errors.js";
import { withRetry } from "../retry.js";
import type { Message } from "../types.js";
import type { AgentServer } from "./server.js";

/** How long the first message waits for more, so that one call tells of many, in milliseconds. */
const gathering = 100;
const largestPage = 1000;
/** How much waits to be told at most. What comes beyond that is not told. */
const mostWaiting = 10_000;

/**
 * Tells the server in the background which messages an agent's handlers saw, and what became of them. No handler waits for it, and
 * what cannot be told is lost.
 */
export class Reporting {
  readonly #surfaced: string[] = [];
  readonly #disposed: { message: Message; disposition: Disposition }[] = [];
  #telling: Promise<void> | null = null;

  constructor(
    private readonly client: Client,
    private readonly server: AgentServer,
    private readonly clock: Clock,
    private readonly signal: AbortSignal,
  ) {}

  /** Notes that the handlers of a message begin. */
  surfaced({ id }: Message): void {
    if (this.#surfaced.length < mostWaiting) {
      this.#surfaced.push(id);
      this.#telling ??= this.#tell();
    }
  }

  /** Notes what became of a message. */
  disposed(message: Message, disposition: Disposition): void {
    if (this.#disposed.length < mostWaiting) {
      this.#disposed.push({ message, disposition });
      this.#telling ??= this.#tell();
    }
  }

  /** Returns once everything that was noted is told, or lost. */
  async finished(): Promise<void> {
    while (this.#telling !== null) {
      await this.#telling;
    }
  }

  async #tell(): Promise<void> {
    await sleep(this.clock, gathering, this.signal).catch(() => {});
    while (!this.signal.aborted && this.#surfaced.length + this.#disposed.length > 0) {
      await this.#surface(this.#surfaced.splice(0, largestPage));
      const next = this.#disposed.shift();
      if (next !== undefined) {
        const { channelId, id } = next.message;
        await this.client.setDisposition(channelId, id, next.disposition, { signal: this.signal }).catch(() => {});
      }
    }
    this.#telling = null; // In the same step that found nothing left.
  }

  /** Marks messages. The server marks all or none, so a page with a message that is gone is told in halves. */
  async #surface(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) {
      return;
    }
    try {
      const settings = { clock: this.clock, server: "" };
      await withRetry(settings, { signal: this.signal }, (attempt) => this.server.surface(ids, attempt));
    } catch (error) {
      const refused = error instanceof OpenIntentError && error.code !== "UNAVAILABLE" && error.code !== "UNAUTHENTICATED";
      if (refused && ids.length > 1) {
        const half = Math.floor(ids.length / 2);
        await this.#surface(ids.slice(0, half));
        await this.#surface(ids.slice(half));
      }
    }
  }
}

import { sleep, type Clock } from "../clock.js";
import { FailedPreconditionError, NotFoundError } from "../errors.js";
import type { Attempt } from "../transport.js";
import type { AgentLog } from "./log.js";
import { persist } from "./persisting.js";
import type { AgentServer } from "./server.js";

/** How long the last heartbeat of an agent that leaves may take, in milliseconds. */
const lastWord = 2_000;

/** Keeps an agent registered, and tells the server that it lives. */
export class Presence {
  #interval = 0;
  #tookOver = false;

  constructor(
    private readonly server: AgentServer,
    private readonly clock: Clock,
    private readonly log: AgentLog,
  ) {}

  /** Says that this process became the one that receives for the agent. */
  tookOver(): void {
    this.#tookOver = true;
  }

  /** Registers the agent, however long that takes. */
  async register(signal: AbortSignal): Promise<void> {
    const failed = (error: unknown): void => this.log.unreachable(error);
    this.#interval = await persist(this.clock, signal, (attempt) => this.server.register(attempt), failed);
  }

  /**
   * Sends heartbeats at the interval that the server names, until the signal aborts. When the server has given the agent up
   * meanwhile, this registers it again. It also does so when the agent is still draining, because the process that this one
   * took over from said so.
   */
  async keep(signal: AbortSignal): Promise<void> {
    const failed = (error: unknown): void => this.log.heartbeatFailed(error);
    for (;;) {
      await sleep(this.clock, this.#interval, signal);
      this.#interval = await persist(this.clock, signal, (attempt) => this.#beat(attempt), failed);
    }
  }

  async #beat(attempt: Attempt): Promise<number> {
    try {
      const { interval, draining } = await this.server.heartbeat("active", attempt);
      if (!draining || !this.#tookOver) {
        this.#tookOver = false;
        return interval;
      }
      const registered = await this.server.register(attempt);
      this.#tookOver = false;
      return registered;
    } catch (error) {
      if (error instanceof FailedPreconditionError || error instanceof NotFoundError) {
        return this.server.register(attempt);
      }
      throw error;
    }
  }

  /** Tells the server once that the agent is draining. It does no harm when that does not get through. */
  async drain(): Promise<void> {
    const controller = new AbortController();
    const stop = this.clock.after(lastWord, () => controller.abort());
    await this.server.heartbeat("draining", { signal: controller.signal, timeoutMs: lastWord }).catch(() => {});
    stop();
  }
}

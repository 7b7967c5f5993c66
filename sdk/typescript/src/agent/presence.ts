import type { Clock } from "../clock.js";
import { FailedPreconditionError, InvalidArgumentError, NotFoundError } from "../errors.js";
import type { Attempt } from "../transport.js";
import type { AgentLog } from "./log.js";
import { persist } from "./persisting.js";
import type { AgentServer, Heartbeat } from "./server.js";
import { StatusNote } from "./status-note.js";

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
    private readonly note = new StatusNote(),
    /** Hears of attempts that failed, and may end the agent by throwing. */
    private readonly unreachable = (error: unknown): void => log.unreachable(error),
  ) {}

  /** Says that this process became the one that receives for the agent. */
  tookOver(): void {
    this.#tookOver = true;
  }

  /** Registers the agent, however long that takes. */
  async register(signal: AbortSignal): Promise<void> {
    this.#interval = await persist(this.clock, signal, (attempt) => this.server.register(attempt), this.unreachable);
  }

  /**
   * Sends heartbeats at the interval that the server names, and whenever there is a new note, until the signal aborts. When the server has given the agent up
   * meanwhile, this registers it again. It also does so when the agent is still draining, because the process that this one
   * took over from said so.
   */
  async keep(signal: AbortSignal): Promise<void> {
    const failed = (error: unknown): void => this.log.heartbeatFailed(error);
    for (;;) {
      await this.note.untilHeartbeat(this.clock, this.#interval, signal);
      this.#interval = await persist(this.clock, signal, (attempt) => this.#beat(attempt), failed);
    }
  }

  async #beat(attempt: Attempt): Promise<number> {
    try {
      const { interval, draining } = await this.#say("active", attempt);
      if (!draining || !this.#tookOver) {
        this.#tookOver = false;
        return interval;
      }
      const registered = await this.server.register(attempt);
      this.#tookOver = false;
      return registered;
    } catch (error) {
      if (error instanceof FailedPreconditionError || error instanceof NotFoundError) {
        const registered = await this.server.register(attempt);
        this.note.again();
        return registered;
      }
      throw error;
    }
  }

  /** Sends a heartbeat, with the agent's note if that is new. A note that the server refuses is dropped. */
  async #say(status: "active" | "draining", attempt: Attempt): Promise<Heartbeat> {
    const note = this.note.next;
    try {
      const heard = await this.server.heartbeat(status, note, attempt);
      this.note.told(note);
      return heard;
    } catch (error) {
      if (note === undefined || !(error instanceof InvalidArgumentError)) {
        throw error;
      }
      this.log.noteRefused(error);
      this.note.told(note);
      return this.#say(status, attempt);
    }
  }

  /** Tells the server once that the agent is draining. It does no harm when that does not get through. */
  async drain(): Promise<void> {
    const controller = new AbortController();
    const stop = this.clock.after(lastWord, () => controller.abort());
    await this.#say("draining", { signal: controller.signal, timeoutMs: lastWord }).catch(() => {});
    stop();
  }
}

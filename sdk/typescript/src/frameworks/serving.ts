import type { Logger } from "../agent/log.js";
import { linkedAbort, sleep, systemClock, type Clock, type LinkedAbort } from "../clock.js";
import { badField, UnavailableError } from "../errors.js";
import type { Mailbox } from "../mailbox/mailbox.js";
import { refuseUnknown, type Names } from "../options.js";
import { Showing } from "./showing.js";

/** How an adapter's `serve` begins and ends runs. */
export interface ServingOptions {
  /** Ends it; without a signal, SIGINT and SIGTERM do. */
  signal?: AbortSignal;
  /** How long the run that is under way may go on then, in seconds; 10 unless given. */
  drainSeconds?: number;
  /** After so many failed runs in a row it gives up; 5 unless given. */
  mostFailures?: number;
  /** Takes what it says about runs that failed; `console` unless given. */
  logger?: Pick<Logger, "warn">;
}

export const servingNames: Names<ServingOptions> = { signal: true, drainSeconds: true, mostFailures: true, logger: true };

/** How long one look waits for messages, in seconds. */
const lookSeconds = 600;
/** The pause after something failed, in milliseconds. It doubles from failure to failure. */
const firstPause = 1_000;
const longestPause = 60_000;

const endings = ["SIGINT", "SIGTERM"] as const;

/** That a run is suspended. */
export interface Waits {
  /** After so many seconds at most it is called again, with what came meanwhile. */
  readonly seconds: number;
  /** Whether what was taken stays unsettled until then, because the run could not show it yet. */
  readonly keeps?: boolean;
}

/** What a run does with what came; `signal` aborts when the run must end. */
export type RunOnce = (showing: Showing, signal: AbortSignal) => Promise<Waits | void>;

/**
 * Calls `run` whenever something waits, one call at a time, with what was taken, and settles after it. `first` calls it before that, for
 * runs that an earlier process left. It ends at the signal: then it takes
 * nothing more, the run that is under way has `drainSeconds`, and what it was shown comes again if that is not enough. It closes the
 * mailbox at the end. @throws the error of the last run when `mostFailures` have failed in a row
 */
export async function serveRuns(
  mailbox: Mailbox,
  options: ServingOptions,
  names: Names<ServingOptions>,
  run: RunOnce,
  first?: Waits,
  clock: Clock = systemClock,
): Promise<void> {
  refuseUnknown("serve", options, names);
  const { drainSeconds = 10, mostFailures = 5, logger = console } = options;
  if (!(drainSeconds >= 0)) {
    throw badField("drainSeconds", "must be a number of 0 or more");
  }
  if (!(Number.isInteger(mostFailures) && mostFailures >= 1)) {
    throw badField("mostFailures", "must be a whole number of 1 or more");
  }
  const leaving = linkedAbort(options.signal);
  const leave = (): void => leaving.abort(new Error("The agent leaves."));
  if (options.signal === undefined) {
    endings.forEach((name) => process.once(name, leave));
  }
  try {
    await new Serving(mailbox, run, leaving, clock, { drainSeconds, mostFailures, logger }).serve(first);
  } finally {
    endings.forEach((name) => process.off(name, leave));
    leaving.release();
    await mailbox.close();
  }
}

/** Begins one run after the other. */
class Serving {
  #failures = 0;
  #away = 0;

  constructor(
    private readonly mailbox: Mailbox,
    private readonly run: RunOnce,
    private readonly leaving: LinkedAbort,
    private readonly clock: Clock,
    private readonly options: Required<Pick<ServingOptions, "drainSeconds" | "mostFailures" | "logger">>,
  ) {}

  get #left(): boolean {
    return this.leaving.signal.aborted;
  }

  async serve(first: Waits | undefined): Promise<void> {
    let showing = new Showing(this.mailbox);
    for (let waits = first; ; ) {
      await this.#look(showing, Math.min(waits?.seconds ?? lookSeconds, lookSeconds));
      if (this.#left) {
        return; // The messages that it has taken come again.
      }
      if (showing.messages.length === 0 && waits === undefined) {
        continue;
      }
      try {
        waits = await this.#ran(showing);
        this.#failures = 0;
      } catch (error) {
        await this.#failed(showing, error);
      }
      showing = waits?.keeps ? showing : new Showing(this.mailbox);
    }
  }

  /** Takes what came, and waits for it for so many seconds. It takes nothing when the server is away, or when this ends. */
  async #look(showing: Showing, seconds: number): Promise<void> {
    try {
      await showing.look(seconds, this.leaving.signal);
      this.#away = 0;
    } catch (error) {
      if (this.#left) {
        return;
      }
      if (!(error instanceof UnavailableError)) {
        throw error;
      }
      this.#warn(`its server is away, and it looks again: ${error.message}`);
      await this.#paused(pauseAfter(++this.#away));
    }
  }

  /** Does a run and settles, unless the run keeps what it took, or takes longer than it may once this ends. */
  async #ran(showing: Showing): Promise<Waits | undefined> {
    const working = linkedAbort();
    const ended = linkedAbort();
    const drained = this.#drained(ended.signal).then(() => working.abort(this.leaving.signal.reason));
    const running = showing.during(() => this.run(showing, working.signal));
    try {
      const waits = (await Promise.race([running, drained])) || undefined;
      if (!waits?.keeps && !working.signal.aborted) {
        await this.#settled(showing);
      }
      return waits;
    } finally {
      running.catch(() => {}); // Nobody waits for it any more.
      ended.abort();
    }
  }

  /** Resolves when a run may take no longer, and never if the run has ended before. */
  #drained(ended: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const drain = (): void => {
        sleep(this.clock, this.options.drainSeconds * 1000, ended).then(resolve, () => {});
      };
      this.leaving.signal.addEventListener("abort", drain, { once: true, signal: ended });
    });
  }

  /** Settles, and tries again while the server is away. */
  async #settled(showing: Showing): Promise<void> {
    for (let away = 1; ; away++) {
      try {
        await showing.settle();
        return;
      } catch (error) {
        if (!(error instanceof UnavailableError) || this.#left) {
          throw error;
        }
        await this.#paused(pauseAfter(away));
      }
    }
  }

  async #failed(showing: Showing, error: unknown): Promise<void> {
    this.#failures++;
    await showing.giveBack();
    if (this.#failures >= this.options.mostFailures) {
      throw error;
    }
    this.#warn(`a run failed, and its messages come again: ${error instanceof Error ? error.message : String(error)}`);
    await this.#paused(pauseAfter(this.#failures));
  }

  #warn(text: string): void {
    this.options.logger.warn(`mailbox of ${this.mailbox.agentId}: ${text}`);
  }

  async #paused(milliseconds: number): Promise<void> {
    await sleep(this.clock, milliseconds, this.leaving.signal).catch(() => {}); // It ends.
  }
}

/** How long to pause after so many failures in a row, in milliseconds. */
function pauseAfter(failures: number): number {
  return Math.min(firstPause * 2 ** (failures - 1), longestPause);
}

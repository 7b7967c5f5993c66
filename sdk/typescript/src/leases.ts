import { linkedAbort, sleep } from "./clock.js";
import { badField, LeaseLostError, NotFoundError, OpenIntentError } from "./errors.js";
import { refuseUnknown, type Names } from "./options.js";
import { defaultPatience, withRetry, type CallOptions } from "./retry.js";
import type { Settings } from "./settings.js";
import type { GrantedLease, Transport } from "./transport.js";

/** How a scope is leased. */
export interface LeaseOptions extends Pick<CallOptions, "signal"> {
  /** How long the lease outlives a program that cannot renew it any more, in whole seconds; 60 unless given. */
  durationSeconds?: number;
  /** How long to wait for a scope that is taken, in whole seconds, up to 600; 0, as when not given, does not wait. */
  waitSeconds?: number;
}

const leaseNames: Names<LeaseOptions> = { signal: true, durationSeconds: true, waitSeconds: true };

/** How often a lease is renewed in its duration. */
const renewals = 3;

/** A scope that nobody else holds. */
export interface Lease {
  readonly id: string;
  readonly intentId: string;
  readonly scope: string;
  /**
   * Rises with each lease of the intent. Send it along to what the scope protects, which then can refuse a holder whose lease has
   * ended without its knowing.
   */
  readonly fence: number;
  /** Aborts with a LeaseLostError when the lease is lost, and with the reason of the caller's own signal when that aborts. */
  readonly signal: AbortSignal;
}

/** Leases a scope, works while the lease renews itself, and releases it. */
export async function withLease<T>(
  transport: Transport,
  settings: Settings,
  intentId: string,
  scope: string,
  work: (lease: Lease) => T | Promise<T>,
  options: LeaseOptions,
): Promise<T> {
  refuseUnknown("withLease", options, leaseNames);
  const { durationSeconds = 60, waitSeconds = 0, signal } = options;
  checkSeconds("duration_seconds", durationSeconds, 1);
  checkSeconds("wait_seconds", waitSeconds, 0);
  let asked = settings.clock.now();
  const bounds = { signal, timeout: defaultPatience / 1000 + waitSeconds, repeatable: false };
  const granted = await withRetry(settings, bounds, (attempt) => {
    asked = settings.clock.now();
    return transport.acquireLease({ intentId, scope, durationSeconds, waitSeconds }, attempt);
  });
  if (waitSeconds > 0) {
    // The server granted it at some time of the wait, so it is renewed at once to know its time.
    asked = settings.clock.now() - (durationSeconds * 1000) / renewals;
  }
  const held = new HeldLease(transport, settings, intentId, granted, durationSeconds, asked);
  const ends = linkedAbort(held.lost, signal);
  try {
    const result = await work({ ...granted, intentId, scope, signal: ends.signal });
    held.lost.throwIfAborted();
    return result;
  } finally {
    ends.release();
    await held.release();
  }
}

/** A lease that renews itself from its making until it is released. */
class HeldLease {
  readonly #lost = new AbortController();
  readonly #ended = new AbortController();
  readonly #renewing: Promise<void>;

  constructor(
    private readonly transport: Transport,
    private readonly settings: Settings,
    private readonly intentId: string,
    private readonly granted: GrantedLease,
    private readonly durationSeconds: number,
    asked: number,
  ) {
    this.#renewing = this.#renew(asked).catch((error: unknown) => {
      if (!this.#ended.signal.aborted) {
        this.#lost.abort(lost(error));
      }
    });
  }

  /** Aborts when the lease is lost. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Ends the renewing, and gives the lease back. It does no harm when that does not get through: the lease then expires. */
  async release(): Promise<void> {
    this.#ended.abort();
    await this.#renewing;
    const { intentId, granted } = this;
    await withRetry(this.settings, {}, (attempt) => this.transport.releaseLease(intentId, granted.id, attempt)).catch(
      (error: unknown) => {
        if (!(error instanceof OpenIntentError)) {
          throw error;
        }
      },
    );
  }

  /** Renews three times in the duration. Throws when the lease has ended, or may be over before it could be renewed. */
  async #renew(asked: number): Promise<never> {
    const { clock } = this.settings;
    const { signal } = this.#ended;
    const duration = this.durationSeconds * 1000;
    for (;;) {
      await sleep(clock, Math.max(0, asked + duration / renewals - clock.now()), signal);
      const began = clock.now();
      const timeout = Math.max(1, asked + duration - began) / 1000;
      await withRetry(this.settings, { signal, timeout }, (attempt) =>
        this.transport.renewLease(this.intentId, this.granted.id, this.durationSeconds, attempt),
      );
      asked = began;
    }
  }
}

function lost(error: unknown): LeaseLostError {
  const why = error instanceof Error ? error.message : String(error);
  const code = error instanceof NotFoundError ? "NOT_FOUND" : "UNAVAILABLE";
  return new LeaseLostError({ code, reason: "LEASE_LOST", message: `The lease is lost: ${why}`, cause: error });
}

function checkSeconds(field: string, seconds: number, least: number): void {
  if (!(Number.isInteger(seconds) && seconds >= least)) {
    throw badField(field, `must be a whole number of ${least} or more`);
  }
}

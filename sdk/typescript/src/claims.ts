import { linkedAbort, sleep } from "./clock.js";
import type { Place } from "./conversation-types.js";
import { AnsweredError, badField, ClaimLostError, OpenIntentError } from "./errors.js";
import { refuseUnknown, type Names } from "./options.js";
import { newKey, withRetry, type CallOptions } from "./retry.js";
import type { Settings } from "./settings.js";
import type { ConversationTransport } from "./transport.js";

/** How a message is claimed. */
export interface ClaimOptions extends Pick<CallOptions, "signal"> {
  /** How long the claim outlives a program that cannot renew it any more, in whole seconds; 90 unless given. */
  ttlSeconds?: number;
}

const claimNames: Names<ClaimOptions> = { signal: true, ttlSeconds: true };

/** How often a claim is renewed in its time. */
const renewals = 3;

const defaultTtl = 90;

/** A message that others leave to this program. */
export interface Claim {
  readonly messageId: string;
  /** Rises with each claim of the message. A reply under the claim sends it along. */
  readonly fence: number;
  /** Aborts with a ClaimLostError when the claim is lost, and with the reason of the caller's own signal when that aborts. */
  readonly signal: AbortSignal;
}

/** Claims a message, works while the claim renews itself, and releases it. */
export async function withClaim<T>(
  transport: ConversationTransport,
  settings: Settings,
  place: Place,
  work: (claim: Claim) => T | Promise<T>,
  options: ClaimOptions,
): Promise<T> {
  refuseUnknown("withClaim", options, claimNames);
  const held = await HeldClaim.take(transport, settings, place, newKey(), options);
  const ends = linkedAbort(held.lost, options.signal);
  try {
    const result = await work({ messageId: place.messageId, fence: held.fence, signal: ends.signal });
    held.lost.throwIfAborted();
    return result;
  } finally {
    ends.release();
    await held.release();
  }
}

/** A claim that renews itself from its making until it is released, lost or answered. */
export class HeldClaim {
  readonly #lost = new AbortController();
  readonly #ended = new AbortController();
  readonly #renewing: Promise<void>;

  private constructor(
    private readonly transport: ConversationTransport,
    private readonly settings: Settings,
    private readonly place: Place,
    readonly fence: number,
    private readonly ttlSeconds: number,
    asked: number,
  ) {
    this.#renewing = this.#renew(asked).catch((error: unknown) => {
      if (!this.#ended.signal.aborted && !(error instanceof AnsweredError)) {
        this.#lost.abort(lost(error));
      }
    });
  }

  /** Claims a message. The key lets a repeated call get the same claim. */
  static async take(
    transport: ConversationTransport,
    settings: Settings,
    place: Place,
    key: string,
    { ttlSeconds = defaultTtl, signal }: ClaimOptions,
  ): Promise<HeldClaim> {
    if (!(Number.isInteger(ttlSeconds) && ttlSeconds >= 1)) {
      throw badField("ttl_seconds", "must be a whole number of 1 or more");
    }
    const asked = settings.clock.now();
    const { fence } = await withRetry(settings, { signal }, (attempt) => transport.claim(place, ttlSeconds, { key }, attempt));
    return new HeldClaim(transport, settings, place, fence, ttlSeconds, asked);
  }

  /** Aborts when the claim is lost. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Ends the renewing of a claim that an answer has ended. */
  async letGo(): Promise<void> {
    this.#ended.abort();
    await this.#renewing;
  }

  /** Ends the renewing, and gives the claim back. It does no harm when that does not get through: the claim then expires. */
  async release(): Promise<void> {
    await this.letGo();
    await withRetry(this.settings, {}, (attempt) => this.transport.releaseClaim(this.place, this.fence, attempt)).catch(
      (error: unknown) => {
        if (!(error instanceof OpenIntentError)) {
          throw error;
        }
      },
    );
  }

  /** Renews three times in the claim's time. Throws when it has ended, or may be over before it could be renewed. */
  async #renew(asked: number): Promise<never> {
    const { clock } = this.settings;
    const { signal } = this.#ended;
    const duration = this.ttlSeconds * 1000;
    const { fence } = this;
    for (;;) {
      await sleep(clock, Math.max(0, asked + duration / renewals - clock.now()), signal);
      const began = clock.now();
      const timeout = Math.max(1, asked + duration - began) / 1000;
      await withRetry(this.settings, { signal, timeout }, (attempt) =>
        this.transport.claim(this.place, this.ttlSeconds, { fence }, attempt),
      );
      asked = began;
    }
  }
}

function lost(error: unknown): ClaimLostError {
  if (error instanceof ClaimLostError) {
    return error;
  }
  const why = error instanceof Error ? error.message : String(error);
  const code = error instanceof OpenIntentError ? error.code : "UNKNOWN";
  return new ClaimLostError({ code, reason: "CLAIM_LOST", message: `The claim is lost: ${why}`, cause: error });
}

import { isFinal } from "../agent/persisting.js";
import { sleep } from "../clock.js";
import { FailedPreconditionError, NotFoundError, OpenIntentError } from "../errors.js";
import { backoff, withRetry } from "../retry.js";
import type { Settings } from "../settings.js";
import type { Attempt } from "../transport.js";
import { Letter, type Mail } from "./mail.js";
import type { MailboxServer, MailDelivery } from "./server.js";

/** How many deliveries that are not for the mailbox are acknowledged together. */
const many = 100;

/** How many requests of the inbox it holds at most. */
const mostRequests = 1_000;

/** How long a probe lasts, in milliseconds. */
const probed = 10_000;

export interface MailReceivingOptions {
  readonly agentId: string;
  /** The name of the subscription. */
  readonly name: string;
  /** The names or ids of the channels of which it takes messages; undefined: all. */
  readonly channels: readonly string[] | undefined;
}

/** How messages come into a mailbox: over one stream. One process of an agent receives; the others stand by, and take over when it ends. */
export class MailReceiving {
  readonly #end = new AbortController();
  #subscription = "";
  #receiving: Promise<void> = Promise.resolve();
  #becomesReady = (): void => {};
  /** Resolves once it has what was due when it began, or stands by. */
  readonly ready = new Promise<void>((resolve) => (this.#becomesReady = resolve));
  /** What ended it, because no other attempt would change that. */
  failure: unknown = null;
  /** Called when something came, or it has failed. */
  changed = (): void => {};
  readonly callbacks = new Set<() => void>();

  constructor(
    private readonly server: MailboxServer,
    private readonly settings: Settings,
    private readonly mail: Mail,
    private readonly options: MailReceivingOptions,
  ) {}

  /** Aborts when it ends. */
  get ended(): AbortSignal {
    return this.#end.signal;
  }

  /** Subscribes, and receives from then on. */
  async begin(): Promise<void> {
    this.#subscription = await this.#call((attempt) => this.server.subscribe(this.options.name, attempt));
    this.#receiving = this.#receive();
  }

  /** Ends the stream, so that another process takes over. */
  async end(): Promise<void> {
    this.#end.abort();
    this.changed();
    await this.#receiving;
  }

  /** Receives on a new stream whenever one is lost, until the mailbox closes. */
  async #receive(): Promise<void> {
    const { clock } = this.settings;
    for (let failures = 1; ; failures++) {
      try {
        await this.#follow(() => (failures = 0));
      } catch (error) {
        if (this.#end.signal.aborted) {
          return;
        }
        if (isFinal(error) || (error as OpenIntentError).code === "CANCELLED") {
          this.failure = error;
          this.#becomesReady();
          this.changed();
          return;
        }
        const wait = backoff(clock, Math.max(1, failures), error as OpenIntentError);
        await sleep(clock, wait, this.#end.signal).catch(() => {}); // It has ended.
      }
    }
  }

  /** Takes in what one stream brings, until it ends. */
  async #follow(accepted: () => void): Promise<void> {
    try {
      for await (const delivery of this.server.deliveries(this.#subscription, accepted, { signal: this.#end.signal })) {
        await this.#takeIn(delivery);
      }
    } catch (error) {
      const ended = error instanceof NotFoundError || error instanceof FailedPreconditionError;
      if (!ended || this.#end.signal.aborted) {
        throw error;
      }
      this.#subscription = await this.#call((attempt) => this.server.subscribe(this.options.name, attempt));
    }
  }

  async #takeIn({ number, received, standingBy, caughtUp, probeId }: MailDelivery): Promise<void> {
    if (probeId !== "") {
      // Whoever probes finds out by themselves if that fails.
      await this.server.confirm(probeId, { signal: this.#end.signal, timeoutMs: probed }).catch(() => {});
    } else if (standingBy) {
      this.mail.standBy();
      this.#becomesReady();
    } else if (caughtUp) {
      await this.#takeInbox();
      this.#becomesReady();
    } else if (received !== null) {
      this.#arrive(new Letter(received, this.settings.clock.now()), number);
    } else {
      this.mail.passOver(number);
    }
    if (this.mail.unacknowledged >= many) {
      await this.acknowledge();
    }
  }

  /**
   * Takes in the requests that the subscription does not bring, because they were sent before it was made, or before the agent took a role or
   * gained access.
   */
  async #takeInbox(): Promise<void> {
    let found = 0;
    for (let cursor: string | undefined; found < mostRequests; ) {
      const from = cursor;
      const page = await this.#call((attempt) => this.server.inbox(from, attempt));
      for (const received of page.requests) {
        found++;
        this.#arrive(new Letter(received, this.settings.clock.now()), 0);
      }
      cursor = page.next;
      if (cursor === undefined) {
        return;
      }
    }
  }

  /** Takes in a message, unless it is the agent's own, deleted, or of a channel that the mailbox leaves out. */
  #arrive(letter: Letter, number: number): void {
    const { sender, deletedAt, channelId } = letter.message;
    const takes = this.options.channels?.includes(channelId) || this.options.channels?.includes(letter.received.channelName);
    if (sender === this.options.agentId || deletedAt !== null || takes === false) {
      this.mail.passOver(number);
    } else if (this.mail.arrive(letter, number)) {
      this.changed();
      this.callbacks.forEach((callback) => callback());
    }
  }

  /** Tells the server which deliveries are done with. One that a replaced stream had sent comes again, and is recognized then. */
  async acknowledge(): Promise<void> {
    for (let numbers = this.mail.acknowledgeable(); numbers.length > 0; numbers = this.mail.acknowledgeable()) {
      try {
        await this.#acknowledgeAll(numbers);
      } catch (error) {
        this.mail.returnNumbers(numbers);
        throw error;
      }
    }
  }

  async #acknowledgeAll(numbers: readonly number[]): Promise<void> {
    for (let left = numbers; left.length > 0; ) {
      const some = left;
      try {
        await this.#call((attempt) => this.server.acknowledge(this.#subscription, some, attempt));
        return;
      } catch (error) {
        if (!(error instanceof OpenIntentError) || ["UNAUTHENTICATED", "PERMISSION_DENIED", "UNAVAILABLE"].includes(error.code)) {
          throw error;
        }
        const first = Number(error.metadata["number"] ?? 0);
        const last = Number(error.metadata["through"] ?? first);
        left = some.filter((number) => number < first || number > last);
        if (error.reason !== "DELIVERY_COMES_AGAIN" || left.length === some.length) {
          return; // The server does not take them: they come again.
        }
      }
    }
  }

  #call<T>(call: (attempt: Attempt) => Promise<T>): Promise<T> {
    return withRetry(this.settings, {}, call);
  }
}

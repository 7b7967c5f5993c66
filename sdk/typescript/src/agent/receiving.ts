import { linkedAbort, sleep, type Clock } from "../clock.js";
import type { Digest } from "../conversation-types.js";
import { FailedPreconditionError, isRetryable, NotFoundError } from "../errors.js";
import { RecentIds } from "../recent.js";
import { backoff } from "../retry.js";
import { Acknowledging } from "./acknowledging.js";
import { Arrival } from "./arrival.js";
import { isForHandlers } from "./message.js";
import { isFinal, persist } from "./persisting.js";
import type { AgentServer, AgentSubscription, Delivery, Received } from "./server.js";
import { Subscribing, type SubscribingOptions } from "./subscribing.js";
import { mostAside, Turns, type Outcome } from "./turns.js";
import { Workers } from "./workers.js";

/** How many handled messages are remembered, to recognize repetitions. */
const remembered = 10_000;

/** How long the stream comes first, before the rest of the inbox is read, in milliseconds. */
const streamFirst = 1_000;

/** How long after it looked into the inbox an agent that leaves waits for deliveries at most, in milliseconds. */
const onItsWay = 5_000;

/** How long a probe lasts, in milliseconds. */
const probed = 10_000;

export interface ReceivingOptions extends SubscribingOptions {
  agentId: string;
  concurrency: number;
  /** Handles one message; when it throws, the message comes again. */
  handle(received: Received, last: boolean): Promise<Outcome | void>;
  /** Handles a digest. */
  digested?(digest: Digest): Promise<void>;
  /** Called whenever the server has agreed to deliver. */
  accepted(): void;
  /** Called whenever this process became the one that receives. */
  tookOver(): void;
}

/**
 * Receives an agent's messages: what its durable subscription delivers and, whenever this process becomes the one that
 * receives, what waits in the inbox. This process handles each message once, and acknowledges its delivery after that.
 */
export class Receiving {
  readonly #workers: Workers;
  readonly #subscribing: Subscribing;
  readonly #done = new RecentIds(remembered);
  /** Arrivals that wait for a message's or a digest's handling to end, by its id. */
  readonly #underWay = new Map<string, Arrival[]>();
  #acknowledging: Acknowledging | null = null;
  #rest: Promise<void> | null = null;
  /** How many requests wait for another turn. */
  #aside = 0;
  #leaving: AbortSignal | undefined;
  /** The messages that were found in the inbox and handled while their deliveries were on their way. */
  readonly #expected = new Set<string>();
  #lookedAt = 0;
  /** Called when a delivery came. */
  #came = (): void => {};

  constructor(
    private readonly server: AgentServer,
    private readonly clock: Clock,
    private readonly options: ReceivingOptions,
    /** Ends the acknowledging when the agent waits no longer. */
    private readonly end: AbortSignal,
  ) {
    this.#workers = new Workers(options.concurrency);
    this.#subscribing = new Subscribing(server, clock, options);
  }

  /**
   * Receives until the signal aborts or it fails for good, and then takes nothing new. The stream stays open until the agent waits no
   * longer: when it ends, another process that runs the agent takes over, and gets what is not acknowledged.
   */
  async run(signal: AbortSignal): Promise<void> {
    this.#leaving = signal;
    let leave = (): void => {};
    const left = new Promise<never>((_, reject) => {
      leave = () => {
        this.#workers.stop();
        void this.#brought().then(() => reject(signal.reason));
      };
    });
    signal.addEventListener("abort", leave, { once: true });
    if (signal.aborted) {
      leave();
    }
    const receiving = this.#receiveForEver(signal);
    receiving.catch(() => {}); // It goes on when the agent leaves.
    try {
      await Promise.race([left, receiving]);
    } finally {
      signal.removeEventListener("abort", leave);
      this.#workers.stop();
      this.#expected.clear();
      this.#came();
    }
  }

  async #receiveForEver(signal: AbortSignal): Promise<never> {
    for (;;) {
      const subscription = await this.#subscribing.subscription(signal);
      await this.#receive(subscription, signal);
    }
  }

  /**
   * Returns once the deliveries have come of what was found in the inbox a moment ago. Nobody could acknowledge them otherwise, and
   * the agent's next run would handle these messages again.
   */
  #brought(): Promise<void> {
    const left = this.#lookedAt + onItsWay - this.clock.now();
    if (this.#expected.size === 0 || left <= 0) {
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const stop = this.clock.after(left, resolve);
      this.#came = () => {
        if (this.#expected.size === 0) {
          stop();
          resolve();
        }
      };
    });
  }

  /** How many messages are being handled. */
  get running(): number {
    return this.#workers.running;
  }

  /** Returns once every message that was begun is handled and acknowledged. */
  async finished(): Promise<void> {
    await this.#workers.idle();
    await this.#acknowledging?.flushed();
  }

  /** Receives over a subscription until it ends, and reconnects as often as it must. */
  async #receive(subscription: AgentSubscription, signal: AbortSignal): Promise<void> {
    const acknowledging = new Acknowledging(
      this.server,
      this.clock,
      subscription.id,
      this.#outstanding / 4,
      this.end,
      (error) => this.options.log.notAcknowledged(error),
    );
    this.#acknowledging = acknowledging;
    for (let failures = 0; ;) {
      this.end.throwIfAborted();
      try {
        for await (const delivery of this.#deliveries(subscription.id, this.end)) {
          failures = 0;
          if (delivery.probeId !== undefined) {
            this.#confirm(delivery.probeId);
          } else if (delivery.standingBy) {
            this.options.log.standsBy();
          } else if (delivery.number === 0) {
            this.options.log.receives();
            await this.#takeOver(subscription, signal).catch((error: unknown) => {
              if (!signal.aborted) {
                throw error;
              }
            });
          } else {
            this.#take(delivery, subscription.id, acknowledging);
          }
        }
      } catch (error) {
        this.end.throwIfAborted();
        const ended = error instanceof NotFoundError || isEnded(error);
        if (!ended && (isFinal(error) || error instanceof FailedPreconditionError)) {
          throw error;
        }
        this.options.log.disconnected(error);
        if (ended) {
          return;
        }
        await sleep(this.clock, backoff(this.clock, ++failures, isRetryable(error) ? error : undefined), this.end);
      }
    }
  }

  /** Answers a probe beside everything else. Whoever probes finds out by themselves if that fails. */
  #confirm(probeId: string): void {
    this.server.confirm(probeId, { signal: this.end, timeoutMs: probed }).catch(() => {});
  }

  /** How many deliveries may be unacknowledged: those being handled, and more that wait for a place or to be acknowledged. */
  get #outstanding(): number {
    return Math.min(1000, Math.max(100, 4 * this.options.concurrency));
  }

  async *#deliveries(id: string, signal: AbortSignal): AsyncGenerator<Delivery, void> {
    const connection = linkedAbort(signal);
    try {
      const accepted = (): void => this.options.accepted();
      yield* this.server.deliveries(id, this.#outstanding, accepted, { signal: connection.signal });
    } finally {
      connection.abort();
      connection.release();
    }
  }

  /** Takes up what waits in the inbox: what is older than the subscription comes before everything that it brings. */
  async #takeOver(subscription: AgentSubscription, signal: AbortSignal): Promise<void> {
    this.options.tookOver();
    await this.#takeInbox(subscription, signal, ({ message }) => message.createdAt < subscription.createdAt);
    this.#rest ??= this.#takeRest(subscription, signal).finally(() => (this.#rest = null));
  }

  /** Takes up what the subscription did not bring: requests from before the agent took a role or gained access. */
  async #takeRest(subscription: AgentSubscription, signal: AbortSignal): Promise<void> {
    try {
      await sleep(this.clock, streamFirst, signal);
      await this.#takeInbox(subscription, signal, () => true);
    } catch (error) {
      if (!signal.aborted) {
        this.options.log.inboxUnread(error);
      }
    }
  }

  async #takeInbox(
    { createdAt }: AgentSubscription,
    signal: AbortSignal,
    wanted: (received: Received) => boolean,
  ): Promise<void> {
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const failed = (error: unknown): void => this.options.log.inboxUnread(error);
      const page = await persist(this.clock, signal, (attempt) => this.server.inbox(cursor, attempt), failed);
      for (const received of page.requests.filter(wanted)) {
        await this.#workers.room(this.options.concurrency);
        signal.throwIfAborted();
        this.#lookedAt = this.clock.now();
        if (!this.#done.has(received.message.id) && !this.#underWay.has(received.message.id)) {
          this.#underWay.set(received.message.id, []);
          const expected = received.message.createdAt > createdAt;
          this.#workers.add(() => this.#handle(received, new Turns(this.clock, received.message), expected));
        }
      }
      cursor = page.nextCursor;
    }
  }

  /**
   * Takes a delivery. What came with it is handled in turn, messages first and oldest first, and the delivery is done with when all of it
   * has ended. A repetition of a message waits until that message is handled; after that, it is done with.
   */
  #take({ number, received, digest }: Delivery, subscriptionId: string, acknowledging: Acknowledging): void {
    const messages = together(received.filter((one) => isForHandlers(one, this.options.agentId)));
    const arrival = new Arrival(messages.length + (digest === null ? 0 : 1), () => acknowledging.done(number));
    const jobs: (() => Promise<void>)[] = messages
      .filter(({ message }) => this.#isNew(message.id, arrival))
      .map((one) => () => this.#handle(one, new Turns(this.clock, one.message)));
    const digestId = `digest ${number} of ${subscriptionId}`;
    if (digest !== null && this.#isNew(digestId, arrival)) {
      jobs.push(() => this.#handleDigest(digestId, digest));
    }
    if (jobs.length > 0) {
      this.#workers.add(async () => {
        for (const job of jobs) {
          await job();
        }
      });
    } else if (messages.length === 0 && digest === null) {
      acknowledging.done(number);
    }
  }

  /** Whether something is to be handled: it is not under way, and has not been handled. */
  #isNew(id: string, arrival: Arrival): boolean {
    const underWay = this.#underWay.get(id);
    this.#expectNoMore(id);
    if (underWay !== undefined) {
      underWay.push(arrival);
    } else if (this.#done.has(id)) {
      arrival.ended();
    } else {
      this.#underWay.set(id, [arrival]);
      return true;
    }
    return false;
  }

  #expectNoMore(id: string): void {
    if (this.#expected.delete(id)) {
      this.#came();
    }
  }

  /** Says that everything that brought a message or a digest so far is done with. */
  #ended(id: string): void {
    this.#underWay
      .get(id)
      ?.splice(0)
      .forEach((arrival) => arrival.ended());
  }

  async #handleDigest(id: string, digest: Digest): Promise<void> {
    if (!this.end.aborted) {
      await this.options.digested?.(digest);
    }
    if (!this.end.aborted) {
      this.#ended(id);
      this.#done.add(id);
    }
    this.#underWay.delete(id);
  }

  /** Handles a message. `expected` says that it was found in the inbox and that the subscription has it too. */
  async #handle(received: Received, turns: Turns, expected = false): Promise<void> {
    const { id } = received.message;
    if (expected && this.#underWay.get(id)?.length === 0 && this.#expected.size < remembered) {
      this.#expected.add(id);
    }
    try {
      this.end.throwIfAborted();
      const outcome = (await this.options.handle(received, turns.last)) ?? "done";
      this.#ended(id);
      if (outcome === "done") {
        this.#done.add(id);
      } else {
        this.#expectNoMore(id);
        if (this.#aside < mostAside) {
          this.#putAside(received, turns, turns.wait(outcome));
          return;
        }
      }
    } catch (error) {
      this.#expectNoMore(id);
      if (!this.end.aborted) {
        this.options.log.brokeOff(received, error); // It stays unacknowledged.
      }
    }
    this.#underWay.delete(id);
  }

  /** Turns to a request again after a wait. Its deliveries are done with: the inbox has it until it is answered. */
  #putAside(received: Received, turns: Turns, wait: number): void {
    this.#aside++;
    sleep(this.clock, wait, this.#leaving)
      .then(
        () => this.#workers.add(() => this.#handle(received, turns)),
        () => this.#underWay.delete(received.message.id),
      )
      .finally(() => this.#aside--);
  }
}

/** Messages that know the ids of all of them, if there are several. */
function together(messages: readonly Received[]): readonly Received[] {
  const sourceIds = messages.map(({ message }) => message.id);
  return messages.length > 1 ? messages.map((one) => ({ ...one, sourceIds })) : messages;
}

/** Whether a subscription has ended, for example because its agent was deregistered, and must be created again. */
function isEnded(error: unknown): boolean {
  return error instanceof FailedPreconditionError && error.reason === "SUBSCRIPTION_ENDED";
}

import { linkedAbort, sleep } from "./clock.js";
import { ChannelClosedError, connectionLost, errorFrom, isRetryable, type OpenIntentError } from "./errors.js";
import { RecentIds } from "./recent.js";
import { refuseUnknown, type Names } from "./options.js";
import { backoff, callNames, checkTimeout, type CallOptions } from "./retry.js";
import { gotNoConnection, stillAway, timeToConnect } from "./server-away.js";
import type { Settings } from "./settings.js";
import type { Followed, Included, Transport } from "./transport.js";
import type { ChannelMessage } from "./types.js";

/** What to follow of a channel. `timeout` bounds the whole following, in seconds; without it there is no bound. */
export interface FollowOptions extends CallOptions {
  /** Go on after this position; absent: from now on; 0: from the beginning. */
  after?: number;
  /** Whether the client's own messages come too; true unless given. Without an agent, these are the operator's. */
  includeOwn?: boolean;
  /** `attention` says of each message what it asks of this client's agent; `annotations` yields what happens to messages too. */
  include?: readonly Included[];
}

const followNames: Names<FollowOptions> = { ...callNames, after: true, includeOwn: true, include: true };

/** How many ids are remembered, to recognize repetitions where positions do not show them. */
const remembered = 10_000;

/**
 * The messages of a channel as they come, as an async iterator. It ends when the channel is closed and it has yielded
 * everything. With annotations included, those come between the messages; they have no `messageType`. After a lost connection it goes on after the last position; no message comes twice. Other failures end it with
 * their error.
 */
export class Following<T, A = never> implements AsyncIterableIterator<ChannelMessage<T> | A> {
  readonly #transport: Transport;
  readonly #settings: Settings;
  readonly #channelId: string;
  readonly #options: FollowOptions;
  readonly #left = new AbortController();
  readonly #seen = new RecentIds(remembered);
  readonly #source: AsyncGenerator<ChannelMessage<T> | A, void>;
  #position: number | undefined;
  /** Why the last connection was lost, until another one brings something. */
  #failure: OpenIntentError | null = null;
  #first: Promise<IteratorResult<ChannelMessage<T> | A, void>> | null = null;
  #accept: () => void = () => {};
  readonly #accepted = new Promise<void>((resolve) => (this.#accept = resolve));

  constructor(transport: Transport, settings: Settings, channelId: string, options: FollowOptions) {
    refuseUnknown("messages", options, followNames);
    checkTimeout(options.timeout);
    this.#transport = transport;
    this.#settings = settings;
    this.#channelId = channelId;
    this.#options = options;
    this.#position = options.after;
    this.#source = this.#follow();
  }

  /** Where the following stands: to go on later, follow `after` it. Undefined until the server has accepted. */
  get position(): number | undefined {
    return this.#position;
  }

  /**
   * Begins to follow, if it has not begun, and returns once the server has accepted: it yields what is sent from then on.
   * The first `next` begins too.
   */
  async started(): Promise<this> {
    if (this.#first === null) {
      this.#first = this.#source.next();
      this.#first.catch(() => {}); // `next` throws it.
    }
    await Promise.race([this.#accepted, this.#first]);
    return this;
  }

  next(): Promise<IteratorResult<ChannelMessage<T> | A, void>> {
    const first = this.#first;
    if (first !== null && first !== taken) {
      this.#first = taken;
      return first;
    }
    this.#first = taken;
    return this.#source.next();
  }

  /** Leaves the channel, and ends a `next` that waits. */
  async return(): Promise<IteratorResult<ChannelMessage<T> | A, void>> {
    this.#left.abort();
    await this.#source.return();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async *#follow(): AsyncGenerator<ChannelMessage<T> | A, void> {
    const { clock } = this.#settings;
    const whole = linkedAbort(this.#options.signal, this.#left.signal);
    const { timeout } = this.#options;
    const stop = timeout === undefined ? () => {} : clock.after(timeout * 1000, () => whole.abort(this.#ranOut(timeout)));
    const begun = clock.now();
    try {
      for (let failures = 0; ;) {
        try {
          for await (const followed of this.#connection(whole.signal)) {
            failures = 0;
            this.#failure = null;
            if (followed.annotation !== undefined) {
              yield followed.annotation as A;
            }
            if (this.#isNew(followed)) {
              yield followed.message as ChannelMessage<T>;
            }
          }
        } catch (error) {
          whole.signal.throwIfAborted();
          if (!isRetryable(error)) {
            throw error;
          }
          this.#failure = error;
          const wait = backoff(clock, ++failures, error);
          const { server, connectTimeout, outage } = this.#settings;
          outage.failed(error);
          const bound = timeToConnect(connectTimeout, outage.reached, error);
          if (this.#position === undefined && clock.now() + wait - begun > bound * 1000 && gotNoConnection(error)) {
            throw stillAway(server, bound, error, null);
          }
          outage.lasts(error);
          await sleep(clock, wait, whole.signal);
        }
      }
    } catch (error) {
      if (!this.#left.signal.aborted && !(error instanceof ChannelClosedError)) {
        throw error;
      }
    } finally {
      stop();
      whole.release();
    }
  }

  /** The error for a following whose time is over: the server is away, or it just took so long. */
  #ranOut(seconds: number): OpenIntentError {
    return this.#failure === null
      ? errorFrom({ code: "DEADLINE_EXCEEDED", message: "The time to follow the channel ran out." })
      : stillAway(this.#settings.server, seconds, this.#failure, null);
  }

  /** One connection: yields what comes until it is lost. It ends only by throwing why. */
  async *#connection(signal: AbortSignal): AsyncGenerator<Followed, void> {
    const connection = linkedAbort(signal);
    try {
      const accepted = (position: number): void => {
        this.#position ??= position;
        this.#failure = null;
        this.#settings.outage.over();
        this.#accept();
      };
      const attempt = { signal: connection.signal, accepted };
      const { include = [] } = this.#options;
      for await (const followed of this.#transport.follow(this.#channelId, this.#position, include, attempt)) {
        this.#position = followed.position;
        yield followed;
      }
      throw connectionLost("The stream ended without a reason.");
    } finally {
      connection.abort();
      connection.release();
    }
  }

  /** Whether this brings a message that the reader wants and has not had. */
  #isNew({ message }: Followed): boolean {
    if (message === null) {
      return false;
    }
    const own = message.sender === (this.#settings.agentId ?? "operator");
    return this.#seen.add(message.id) && (this.#options.includeOwn !== false || !own);
  }
}

/** Stands for a first result that was handed out. */
const taken = Promise.resolve({ done: true as const, value: undefined });

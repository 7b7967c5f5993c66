import { linkedAbort, sleep } from "../clock.js";
import type { Attention, ResponsePolicy } from "../conversation-types.js";
import {
  badField,
  ClaimedError,
  FailedPreconditionError,
  NotFoundError,
  OpenIntentError,
  PermissionDeniedError,
  UnavailableError,
} from "../errors.js";
import { refuseUnknown, type Names } from "../options.js";
import type { Attempt } from "../transport.js";
import type { Message } from "../types.js";
import { anyChannel, fresh, MailboxCalls, type MailboxPlace } from "./calls.js";
import { charactersOf, fitted } from "./fence.js";
import { Mail, needsClaim, type Letter } from "./mail.js";
import { MailReceiving } from "./receiving.js";
import { toolsOf, type MailboxTool } from "./tools.js";

/** What a mailbox takes, and how much it hands out. */
export interface MailboxOptions {
  /** The names or ids of the channels of which it takes messages; absent: all. A mailbox with others is another one. */
  channels?: readonly string[];
  /** Whether messages say what they ask of the agent; true unless given. */
  attention?: boolean;
  /** How many characters the texts of a batch have at most, 2,000 or more; 4,000 unless given. */
  maxChars?: number;
}

const mailboxNames: Names<MailboxOptions> = { channels: true, attention: true, maxChars: true };

const leastChars = 2_000;
const defaultChars = 4_000;

/** How long the first `take` waits for what the server has, when the server says nothing, in milliseconds. */
const readyPatience = 10_000;

/** A message that a mailbox has handed out. */
export interface MailboxMessage {
  readonly id: string;
  readonly sender: string;
  /** `human` for what a person sent; null for an agent's message. */
  readonly senderKind: string | null;
  /** The channel's name. */
  readonly channel: string;
  readonly intentId: string;
  /** What it asks of the agent; null without attention. */
  readonly policy: ResponsePolicy | null;
  /** Whether somebody waits for the agent's answer. */
  readonly waitsForAnswer: boolean;
  /** Above 1 if it may have been taken before and was not settled. */
  readonly attempt: number;
  /** What a model may be shown: one line of JSON, in which what others wrote can end no value, and a second line if it is cut. */
  readonly text: string;
  /** The message itself, whole. */
  readonly message: Message;
}

/** What one `take` returned, the most important message first. */
export interface Batch {
  readonly messages: readonly MailboxMessage[];
  /**
   * Says that the model has seen the messages and that the step is stored: they do not come again. Those whose ids are in `except` come
   * again at the next `take`. Settling again does nothing.
   */
  settle(options?: { except?: readonly string[] }): Promise<void>;
}

/**
 * Messages for an agent that is running. `take` hands out what came, as texts that a model may be shown; `settle` of its batch says that
 * the model has seen them. What was taken and not settled comes again after a restart. One process of the agent receives; others stand
 * by. Claims that it has taken are renewed for as long as it is open. It opens at the first `take`; close it.
 */
export class Mailbox extends MailboxCalls {
  readonly #receiving: MailReceiving;
  readonly #attends: boolean;
  #opened: Promise<void> | null = null;
  #taking: Promise<unknown> = Promise.resolve();

  constructor(
    place: MailboxPlace,
    options: MailboxOptions,
    nameOf: (channels: readonly string[] | undefined) => string,
    private readonly release: () => void,
  ) {
    refuseUnknown("mailbox", options, mailboxNames);
    const { channels, attention = true, maxChars = defaultChars } = options;
    if (channels !== undefined && (!Array.isArray(channels) || channels.length === 0 || channels.includes(""))) {
      throw badField("channels", "must be a list of one or more names or ids of channels, or be left out for all");
    }
    if (!(Number.isInteger(maxChars) && maxChars >= leastChars)) {
      throw badField("maxChars", `must be a whole number of ${leastChars} or more`);
    }
    const mail = new Mail();
    super(place, mail, maxChars);
    this.#attends = attention;
    const { agentId } = place;
    this.#receiving = new MailReceiving(place.server, place.settings, mail, { agentId, name: nameOf(channels), channels });
  }

  /** Begins to receive, unless it has. */
  open(): Promise<void> {
    if (this.#receiving.ended.aborted) {
      return Promise.reject(new Error("the mailbox is closed; make another one"));
    }
    this.#opened ??= this.#receiving.begin().catch((error: unknown) => {
      this.#opened = null;
      throw error;
    });
    return this.#opened;
  }

  /**
   * Ends receiving, so that another process takes over, and gives its claims back. What was taken and not settled comes again when a
   * mailbox of the agent opens.
   */
  async close(): Promise<void> {
    if (this.#receiving.ended.aborted) {
      return;
    }
    const claims = [...this.claims.values()];
    this.claims.clear();
    await Promise.all(claims.map((claim) => claim.release()));
    if (this.#opened !== null) {
      await this.#receiving.acknowledge().catch(() => {}); // What is not acknowledged comes again.
    }
    await this.#receiving.end();
    this.release();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** How many messages wait, as far as this process knows; to ask takes none. A process that stands by knows of none. */
  get waiting(): number {
    return this.mail.waiting(this.now).length;
  }

  /**
   * Calls back when something came, and at once if something waits. What it returns ends that. The callback must not wait for anything.
   */
  wake(callback: () => void): () => void {
    this.#receiving.callbacks.add(callback);
    if (this.waiting > 0) {
      callback();
    }
    return () => this.#receiving.callbacks.delete(callback);
  }

  /**
   * Hands out what waits, the most important first: urgent messages, then those that wait for an answer, then the rest. While there is
   * nothing, it waits for so many seconds. Empty is no error. The texts of a batch have at most `maxChars` characters together; what does
   * not fit waits for the next `take`. What this process holds is not handed out again.
   */
  take(wait = 0, options: { signal?: AbortSignal } = {}): Promise<Batch> {
    const taking = this.#taking.then(() => this.#take(wait * 1000, options.signal));
    this.#taking = taking.catch(() => {});
    return taking;
  }

  async #take(wait: number, signal: AbortSignal | undefined): Promise<Batch> {
    signal?.throwIfAborted();
    await this.open();
    const until = this.now + wait;
    await Promise.race([this.#receiving.ready, this.#pause(Math.max(wait, readyPatience), signal)]);
    for (;;) {
      const changed = new Promise<void>((resolve) => (this.#receiving.changed = resolve));
      if (this.#receiving.failure !== null) {
        throw this.#receiving.failure;
      }
      const messages = await this.#gathered(signal);
      const left = until - this.now;
      if (messages.length > 0 || left <= 0 || this.#receiving.ended.aborted) {
        return { messages, settle: ({ except = [] } = {}) => this.#settle(messages, except) };
      }
      await Promise.race([changed, this.#pause(Math.min(left, this.mail.nextTurn(this.now) ?? left), signal)]);
    }
  }

  /** Waits for so many milliseconds, or until the mailbox closes. Throws the signal's reason when that aborts. */
  async #pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
    const linked = linkedAbort(this.#receiving.ended, signal);
    try {
      await sleep(this.settings.clock, milliseconds, linked.signal);
    } catch {
      signal?.throwIfAborted();
    } finally {
      linked.release();
    }
  }

  /** Takes as many messages as fit. Nothing is taken before all are known, so a call that is cut short takes none. */
  async #gathered(signal: AbortSignal | undefined): Promise<MailboxMessage[]> {
    const fitting: { letter: Letter; text: string }[] = [];
    let room = this.maxChars;
    for (const letter of this.mail.waiting(this.now)) {
      if (!(await this.#isCurrent(letter))) {
        continue;
      }
      const text = fitted(letter.message, this.#shownAttention(letter), this.maxChars);
      const length = charactersOf(text);
      if (length > room) {
        break;
      }
      if (needsClaim(letter.message) && !(await this.#claimed(letter))) {
        continue;
      }
      room -= length;
      fitting.push({ letter, text });
      signal?.throwIfAborted();
    }
    // Meanwhile another process may have taken over.
    const held = fitting.filter(({ letter }) => this.mail.letter(letter.message.id) === letter);
    return held.map(({ letter, text }) => this.#handed(letter, text));
  }

  #handed(letter: Letter, text: string): MailboxMessage {
    letter.taken = true;
    const { message, attempt, waitsForAnswer } = letter;
    const { channelName, intentId } = letter.received;
    this.channels.set(channelName, message.channelId);
    return {
      id: message.id,
      sender: message.sender,
      senderKind: message.senderKind,
      channel: channelName,
      intentId,
      policy: this.#shownAttention(letter)?.policy ?? null,
      waitsForAnswer,
      attempt,
      text,
      message,
    };
  }

  #shownAttention(letter: Letter): Attention | null {
    return (this.#attends && letter.received.attention) || null;
  }

  /** Reads a message again that has waited for long. Returns false for one that is gone or over, which is done with. */
  async #isCurrent(letter: Letter): Promise<boolean> {
    const now = this.now;
    let gone = false;
    if (now - letter.read > fresh) {
      try {
        letter.message = await this.calls.getMessage(anyChannel, letter.message.id);
        letter.read = now;
        gone = letter.message.deletedAt !== null;
      } catch (error) {
        if (!(error instanceof NotFoundError || error instanceof PermissionDeniedError)) {
          throw error;
        }
        gone = true;
      }
    }
    if (gone || letter.isOver(now)) {
      this.mail.finish(letter.message.id);
      return false;
    }
    return true;
  }

  /**
   * Claims a request that takes an exact number of answers. If others hold the claims on it, it waits; if it has its answers, it is done with.
   */
  async #claimed(letter: Letter): Promise<boolean> {
    try {
      await this.claimOf(letter.message);
      return true;
    } catch (error) {
      if (!(error instanceof OpenIntentError) || error instanceof UnavailableError) {
        throw error;
      }
      if (error instanceof ClaimedError) {
        letter.putOff(this.now);
      } else {
        this.mail.finish(letter.message.id);
      }
      return false;
    }
  }

  async #settle(messages: readonly MailboxMessage[], except: readonly string[]): Promise<void> {
    const taken = messages.filter(({ id }) => this.mail.letter(id)?.taken);
    const seen = taken.filter(({ id }) => !except.includes(id));
    const requests = seen.filter(({ message }) => message.messageType === "request");
    const idsOf = (some: readonly MailboxMessage[]): string[] => some.map(({ id }) => id);
    await this.#each(idsOf(seen), (ids, attempt) => this.server.surface(ids, attempt));
    await this.#each(idsOf(requests), (ids, attempt) => this.server.markRead(ids, attempt));
    seen.forEach(({ id }) => this.mail.finish(id));
    taken.filter(({ id }) => except.includes(id)).forEach(({ id }) => this.mail.putBack(id));
    this.#receiving.changed();
    await this.#receiving.acknowledge();
  }

  /** Marks messages. The server marks all or none, so those among which one is gone are marked in halves. */
  async #each(ids: readonly string[], mark: (ids: readonly string[], attempt: Attempt) => Promise<void>): Promise<void> {
    if (ids.length === 0) {
      return;
    }
    try {
      await this.call((attempt) => mark(ids, attempt));
    } catch (error) {
      const refused =
        error instanceof NotFoundError || error instanceof FailedPreconditionError || error instanceof PermissionDeniedError;
      if (!refused) {
        throw error;
      }
      if (ids.length > 1) {
        const half = Math.floor(ids.length / 2);
        await this.#each(ids.slice(0, half), mark);
        await this.#each(ids.slice(half), mark);
      }
    }
  }

  /**
   * What an agent does with its mailbox, in the form from which frameworks make their tools. They take and return texts, also for what the
   * server refuses. To take and to settle is not among them: that is for the framework's side, which knows when a step is stored.
   */
  tools(): MailboxTool[] {
    return toolsOf(this);
  }
}

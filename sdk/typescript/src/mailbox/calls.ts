import type { AskOptions } from "../asking.js";
import type { ChannelCalls, SendOptions } from "../channel-calls.js";
import { HeldClaim } from "../claims.js";
import type { Reaction } from "../conversation-types.js";
import { AlreadyExistsError, AnsweredError, badField, ClaimedError, MessageDeletedError } from "../errors.js";
import { withRetry } from "../retry.js";
import type { Settings } from "../settings.js";
import type { Attempt, Transport } from "../transport.js";
import type { Channel, Message } from "../types.js";
import { fittedPart } from "./fence.js";
import { needsClaim, type Mail } from "./mail.js";
import type { MailboxServer } from "./server.js";

/**
 * How long a message that waits counts as it came, in milliseconds. Later it is read again before it is handed out, because it may have been
 * edited or deleted.
 */
export const fresh = 10_000;

/** Stands for the channel that a message is in. */
export const anyChannel = "-";

/** The member of the metadata that marks an answer to a message that is no request; its value is that message's id. */
const answerMark = "openintent_answer";

/** Which answer stands. */
export interface Answered {
  /** Whether the call stored it. */
  readonly stored: boolean;
  /** The answer that stands; null if a no stands. */
  readonly message: Message | null;
  /** The note of the no that stands, which may be empty; null if an answer stands. */
  readonly declined: string | null;
}

/** What a mailbox needs of a client. */
export interface MailboxClient extends ChannelCalls {
  readonly intentId: string | undefined;
  listChannels(): Promise<Channel[]>;
}

/** Where a mailbox belongs. */
export interface MailboxPlace {
  readonly calls: MailboxClient;
  readonly transport: Transport;
  readonly settings: Settings;
  readonly server: MailboxServer;
  readonly agentId: string;
}

/** What an agent does with messages by their ids. The mailbox inherits it. */
export class MailboxCalls {
  protected readonly claims = new Map<string, HeldClaim>();
  /** The ids of the channels from which messages came, by their names. */
  protected readonly channels = new Map<string, string>();
  protected readonly calls: MailboxClient;
  protected readonly settings: Settings;
  protected readonly server: MailboxServer;
  readonly agentId: string;
  readonly #transport: Transport;
  #answering: Promise<unknown> = Promise.resolve();

  protected constructor(
    place: MailboxPlace,
    protected readonly mail: Mail,
    protected readonly maxChars: number,
  ) {
    this.calls = place.calls;
    this.settings = place.settings;
    this.server = place.server;
    this.agentId = place.agentId;
    this.#transport = place.transport;
  }

  /**
   * Answers a message: a request by a reply, any other by a message below it to its sender. An agent answers a message once: a second
   * answer, whatever it says and however much later, is not stored, and the first one is returned.
   */
  answer(id: string, payload: object): Promise<Answered> {
    return this.#inTurn(async () => {
      const message = await this.message(id);
      const before = await this.#standing(message);
      if (before !== null) {
        return { stored: false, message: before, declined: null };
      }
      try {
        const stored = await this.#store(message, payload);
        await this.#endClaim(message);
        return { stored: true, message: stored, declined: null };
      } catch (error) {
        const repeated = (error instanceof AlreadyExistsError && !(error instanceof ClaimedError)) || error instanceof AnsweredError;
        const standing = repeated ? await this.#standing(message) : null;
        if (standing === null) {
          throw error;
        }
        return { stored: false, message: standing, declined: null };
      }
    });
  }

  /** Stores an answer. Its key is made of the message alone. The server forgets keys after a day, so the answers were looked at first. */
  async #store(message: Message, payload: object): Promise<Message> {
    const idempotencyKey = `mailbox-answer-${message.id}`;
    if (message.messageType !== "request") {
      const metadata = { [answerMark]: message.id };
      return this.calls.sendMessage(message.channelId, payload, {
        to: message.sender,
        parent: message.id,
        metadata,
        idempotencyKey,
      });
    }
    const fence = needsClaim(message) ? { fence: (await this.claimOf(message)).fence } : {};
    return this.calls.replyTo(message.channelId, message.id, payload, { idempotencyKey, ...fence });
  }

  /** The agent's first answer to a message; null without one. */
  async #standing(message: Message): Promise<Message | null> {
    const asks = message.messageType === "request";
    for (let since: string | undefined = message.id; since !== undefined; ) {
      const from: string = since;
      const page = await this.call((attempt) => this.server.answers(message, from, attempt));
      const found = page.messages.find(
        ({ sender, metadata }) => sender === this.agentId && (asks || metadata[answerMark] === message.id),
      );
      if (found !== undefined) {
        return found;
      }
      since = page.next;
    }
    return null;
  }

  /** Says no to a message, with a note of at most 200 characters. The first no stands, and so does an answer. */
  decline(id: string, note?: string): Promise<Answered> {
    return this.#inTurn(async () => {
      const message = await this.message(id);
      const before = await this.#standing(message);
      if (before !== null) {
        return { stored: false, message: before, declined: null };
      }
      const reactions = await this.calls.listReactions(message.channelId, id);
      const said = reactions.find(({ agentId, signal }) => agentId === this.agentId && signal === "declined");
      if (said !== undefined) {
        return { stored: false, message: null, declined: said.note ?? "" };
      }
      await this.calls.addReaction(message.channelId, id, "declined", note === undefined ? {} : { note });
      await this.claims.get(id)?.release();
      this.claims.delete(id);
      return { stored: true, message: null, declined: note ?? "" };
    });
  }

  /** Lets one call at a time answer or decline. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#answering.then(work);
    this.#answering = turn.catch(() => {});
    return turn;
  }

  /**
   * Claims a message, so that others leave it to this agent, and returns the fence of the claim. It is renewed until the agent answers or
   * declines, or the mailbox closes. @throws ClaimedError if somebody else holds it.
   */
  async claim(id: string): Promise<number> {
    return (await this.claimOf(await this.message(id))).fence;
  }

  /** The claim that is held on a message, or a new one. Its key lets a process that begins again after a crash go on with its claim. */
  protected async claimOf(message: Message): Promise<HeldClaim> {
    const held = this.claims.get(message.id);
    if (held !== undefined && !held.lost.aborted) {
      return held;
    }
    const place = { channelId: message.channelId, messageId: message.id };
    const key = `mailbox-claim-${message.id}`;
    const claim = await HeldClaim.take(this.#transport.conversation, this.settings, place, key, {});
    this.claims.set(message.id, claim);
    return claim;
  }

  /** Ends the claim on a message that is answered: the answer has ended one that it needed. */
  async #endClaim(message: Message): Promise<void> {
    const claim = this.claims.get(message.id);
    this.claims.delete(message.id);
    await (needsClaim(message) ? claim?.letGo() : claim?.release());
  }

  /** Tells the sender of a message that the agent will do it later. It does not bring the message again. */
  async defer(id: string, reason?: string, until?: Date): Promise<void> {
    const message = await this.message(id);
    await this.calls.setDisposition(message.channelId, id, "deferred", {
      ...(reason !== undefined && { reason }),
      ...(until !== undefined && { until }),
    });
  }

  /** Sets a signal on a message, as the client's `react` does. */
  async react(id: string, signal: string, more: { note?: string; eta?: string } = {}): Promise<Reaction[]> {
    const message = await this.message(id);
    return this.calls.addReaction(message.channelId, id, signal, more);
  }

  /**
   * Sends a message on a channel, which is named by its id, or by its name if messages came from it or it is in the client's intent. With an
   * `idempotencyKey` it is stored once for a day.
   */
  async send(channel: string, payload: object, options: SendOptions = {}): Promise<Message> {
    const messageType = options.messageType ?? (options.to === undefined ? "broadcast" : "notify");
    return this.calls.sendMessage(await this.#channelId(channel), payload, { ...options, messageType });
  }

  /** Asks an agent or a role, and returns the first response, as the client's `ask` does. The response does not come into the mailbox, too. */
  async ask(channel: string, to: string, payload: object, options: AskOptions = {}): Promise<Message> {
    const response = await this.calls.ask(await this.#channelId(channel), to, payload, options);
    this.mail.finish(response.id);
    return response;
  }

  /** A message as a model is shown it, from its beginning, or from the cursor of an earlier part on. */
  async read(id: string, cursor = ""): Promise<string> {
    if (!/^\d*$/.test(cursor)) {
      throw badField("cursor", "must be the number that an earlier part of this message named");
    }
    return fittedPart(await this.message(id), Number(cursor), this.maxChars);
  }

  protected async message(id: string): Promise<Message> {
    const letter = this.mail.letter(id);
    if (letter !== undefined && this.now - letter.read <= fresh) {
      return letter.message;
    }
    const message = await this.calls.getMessage(anyChannel, id);
    if (message.deletedAt !== null) {
      const text = `The message ${id} was deleted.`;
      throw new MessageDeletedError({ code: "FAILED_PRECONDITION", reason: "MESSAGE_DELETED", message: text });
    }
    return message;
  }

  async #channelId(channel: string): Promise<string> {
    const known = channel.startsWith("chan_") ? channel : this.channels.get(channel);
    if (known !== undefined) {
      return known;
    }
    const listed = this.calls.intentId === undefined ? [] : await this.calls.listChannels();
    const found = listed.find(({ name, status }) => name === channel && status === "open");
    if (found === undefined) {
      throw badField("channel", `${JSON.stringify(channel)} names no channel that is known here; give a channel's id`);
    }
    return found.id;
  }

  protected get now(): number {
    return this.settings.clock.now();
  }

  protected call<T>(call: (attempt: Attempt) => Promise<T>): Promise<T> {
    return withRetry(this.settings, {}, call);
  }
}

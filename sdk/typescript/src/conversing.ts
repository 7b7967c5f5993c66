import { HeldClaim, withClaim, type Claim, type ClaimOptions } from "./claims.js";
import type { Thread } from "./types.js";
import type { Disposition, Explanation, Place, Reaction } from "./conversation-types.js";
import { refuseUnknown, type Names } from "./options.js";
import { callNames, withRetry, type CallOptions } from "./retry.js";
import type { Settings } from "./settings.js";
import type { Attempt, Transport } from "./transport.js";

/** What an agent says beside a signal. */
export interface ReactOptions extends CallOptions {
  /** Up to 200 characters. */
  note?: string;
  /** When it expects to be done, in its own words; up to 200 characters. */
  eta?: string;
}

const reactNames: Names<ReactOptions> = { ...callNames, note: true, eta: true };

export interface AttentionOptions extends CallOptions {
  /** The recipient; the client's own agent unless given. */
  agentId?: string;
}

const attentionNames: Names<AttentionOptions> = { ...callNames, agentId: true };

export interface DispositionOptions extends CallOptions {
  /** Why; up to 200 characters. */
  reason?: string;
  /** Until when the message is put off; only a deferred one has it. */
  until?: Date;
}

const dispositionNames: Names<DispositionOptions> = { ...callNames, reason: true, until: true };

/** What a client can do with a message after it was sent. All of it may be repeated. */
export class MessageCalls {
  protected constructor(
    protected readonly transport: Transport,
    protected readonly settings: Settings,
  ) {}

  /** Reads the whole thread to which a message belongs, as far as the caller may see it. */
  async getThread(channelId: string, messageId: string, options: CallOptions = {}): Promise<Thread> {
    refuseUnknown("getThread", options, callNames);
    return this.retried(options, (attempt) => this.transport.conversation.getThread(channelId, messageId, attempt));
  }

  /**
   * Reacts to a message: with `seen`, `agree`, `working`, `queued`, `claimed`, `done`, `declined`, `blocked`, `unclear` or one's
   * own `x-...`. Returns all reactions to it.
   */
  async addReaction(channelId: string, messageId: string, signal: string, options: ReactOptions = {}): Promise<Reaction[]> {
    refuseUnknown("react", options, reactNames);
    const { note, eta } = options;
    return this.retried(options, (attempt) =>
      this.transport.conversation.addReaction(channelId, messageId, signal, { note, eta }, attempt),
    );
  }

  /** Takes a signal away, if it is there. Returns all reactions to the message. */
  async removeReaction(channelId: string, messageId: string, signal: string, options: CallOptions = {}): Promise<Reaction[]> {
    refuseUnknown("unreact", options, callNames);
    return this.retried(options, (attempt) =>
      this.transport.conversation.removeReaction(channelId, messageId, signal, attempt),
    );
  }

  /** The reactions to a message, in the order in which they were set. */
  async listReactions(channelId: string, messageId: string, options: CallOptions = {}): Promise<Reaction[]> {
    refuseUnknown("listReactions", options, callNames);
    return this.retried(options, (attempt) => this.transport.conversation.listReactions(channelId, messageId, attempt));
  }

  /** Tells what a message asks of an agent, and by which rules. */
  async getAttention(channelId: string, messageId: string, options: AttentionOptions = {}): Promise<Explanation> {
    refuseUnknown("getAttention", options, attentionNames);
    return this.retried(options, (attempt) =>
      this.transport.conversation.getAttention(channelId, messageId, options.agentId, attempt),
    );
  }

  /** Says what the client's agent did with a message. The last disposition counts. */
  async setDisposition(
    channelId: string,
    messageId: string,
    disposition: Disposition,
    options: DispositionOptions = {},
  ): Promise<void> {
    refuseUnknown("setDisposition", options, dispositionNames);
    const { reason, until } = options;
    return this.retried(options, (attempt) =>
      this.transport.conversation.setDisposition(channelId, messageId, disposition, { reason, until }, attempt),
    );
  }

  /**
   * Claims a message, works while the claim renews itself, and releases it. An answer ends a claim by itself, which is no error.
   *
   * @throws ClaimedError when others hold the message
   * @throws AnsweredError when it has its answers
   * @throws ClaimLostError when the claim was lost; the claim's signal aborts with it
   */
  withClaim<T>(
    channelId: string,
    messageId: string,
    work: (claim: Claim) => T | Promise<T>,
    options: ClaimOptions = {},
  ): Promise<T> {
    return withClaim(this.transport.conversation, this.settings, { channelId, messageId }, work, options);
  }

  /** For this package's runtime of agents: claims a message under a key, and returns the claim, which renews itself. */
  holdClaim(place: Place, key: string, options: ClaimOptions): Promise<HeldClaim> {
    return HeldClaim.take(this.transport.conversation, this.settings, place, key, options);
  }

  protected retried<T>(options: CallOptions, call: (attempt: Attempt) => Promise<T>): Promise<T> {
    return withRetry(this.settings, { signal: options.signal, timeout: options.timeout }, call);
  }
}


import { HeldClaim, withClaim, type Claim, type ClaimOptions } from "./claims.js";
import type { Message, Revision, Thread } from "./types.js";
import type { Discharge, Disposition, Explanation, ObligationSide, Place, Reaction } from "./conversation-types.js";
import { toJsonObject } from "./json.js";
import { refuseUnknown, type Names } from "./options.js";
import { callNames, withRetry, type CallOptions } from "./retry.js";
import type { SearchFilters, SearchPage } from "./searching.js";
import type { Settings } from "./settings.js";
import type { Attempt, EditRequest, Transport } from "./transport.js";

/** What an agent says beside a signal. */
export interface ReactOptions extends CallOptions {
  /** Up to 200 characters. */
  note?: string;
  /** When it expects to be done, in its own words; up to 200 characters. */
  eta?: string;
}

/** The new content of a message. What is absent stays as it is. */
export interface EditOptions extends CallOptions {
  payload?: object;
  /** All facts about the message. */
  metadata?: object;
  /** Up to 200 characters; an empty one takes the subject away. */
  subject?: string;
  /** Agents and `role:` names; an empty list means none. */
  mentions?: readonly string[];
  /** Edits a request although it has an answer. The answer stands. */
  supersede?: boolean;
}

const editNames: Names<EditOptions> = {
  ...callNames,
  payload: true,
  metadata: true,
  subject: true,
  mentions: true,
  supersede: true,
};

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

/** What is said beside a discharge. */
export interface DischargeOptions extends CallOptions {
  /** Up to 200 characters. */
  note?: string;
}

const dischargeNames: Names<DischargeOptions> = { ...callNames, note: true };

const dispositionNames: Names<DispositionOptions> = { ...callNames, reason: true, until: true };

export interface SearchOptions extends CallOptions, SearchFilters {}

const searchNames: Names<SearchOptions> = {
  ...callNames,
  intentId: true,
  channelId: true,
  threadId: true,
  sender: true,
  to: true,
  kind: true,
  after: true,
  before: true,
  limit: true,
  cursor: true,
};

/** What a client can do with a message after it was sent. All of it may be repeated. */
export class MessageCalls {
  protected constructor(
    protected readonly transport: Transport,
    protected readonly settings: Settings,
  ) {}

  /**
   * Finds a page of messages by words, all of which must occur, and "phrases" in double quotes, the newest first, among those that the
   * caller may see.
   */
  async searchMessages(query: string, options: SearchOptions = {}): Promise<SearchPage> {
    refuseUnknown("searchMessages", options, searchNames);
    return this.retried(options, (attempt) => this.transport.conversation.search(query, options, attempt));
  }

  /** Reads the whole thread to which a message belongs, as far as the caller may see it. */
  async getThread(channelId: string, messageId: string, options: CallOptions = {}): Promise<Thread> {
    refuseUnknown("getThread", options, callNames);
    return this.retried(options, (attempt) => this.transport.conversation.getThread(channelId, messageId, attempt));
  }

  /**
   * Gives a message of the client's own new content, and returns it.
   *
   * @throws AnsweredError when the message is a request that has an answer, unless the edit supersedes
   */
  async editMessage(channelId: string, messageId: string, options: EditOptions): Promise<Message> {
    refuseUnknown("edit", options, editNames);
    const { payload, metadata, subject, mentions, supersede } = options;
    const request: EditRequest = {
      channelId,
      messageId,
      ...(payload !== undefined && { payload: toJsonObject(payload, "payload") }),
      ...(metadata !== undefined && { metadata: toJsonObject(metadata, "metadata") }),
      ...(subject !== undefined && { subject }),
      ...(mentions !== undefined && { mentions }),
      ...(supersede !== undefined && { supersede }),
    };
    return this.retried(options, (attempt) => this.transport.conversation.editMessage(request, attempt));
  }

  /**
   * Deletes the content of a message, and all its revisions; its place stays. Its sender may do so, and a manager of the channel.
   * A request expires with it.
   */
  async deleteMessage(channelId: string, messageId: string, options: CallOptions = {}): Promise<Message> {
    refuseUnknown("delete", options, callNames);
    return this.retried(options, (attempt) => this.transport.conversation.deleteMessage({ channelId, messageId }, attempt));
  }

  /** What the content of a message was and is, oldest first; nothing of a deleted one. */
  async listRevisions(channelId: string, messageId: string, options: CallOptions = {}): Promise<Revision[]> {
    refuseUnknown("revisions", options, callNames);
    return this.retried(options, (attempt) => this.transport.conversation.listRevisions({ channelId, messageId }, attempt));
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
   * Closes the obligation of a request. Its sender may do so, its delegate and the operator. Repetitions return what the first one
   * did.
   */
  async discharge(channelId: string, messageId: string, options: DischargeOptions = {}): Promise<Discharge> {
    refuseUnknown("discharge", options, dischargeNames);
    return this.retried(options, (attempt) =>
      this.transport.conversation.discharge({ channelId, messageId }, options.note, attempt),
    );
  }

  /** The open obligations of an agent, oldest first: what it owes, or its role, or what others owe to it. */
  async listObligations(agentId: string, side: ObligationSide = "owes", options: CallOptions = {}): Promise<Message[]> {
    refuseUnknown("listObligations", options, callNames);
    return this.retried(options, (attempt) => this.transport.conversation.listObligations(agentId, side, attempt));
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


import type { ConcernFilters, ConcernPage } from "./concerns.js";
import type {
  Annotation,
  Discharge,
  Disposition,
  Explanation,
  GrantedClaim,
  ObligationSide,
  Place,
  Reaction,
} from "./conversation-types.js";
import type { Said } from "./saying.js";
import type { SearchFilters, SearchPage } from "./searching.js";
import type {
  AccessPolicy,
  AgentPage,
  AgentRecord,
  AgentStatus,
  Channel,
  ChannelMessage,
  ChannelOptions,
  Intent,
  IntentPage,
  IntentStatus,
  JsonObject,
  MemberPolicy,
  Message,
  MessageType,
  Reach,
  Revision,
  Thread,
} from "./types.js";

/** One attempt at a call. */
export interface Attempt {
  /** Ends the attempt; the transport then throws the signal's reason. */
  readonly signal: AbortSignal;
  /** How long the attempt may take, in milliseconds; the transport tells the server if it can. */
  readonly timeoutMs?: number;
  /** The W3C trace context of the span that makes the call. */
  readonly traceparent?: string;
}

export interface CreateChannelRequest {
  intentId: string;
  name: string;
  members: readonly string[];
  memberPolicy: MemberPolicy;
  options: Partial<ChannelOptions>;
  taskId?: string;
  dictatable?: boolean;
}

export interface SendRequest {
  channelId: string;
  payload: JsonObject;
  metadata: JsonObject;
  messageType: MessageType;
  to?: string;
  sender?: string;
  correlationId?: string;
  expiresAt?: Date;
  idempotencyKey: string;
  /** What the message says beside its payload; absent for a plain one. */
  said?: Said;
}

export interface ReplyRequest {
  channelId: string;
  messageId: string;
  payload: JsonObject;
  metadata: JsonObject;
  sender?: string;
  idempotencyKey: string;
  /** What the message says beside its payload; absent for a plain one. */
  said?: Said;
}

export interface AskRequest {
  channelId: string;
  to: string;
  payload: JsonObject;
  metadata: JsonObject;
  timeoutSeconds: number;
  sender?: string;
  idempotencyKey: string;
  /** What the message says beside its payload; absent for a plain one. */
  said?: Said;
}

export interface AskAllRequest extends AskRequest {
  minResponses?: number;
}

export interface ListMessagesRequest {
  channelId: string;
  since?: string;
  to?: string;
  limit?: number;
  messageType?: MessageType;
  correlationId?: string;
  threadId?: string;
}

export interface OpenIntentRequest {
  title: string;
  description?: string;
  defaultPolicy?: AccessPolicy;
}

export interface CreateIntentRequest {
  title: string;
  description?: string;
  status?: IntentStatus;
  constraints?: JsonObject;
  state?: JsonObject;
  parentIntentId?: string;
  dependsOn?: readonly string[];
  defaultPolicy?: AccessPolicy;
}

export interface AcquireLeaseRequest {
  intentId: string;
  scope: string;
  durationSeconds: number;
  waitSeconds: number;
}

/** What the server grants with a lease. */
export interface GrantedLease {
  readonly id: string;
  readonly fence: number;
}

/** What a stream of a channel brings: a message, or only the news that the cursor moved. */
export interface Followed {
  readonly position: number;
  readonly message: ChannelMessage | null;
  /** What happened to a message, if the reader includes annotations. */
  readonly annotation?: Annotation;
}

/** What a reader can have beside messages: what each asks of it, and what happens to them afterwards. */
export type Included = "attention" | "annotations";

export interface FollowAttempt extends Attempt {
  /** Called once, when the server accepted the stream, with the position after which it begins. */
  accepted(position: number): void;
}

/** Which intents a page has. What is absent does not count. */
export interface IntentsRequest {
  status?: IntentStatus;
  /** `asc` for the oldest first, which is so unless given, or `desc`. */
  order?: "asc" | "desc";
  /** The size of the page, 1 to 1,000. */
  limit?: number;
  cursor?: string;
}

/** Which agents a page has. What is absent does not count. */
export interface AgentsRequest {
  role?: string;
  /** `active` unless given. */
  status?: AgentStatus;
  /** Any of these. */
  capabilities?: readonly string[];
  /** The size of the page, 1 to 1,000. */
  limit?: number;
  cursor?: string;
}

/** The new content of a message. What is absent stays as it is. */
export interface EditRequest extends Place {
  payload?: JsonObject;
  metadata?: JsonObject;
  subject?: string;
  mentions?: readonly string[];
  supersede?: boolean;
}

/** The calls on messages. Each method is one attempt, and those that read lists read all their pages. */
export interface ConversationTransport {
  search(query: string, filters: SearchFilters, attempt: Attempt): Promise<SearchPage>;
  getThread(channelId: string, messageId: string, attempt: Attempt): Promise<Thread>;
  editMessage(request: EditRequest, attempt: Attempt): Promise<Message>;
  deleteMessage(place: Place, attempt: Attempt): Promise<Message>;
  listRevisions(place: Place, attempt: Attempt): Promise<Revision[]>;
  addReaction(
    channelId: string,
    messageId: string,
    signal: string,
    more: { note?: string | undefined; eta?: string | undefined },
    attempt: Attempt,
  ): Promise<Reaction[]>;
  removeReaction(channelId: string, messageId: string, signal: string, attempt: Attempt): Promise<Reaction[]>;
  listReactions(channelId: string, messageId: string, attempt: Attempt): Promise<Reaction[]>;
  getAttention(channelId: string, messageId: string, agentId: string | undefined, attempt: Attempt): Promise<Explanation>;
  setDisposition(
    channelId: string,
    messageId: string,
    disposition: Disposition,
    more: { reason?: string | undefined; until?: Date | undefined },
    attempt: Attempt,
  ): Promise<void>;
  discharge(place: Place, note: string | undefined, attempt: Attempt): Promise<Discharge>;
  listObligations(agentId: string, side: ObligationSide, attempt: Attempt): Promise<Message[]>;
  /** Claims a message under a key, or renews the claim with this fence. */
  claim(
    place: Place,
    ttlSeconds: number,
    which: { key?: string; fence?: number },
    attempt: Attempt,
  ): Promise<GrantedClaim>;
  releaseClaim(place: Place, fence: number, attempt: Attempt): Promise<void>;
}

/**
 * How a client reaches the server. Each method is one attempt, and throws an OpenIntentError; its caller decides whether to
 * try again, and when.
 */
export interface Transport {
  createChannel(request: CreateChannelRequest, attempt: Attempt): Promise<Channel>;
  listChannels(intentId: string, attempt: Attempt): Promise<Channel[]>;
  getChannel(channelId: string, attempt: Attempt): Promise<Channel>;
  closeChannel(channelId: string, attempt: Attempt): Promise<Channel>;
  sendMessage(request: SendRequest, attempt: Attempt): Promise<Message>;
  replyMessage(request: ReplyRequest, attempt: Attempt): Promise<Message>;
  listMessages(request: ListMessagesRequest, attempt: Attempt): Promise<Message[]>;
  getMessage(channelId: string, messageId: string, attempt: Attempt): Promise<Message>;
  markRead(channelId: string, messageId: string, attempt: Attempt): Promise<Message>;
  ask(request: AskRequest, attempt: Attempt): Promise<Message>;
  askAll(request: AskAllRequest, attempt: Attempt): Promise<Message[]>;
  /**
   * The responses to an earlier request; waits up to `waitSeconds`, 600 at most, while there are fewer than `minResponses`. With `heedsNo`
   * the wait also ends when the one agent that was asked has said no.
   */
  awaitResponses(
    channelId: string,
    messageId: string,
    waitSeconds: number,
    minResponses: number,
    attempt: Attempt,
    heedsNo?: boolean,
  ): Promise<Message[]>;
  acquireLease(request: AcquireLeaseRequest, attempt: Attempt): Promise<GrantedLease>;
  renewLease(intentId: string, leaseId: string, durationSeconds: number, attempt: Attempt): Promise<void>;
  releaseLease(intentId: string, leaseId: string, attempt: Attempt): Promise<void>;
  createIntent(request: CreateIntentRequest, attempt: Attempt): Promise<Intent>;
  openIntent(request: OpenIntentRequest, attempt: Attempt): Promise<Intent>;
  listIntents(request: IntentsRequest, attempt: Attempt): Promise<IntentPage>;
  listAgents(request: AgentsRequest, attempt: Attempt): Promise<AgentPage>;
  getAgent(agentId: string, attempt: Attempt): Promise<AgentRecord>;
  getReach(agentId: string, attempt: Attempt): Promise<Reach>;
  listConcerns(filters: ConcernFilters, attempt: Attempt): Promise<ConcernPage>;
  getIntent(intentId: string, attempt: Attempt): Promise<Intent>;
  setIntentStatus(intentId: string, status: IntentStatus, expectedVersion: number, attempt: Attempt): Promise<Intent>;
  /**
   * Follows a channel, from after a position or, without one, from now on. It ends only by throwing: ChannelClosedError
   * when the channel is closed and everything has come, UnavailableError when the connection was lost.
   */
  follow(
    channelId: string,
    after: number | undefined,
    include: readonly Included[],
    attempt: FollowAttempt,
  ): AsyncIterable<Followed>;
  /** The calls on messages after they were sent. */
  readonly conversation: ConversationTransport;
  /** Lets go of connections. */
  close(): void;
}

import type { Attention, Conversation } from "./conversation-types.js";

/** A value that JSON can hold. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;

/** A JSON object: what payloads, metadata and states are on the wire. */
export interface JsonObject {
  [name: string]: JsonValue;
}

/** What a message is for: a question, its answer, information for one, or for everybody. */
export type MessageType = "request" | "response" | "notify" | "broadcast";

/** How far a message came. */
export type MessageStatus = "pending" | "delivered" | "read" | "expired";

/** Who may take part in a channel: listed members only, or any agent with access to the intent. */
export type MemberPolicy = "explicit" | "intent";

export type ChannelStatus = "open" | "closed";

/** What an agent may do when no entry of an intent's access control list names it: read, or nothing. */
export type AccessPolicy = "open" | "closed";

export type IntentStatus = "draft" | "active" | "blocked" | "completed" | "abandoned" | "suspended_awaiting_input";

/**
 * A message on a channel. `T` is the payload's shape as the program knows it; it is not checked.
 *
 * Times are exact to the millisecond, while the server's are to the microsecond: go by positions or ids for order.
 */
export interface Message<T = JsonObject> extends Conversation {
  readonly id: string;
  readonly channelId: string;
  readonly sender: string;
  /** An agent, `role:<role_id>`, `*`, or null for everybody. */
  readonly to: string | null;
  readonly messageType: MessageType;
  /** For a response: the request's id. */
  readonly correlationId: string | null;
  readonly payload: T;
  readonly metadata: JsonObject;
  readonly status: MessageStatus;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly readAt: Date | null;
  /** Whether it is a response that says that the responder's handler failed: `payload.error.message` has the text. */
  readonly isError: boolean;
}

/** A message as a stream brings it. */
export interface ChannelMessage<T = JsonObject> extends Message<T> {
  readonly intentId: string;
  readonly channelName: string;
  /** The place in the intent's log: follow on `after` this one. */
  readonly position: number;
  /** What it asks of the reader, if the reader includes attention. */
  readonly attention: Attention | null;
}

/** A thread as its reader sees it. */
export interface Thread {
  /** Null when the reader may not see it. */
  readonly root: Message | null;
  readonly messages: readonly Message[];
  readonly participants: readonly string[];
  /** The place of its newest message in the intent's log. */
  readonly lastPosition: number;
}

/** What the content of a message was from one edit to the next. */
export interface Revision {
  /** Counts from 1. */
  readonly revision: number;
  readonly payload: JsonObject;
  readonly metadata: JsonObject;
  readonly subject: string | null;
  readonly mentions: readonly string[];
  readonly createdAt: Date;
}

/** A channel's settings. */
export interface ChannelOptions {
  /** Whether every message is also recorded in the intent's event log. */
  readonly audit: boolean;
  /** How long the channel stays open after its last message, in seconds; null: until the intent ends. */
  readonly ttlSeconds: number | null;
  /** How many messages are listed; older ones are evicted. */
  readonly maxMessages: number;
  /** What members added later see: everything that is listed, or only what is sent after they were added. */
  readonly history: ChannelHistory;
  /** How many messages two agents alone may exchange within 10 minutes before the loop brake is put on; 0: there is no brake. */
  readonly turnBudget: number;
  /**
   * How often agents may set each other to work within 10 minutes, in a thread or outside threads, before they are braked; 0: there is no
   * brake; null: nobody has set it, which means 60 in a thread and 200 outside.
   */
  readonly conversationBudget: number | null;
}

/** What a member sees of the messages that were sent before a manager added it. */
export type ChannelHistory = "all" | "from_join";

/** A named message stream inside an intent, as it was when it was read. */
export interface Channel {
  readonly id: string;
  readonly intentId: string;
  /** Such as `VK47`, for a channel that was created as dictatable; null for others. */
  readonly address: string | null;
  readonly taskId: string | null;
  readonly name: string;
  readonly createdBy: string;
  readonly members: readonly string[];
  readonly memberPolicy: MemberPolicy;
  readonly options: ChannelOptions;
  readonly status: ChannelStatus;
  readonly createdAt: Date;
  readonly closedAt: Date | null;
  /** How many messages have ever been sent on it. */
  readonly messageCount: number;
  readonly lastMessageAt: Date | null;
}

/** A goal that agents share. */
export interface Intent {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly status: IntentStatus;
  readonly createdBy: string;
  readonly constraints: JsonObject;
  readonly state: JsonObject;
  /** How sure its agents are of reaching it, 0 to 100. */
  readonly confidence: number;
  /** Starts at 1 and grows with each change of state, status or dependencies. */
  readonly version: number;
  readonly parentIntentId: string | null;
  readonly dependsOn: readonly string[];
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Whether a response says, in its metadata, that the responder's handler failed. */
export function saysFailure(messageType: MessageType, metadata: JsonObject): boolean {
  return messageType === "response" && metadata["openintent_error"] === true;
}

/** Where an agent stands. */
export type AgentStatus = "registering" | "active" | "draining" | "unhealthy" | "dead" | "deregistered";

/** What the server knows of an agent. */
export interface AgentRecord {
  readonly id: string;
  readonly role: string | null;
  readonly name: string | null;
  readonly status: AgentStatus;
  /** What the agent says that it is doing. */
  readonly statusNote: string | null;
  readonly capabilities: readonly string[];
  readonly registeredAt: Date;
  readonly lastHeartbeatAt: Date | null;
}

/** A page of agents, by id. `nextCursor` goes on; it is null on the last page. `total` ends at 10,000. */
export interface AgentPage {
  readonly agents: readonly AgentRecord[];
  readonly total: number;
  readonly nextCursor: string | null;
}

/** A page of the intents that the caller may read. `nextCursor` goes on; it is null on the last page. `total` ends at 10,000. */
export interface IntentPage {
  readonly intents: readonly Intent[];
  readonly total: number;
  readonly nextCursor: string | null;
}

/**
 * Whether anybody would hear what is sent to an agent: `live` says that something of it waits for messages now, `wakeable` that something can
 * wake it, `none` that no way to it is open (what is sent to it is stored, and waits), and `unknown` that nobody has called in its name for 30
 * days, or ever.
 */
export type ReachLevel = "unknown" | "none" | "wakeable" | "live";

/** One open way to an agent. */
export interface ReachPath {
  /** `stream`, `wait`, `c2a`, `webhook`, `wake` or `listen`. */
  readonly kind: string;
  /** Since when such a way has been open. */
  readonly since: Date;
  /** When its other end last proved that it is there. */
  readonly provenAt: Date | null;
}

/** What must be answered and was handed to nothing of the agent's yet. */
export interface ReachWaiting {
  /** How many, up to 100. */
  readonly count: number;
  /** When the oldest of them was sent. */
  readonly oldestAt: Date | null;
}

/** What the server knows of the ways to an agent. What is not known is null. */
export interface Reach {
  readonly agentId: string;
  readonly level: ReachLevel;
  /** The open ways, one for each kind. */
  readonly paths: readonly ReachPath[];
  /** When the agent last made a call of any kind, to within 10 seconds, as are the other two. */
  readonly lastHeardAt: Date | null;
  /** When a message was last handed to a way to it. */
  readonly lastOfferedAt: Date | null;
  /** When its harness last said that its model saw a message. */
  readonly lastSurfacedAt: Date | null;
  /** How long its last 20 messages took from the one to the other, as a median; null below three. */
  readonly surfacesInMs: number | null;
  /** Only the agent itself and the operator see it. */
  readonly waiting: ReachWaiting | null;
}

/** A role, and the ids of the active agents that hold it. Messages to `role:ROLE` reach them. */
export interface Role {
  readonly id: string;
  readonly agents: readonly string[];
}

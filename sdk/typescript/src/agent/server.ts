import type { Attempt } from "../transport.js";
import type { Message } from "../types.js";

/** A message that an agent is given, with where it came from. */
export interface Received {
  readonly message: Message;
  readonly intentId: string;
  readonly channelName: string;
  /** The place in the intent's log; null for what the inbox gave, which does not say it. */
  readonly position: number | null;
  /** Which attempt at the delivery this is, from 1. */
  readonly attempt: number;
}

/** One delivery of a subscription. */
export interface Delivery {
  /** Acknowledge it by this. 0 is no delivery: it says that from now on it is this stream that receives. */
  readonly number: number;
  /** Null when what was delivered is no message. */
  readonly received: Received | null;
}

/** The durable subscription over which an agent receives. */
export interface AgentSubscription {
  readonly id: string;
  readonly createdAt: Date;
  readonly active: boolean;
}

/** A page of what waits in an agent's inbox: requests that the agent has neither answered nor read. */
export interface InboxPage {
  readonly requests: readonly Received[];
  readonly nextCursor: string | undefined;
}

/** What the server says to a heartbeat. */
export interface Heartbeat {
  /** In how many milliseconds the next one is due. */
  readonly interval: number;
  /** Whether the server has the agent draining. */
  readonly draining: boolean;
}

/** What the server does for the runtime of an agent. Each method is one attempt, and throws an OpenIntentError. */
export interface AgentServer {
  /** Registers the agent, or updates its record; gives how often it is to send a heartbeat, in milliseconds. */
  register(attempt: Attempt): Promise<number>;
  /** Says that the agent lives. */
  heartbeat(status: "active" | "draining", attempt: Attempt): Promise<Heartbeat>;
  /** Takes the agent out of service. What waits for it expires. */
  deregister(attempt: Attempt): Promise<void>;
  /** Makes the subscription; undefined when there is one of that name. */
  createSubscription(attempt: Attempt): Promise<AgentSubscription | undefined>;
  findSubscription(attempt: Attempt): Promise<AgentSubscription | undefined>;
  deleteSubscription(id: string, attempt: Attempt): Promise<void>;
  /** Receives. It ends only by throwing; `accepted` is called when the server accepted. */
  deliveries(id: string, maxOutstanding: number, accepted: () => void, attempt: Attempt): AsyncIterable<Delivery>;
  acknowledge(id: string, numbers: readonly number[], attempt: Attempt): Promise<void>;
  inbox(cursor: string | undefined, attempt: Attempt): Promise<InboxPage>;
}

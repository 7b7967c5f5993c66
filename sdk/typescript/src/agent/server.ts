import type { Attention, Digest } from "../conversation-types.js";
import type { Attempt } from "../transport.js";
import type { Message } from "../types.js";

/** A message that an agent is given, with where it came from. */
export interface Received {
  readonly message: Message;
  readonly intentId: string;
  readonly channelName: string;
  /** The place in the intent's log; null for a message from the inbox, which does not say it. */
  readonly position: number | null;
  /** Which attempt at the delivery this is, from 1. */
  readonly attempt: number;
  /** What it asks of the agent, if the agent wants to know. */
  readonly attention?: Attention | null;
  /** The ids of the messages that came with one delivery, oldest first; none for a message that came by itself. */
  readonly sourceIds?: readonly string[];
}

/** One delivery of a subscription. */
export interface Delivery {
  /** Names it when it is acknowledged. 0 is not a delivery: it says that this is now the stream that receives, or stands by. */
  readonly number: number;
  /** Tells that another stream receives. The number is 0 then. */
  readonly standingBy: boolean;
  /** Its messages, oldest first; none when it is an event. Several have waited for their sender to pause. */
  readonly received: readonly Received[];
  /** A summary of messages that are not for the agent; null for most deliveries. */
  readonly digest: Digest | null;
  /** A probe, which asks whether this process reads its stream. The number is 0 then, and says nothing else. */
  readonly probeId?: string;
}

/** How messages wait before a subscription delivers them. */
export interface Waiting {
  /** Whether they wait until their sender pauses. */
  readonly compose?: boolean | undefined;
  /** For how many seconds those that are not for the agent are gathered into one digest; undefined for no digests. */
  readonly digestSeconds?: number | undefined;
  /** How many characters a digest has at most. */
  readonly maxChars?: number | undefined;
}

/** The durable subscription over which an agent receives. */
export interface AgentSubscription extends Waiting {
  readonly id: string;
  readonly createdAt: Date;
  readonly active: boolean;
  /** Whether its messages come with what they ask of the agent. */
  readonly attends?: boolean;
}

/** A page of what waits in an agent's inbox: requests that the agent has neither answered nor read. */
export interface InboxPage {
  readonly requests: readonly Received[];
  readonly nextCursor: string | undefined;
}

/** What the server says to a heartbeat. */
export interface Heartbeat {
  /** How many milliseconds from now the next one is due. */
  readonly interval: number;
  /** Whether the agent is draining in the server's record. */
  readonly draining: boolean;
}

/** What the server does for the runtime of an agent. Each method is one attempt, and throws an OpenIntentError. */
export interface AgentServer {
  /** Registers the agent, or updates its record. Returns the interval of its heartbeats, in milliseconds. */
  register(attempt: Attempt): Promise<number>;
  /** Says that the agent lives and, with a note, what it is doing. */
  heartbeat(status: "active" | "draining", note: string | undefined, attempt: Attempt): Promise<Heartbeat>;
  /** Takes the agent out of service. What waits for it expires. */
  deregister(attempt: Attempt): Promise<void>;
  /** Creates the subscription. Returns undefined when there is one of that name. */
  createSubscription(attempt: Attempt): Promise<AgentSubscription | undefined>;
  findSubscription(attempt: Attempt): Promise<AgentSubscription | undefined>;
  deleteSubscription(id: string, attempt: Attempt): Promise<void>;
  /** Receives. It ends only by throwing; `accepted` is called once the server has accepted. */
  deliveries(id: string, maxOutstanding: number, accepted: () => void, attempt: Attempt): AsyncIterable<Delivery>;
  acknowledge(id: string, numbers: readonly number[], attempt: Attempt): Promise<void>;
  /** Answers a probe. */
  confirm(probeId: string, attempt: Attempt): Promise<void>;
  /** Says that the agent's model saw messages, 1,000 at most. */
  surface(ids: readonly string[], attempt: Attempt): Promise<void>;
  inbox(cursor: string | undefined, attempt: Attempt): Promise<InboxPage>;
}

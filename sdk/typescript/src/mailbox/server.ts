import type { Received } from "../agent/server.js";
import type { Attempt } from "../transport.js";
import type { Message } from "../types.js";

/** What the stream of a mailbox brings. */
export interface MailDelivery {
  /** Names it when it is acknowledged; 0 for what the server says of the stream. */
  readonly number: number;
  /** Its message; null for what has none. */
  readonly received: Received | null;
  /** Tells that another stream receives. */
  readonly standingBy: boolean;
  /** Tells that everything has come that was due when this became the stream that receives. */
  readonly caughtUp: boolean;
  /** A probe, which asks whether this process reads its stream. */
  readonly probeId: string;
}

/** A page of messages, and where the next one begins; undefined: this is the last. */
export interface AnswersPage {
  readonly messages: readonly Message[];
  readonly next: string | undefined;
}

/** What the server does for a mailbox. Each method is one attempt, and throws an OpenIntentError. */
export interface MailboxServer {
  /** Returns the id of the mailbox's subscription, and makes it when it is missing or has ended. */
  subscribe(name: string, attempt: Attempt): Promise<string>;
  /** Receives. It ends only by throwing; `accepted` is called once the server has accepted. */
  deliveries(subscription: string, accepted: () => void, attempt: Attempt): AsyncIterable<MailDelivery>;
  acknowledge(subscription: string, numbers: readonly number[], attempt: Attempt): Promise<void>;
  confirm(probeId: string, attempt: Attempt): Promise<void>;
  /** Says that the agent's model saw messages. */
  surface(ids: readonly string[], attempt: Attempt): Promise<void>;
  /** Says that the agent has read messages. */
  markRead(ids: readonly string[], attempt: Attempt): Promise<void>;
  /** The requests that the agent has neither answered nor read. */
  inbox(cursor: string | undefined, attempt: Attempt): Promise<{ requests: readonly Received[]; next: string | undefined }>;
  /** The messages after one: its responses, or those of its thread. */
  answers(message: Message, since: string, attempt: Attempt): Promise<AnswersPage>;
}

/** How urgent a sender finds its message. */
export type Priority = "low" | "normal" | "high" | "urgent";

/** How far a message is meant for one recipient. */
export type Directedness = "to_me" | "to_my_role" | "ambient";

/** Whether a recipient may answer a message, or must. */
export type ResponsePolicy = "must_respond" | "may_respond" | "ack_only" | "must_not_respond";

/** How a harness should bring a message before its model, from the loudest to the quietest. */
export type Injection = "immediate" | "buffered" | "notify" | "digest" | "tool_mailbox";

/** A summary of messages that are not for the agent. Whoever wants to read them lists them by their positions. */
export interface Digest {
  /** How many messages it sums up. */
  readonly messageCount: number;
  /** How many came from whom: each sender's highest count first, then each one's second, and so on. */
  readonly counts: readonly DigestCount[];
  /** The subjects of the newest messages that have one, newest first. */
  readonly subjects: readonly { readonly messageId: string; readonly subject: string }[];
  /** Where in the logs of their intents the messages are. */
  readonly spans: readonly { readonly intentId: string; readonly firstPosition: number; readonly lastPosition: number }[];
  /** How many of the messages are in no count, because the digest would have become too long. */
  readonly leftOutCount: number;
  /** That nobody waits for an answer: `must_not_respond`, or `may_respond` if a message in it mentions the agent. */
  readonly attention: Attention | null;
  /** Which attempt at the delivery this is, from 1. */
  readonly attempt: number;
}

/** How many messages of one kind one sender sent on one channel. The kind is empty for messages without one. */
export interface DigestCount {
  readonly channelId: string;
  readonly channelName: string;
  readonly sender: string;
  readonly kind: string;
  readonly count: number;
}

/** How many answers a request takes: the first one of many (`any`), exactly one, one of each recipient, or exactly so many. */
export type Collect = "any" | "one" | "all" | { quorum: number };

/** What stands still until an obligation is discharged. */
export type Blocks = "halted" | "degraded" | "none";

/** Keeps a request open until its sender, the delegate or the operator discharges it. */
export interface Obligation {
  /** `none` unless given. */
  readonly blocks?: Blocks;
  /** An agent that may discharge it too; naming it shows it nothing. */
  readonly delegate?: string | null;
}

/** Who closed the obligation of a request, and when. */
export interface Discharge {
  readonly messageId: string;
  readonly agentId: string;
  readonly note: string | null;
  readonly dischargedAt: Date;
}

/** What an agent owes to others (or its role does), or what others owe to it. */
export type ObligationSide = "owes" | "owed";

/** What a recipient did with a message. An answer makes it `responded` by itself. */
export type Disposition = "responded" | "acknowledged" | "deferred" | "claimed" | "ignored" | "superseded" | "failed";

/** What a message says beside its payload. Null stands for what its sender did not say. */
export interface Conversation {
  /** The message that it belongs under. */
  readonly parentId: string | null;
  /** The first message of its thread. */
  readonly threadId: string | null;
  readonly subject: string | null;
  readonly kind: string | null;
  readonly taskId: string | null;
  readonly priority: Priority | null;
  /** Agents and `role:` names, given by the sender or found in the text. */
  readonly mentions: readonly string[];
  readonly collect: Collect | null;
  readonly obligation: Obligation | null;
  readonly directedness: Directedness | null;
  readonly policy: ResponsePolicy | null;
  /** Null while nobody has edited it, and above 1 afterwards. */
  readonly revision: number | null;
  /** Whether it was sent as a document of the channel. */
  readonly document: boolean;
  /** `human` for what a person sent; null for an agent's message. */
  readonly senderKind: string | null;
  readonly editedAt: Date | null;
  readonly deletedAt: Date | null;
}

/** What a plain message says. */
export const nothingMore: Conversation = {
  parentId: null,
  threadId: null,
  subject: null,
  kind: null,
  taskId: null,
  priority: null,
  mentions: [],
  collect: null,
  obligation: null,
  directedness: null,
  policy: null,
  revision: null,
  document: false,
  senderKind: null,
  editedAt: null,
  deletedAt: null,
};

/** What a message asks of one recipient. `reason` is the rule that decided. */
export interface Attention {
  readonly directedness: Directedness;
  readonly policy: ResponsePolicy;
  readonly injection: Injection;
  readonly reason: string;
  readonly priority: Priority;
  readonly deadlineMs: number | null;
  /** Who works on it; only the holder is told the fence. */
  readonly claim: { readonly holder: string; readonly expiresInMs: number; readonly fence: number | null } | null;
  /** That there is something to read, and nothing of what it says. */
  readonly knock: { readonly from: string; readonly where: string; readonly topic: string; readonly pullWith: string } | null;
}

/** What a message asks of an agent, null for nothing, and by which rules. */
export interface Explanation {
  readonly attention: Attention | null;
  readonly rules: readonly { readonly rule: string; readonly effect: string }[];
}

/** One agent's signal on a message. */
export interface Reaction {
  readonly agentId: string;
  readonly signal: string;
  readonly note: string | null;
  readonly eta: string | null;
  readonly createdAt: Date;
}

/** What happened to a message. The members after `createdAt` are those of its type, and null otherwise. */
export interface Annotation {
  readonly type: string;
  readonly position: number;
  readonly messageId: string;
  readonly channelId: string;
  readonly agentId: string;
  readonly createdAt: Date;
  readonly change: string | null;
  readonly signal: string | null;
  readonly note: string | null;
  readonly eta: string | null;
  readonly revision: number | null;
  readonly expiresAt: Date | null;
  readonly reason: string | null;
  readonly disposition: string | null;
  readonly until: Date | null;
}

/** A claim as the server grants it. */
export interface GrantedClaim {
  readonly fence: number;
  readonly expiresAt: Date;
}

/** Where a message is. */
export interface Place {
  readonly channelId: string;
  readonly messageId: string;
}

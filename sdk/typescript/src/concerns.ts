/** What a concern is about; docs/concerns.md says when there is one of each kind. */
export type ConcernKind =
  | "question"
  | "obligation"
  | "unanswered"
  | "unreachable"
  | "dead_letters"
  | "webhook"
  | "brake"
  | "holder_lost";

/** What the caller may do about a concern; docs/concerns.md says by which calls. */
export type ConcernAction =
  | "answer"
  | "claim"
  | "decline"
  | "defer"
  | "discharge"
  | "withdraw"
  | "invite"
  | "redrive"
  | "drop"
  | "lift"
  | "reassign";

/** What narrows a list of concerns. What is absent narrows nothing. */
export interface ConcernFilters {
  kind?: ConcernKind;
  intentId?: string;
  /** Only concerns that name this agent. */
  agentId?: string;
  /** 1 to 100; 100 unless given. */
  limit?: number;
  /** `nextCursor` of the page before. */
  cursor?: string;
}

/** Something that needs somebody. What does not apply, or is not for the caller to know, is null. */
export interface Concern {
  /** The same as long as the concern lasts. */
  readonly id: string;
  readonly kind: ConcernKind;
  /** Since when; of requests, when they were sent. */
  readonly since: Date;
  readonly intentId: string | null;
  readonly channelId: string | null;
  readonly messageId: string | null;
  readonly agentId: string | null;
  readonly subscriptionId: string | null;
  readonly taskId: string | null;
  /** One sentence for people. */
  readonly summary: string;
  /** What the caller may do about it now. */
  readonly actions: readonly ConcernAction[];
}

/** A page of concerns, the oldest first. It may be empty and not the last. */
export interface ConcernPage {
  readonly concerns: readonly Concern[];
  /** Goes on; null on the last page. */
  readonly nextCursor: string | null;
}

import { get, part } from "./client.ts";
import { follow } from "./follow.ts";
import { list, type Listed } from "./list.ts";
import type { Annotation, Message, Reaction } from "./types.ts";

// What the server tells of a request: what became of it with each recipient, what has happened to it, and what it asks of an agent.

/** What became of a message with one recipient. */
export interface Delivery {
  agent_id: string;
  status: string;
  stored_at: string;
  offered_at: string | null;
  read_at: string | null;
  answered_at: string | null;
  expired_at: string | null;
  dead_lettered_at: string | null;
  dead_letter_reason: string | null;
  surfaced_at: string | null;
  disposition: string | null;
  disposed_at: string | null;
}

export interface Rule {
  rule: string;
  effect: string;
}

/** What a message asks of an agent. All but the rules are null if it asks nothing. */
export interface Explanation {
  directedness: "to_me" | "to_my_role" | "ambient" | null;
  policy: "must_respond" | "may_respond" | "ack_only" | "must_not_respond" | null;
  injection: "immediate" | "buffered" | "notify" | "digest" | "tool_mailbox" | null;
  reason: string | null;
  deadline_ms: number | null;
  claim: { holder: string; expires_in_ms: number } | null;
  rules: Rule[];
}

type Place = Pick<Message, "channel_id" | "id">;

function pathOf(message: Place): string {
  return `v1/channels/${part(message.channel_id)}/messages/${part(message.id)}`;
}

/** listDeliveries says what became of a message; only its sender and the operator are told. */
export function listDeliveries(message: Place, signal?: AbortSignal): Promise<Listed<Delivery>> {
  return list<Delivery>(`${pathOf(message)}/deliveries`, { limit: 200 }, signal);
}

export function listReactions(message: Place, signal?: AbortSignal): Promise<Listed<Reaction>> {
  return list<Reaction>(`${pathOf(message)}/reactions`, undefined, signal);
}

/** explain says what a message asks of an agent, and by which rules. */
export function explain(message: Place, agent: string, signal?: AbortSignal): Promise<Explanation> {
  return get<Explanation>(`${pathOf(message)}/attention`, { agent_id: agent }, signal);
}

const told = "message_reaction,message_claimed,claim_released,message_edited,message_deleted,message_disposition,obligation_discharged";

/** followAnnotations calls back for what has happened to a message from a place in the log on, and for what happens from now on. */
export function followAnnotations(message: Place, after: number, take: (annotation: Annotation) => void, signal: AbortSignal): Promise<void> {
  return follow(
    `v1/subscribe/channels/${part(message.channel_id)}`,
    { query: { include: "annotations", event_types: told }, after: String(after), signal },
    {
      event: (_name, data) => {
        const annotation = JSON.parse(data) as Partial<Annotation>;
        if (annotation.message_id === message.id && annotation.position !== undefined) {
          take(annotation as Annotation);
        }
      },
    },
  );
}

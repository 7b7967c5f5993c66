import { get, part, send } from "./client.ts";
import { list, type Listed } from "./list.ts";
import type { Message } from "./types.ts";

export interface Subscription {
  id: string;
  name: string;
  subscriber_id: string;
  intent_id: string | null;
  channel_id: string | null;
  event_types: string[];
  message_type: string | null;
  webhook_url: string | null;
  use_endpoint: boolean;
  active: boolean;
  acknowledge_seconds: number;
  max_attempts: number;
  created_at: string;
  expires_at: string | null;
  acknowledged_through: number;
  last_number: number;
  outstanding_count: number;
  dead_letter_count: number;
  last_error: string | null;
  paused_reason?: string;
}

export interface DeadLetter {
  delivery: { number: number; attempt: number; channel_name: string; message: Message | null; event: { event_type: string } | null };
  reason: string;
  dead_at: string;
}

/** listSubscriptions lists an agent's subscriptions; without an agent the caller's own, and all if the caller is the operator. */
export function listSubscriptions(agent: string | undefined, cursor?: string, signal?: AbortSignal): Promise<Listed<Subscription>> {
  return list<Subscription>("v1/subscriptions", { subscriber_id: agent, limit: 200, cursor }, signal);
}

export function getSubscription(id: string, signal?: AbortSignal): Promise<Subscription> {
  return get<Subscription>(`v1/subscriptions/${part(id)}`, undefined, signal);
}

/** listDeadLetters lists what a subscription has given up, the oldest first. */
export function listDeadLetters(subscription: string, limit: number, signal?: AbortSignal): Promise<Listed<DeadLetter>> {
  return list<DeadLetter>(`v1/subscriptions/${part(subscription)}/dead_letters`, { limit }, signal);
}

/** redrive makes deliveries due again that were given up: those with these numbers, or all. */
export function redrive(subscription: string, numbers: readonly number[] = []): Promise<Subscription> {
  return send<Subscription>("POST", `v1/subscriptions/${part(subscription)}/dead_letters/redrive`, numbers.length > 0 ? { numbers } : {});
}

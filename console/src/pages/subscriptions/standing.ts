import type { Subscription } from "../../client/subscriptions.ts";

/** laggingBehind is how many stored deliveries of a subscription are neither acknowledged nor given up. */
export function laggingBehind(subscription: Pick<Subscription, "last_number" | "acknowledged_through">): number {
  return Math.max(0, subscription.last_number - subscription.acknowledged_through);
}

/** wayOf says how the deliveries of a subscription come to its agent. */
export function wayOf(subscription: Pick<Subscription, "webhook_url" | "use_endpoint">): string {
  if (subscription.use_endpoint) {
    return "posted to the agent's endpoint";
  }
  return subscription.webhook_url === null ? "the agent comes for it" : `posted to ${hostOf(subscription.webhook_url)}`;
}

/** hostOf shortens an address to its host: the path of a webhook may hold a secret. */
function hostOf(address: string): string {
  try {
    return new URL(address).host;
  } catch {
    return "its webhook";
  }
}

/** needsSomebody reports whether a subscription has given something up, fails, or is paused. */
export function needsSomebody(subscription: Pick<Subscription, "dead_letter_count" | "last_error" | "paused_reason">): boolean {
  return subscription.dead_letter_count > 0 || subscription.last_error !== null || (subscription.paused_reason ?? "") !== "";
}

const pauses: Record<string, string> = {
  KEY_REVOKED: "The key that made it was revoked.",
  KEY_EXPIRED: "The key that made it has expired.",
};

/** whyPaused says why the server posts nothing for now. */
export function whyPaused(reason: string): string {
  return pauses[reason] ?? "The key that made it is gone.";
}

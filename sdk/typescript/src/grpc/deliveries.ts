import type { Received } from "../agent/server.js";
import type { Digest } from "../conversation-types.js";
import type { EarlierMessage, SubscriptionDelivery } from "../generated/openintent/v1/subscriptions_pb.js";
import { toMessage } from "./convert.js";
import { toAttention } from "./conversation-convert.js";

/** The messages of a delivery, oldest first. */
export function receivedBy(delivery: SubscriptionDelivery): Received[] {
  const { attempt } = delivery;
  return [...delivery.earlier, delivery].flatMap((one: EarlierMessage | SubscriptionDelivery) => {
    const { message, intentId, channelName, position } = one;
    const attention = toAttention(one.attention);
    return message
      ? [{ message: toMessage(message), intentId, channelName, position: Number(position), attempt, attention }]
      : [];
  });
}

/** The digest of a delivery; null when it has none. The attention of one with messages beside it is the newest message's. */
export function digestBy({ digest, message, attention, attempt }: SubscriptionDelivery): Digest | null {
  if (digest === undefined) {
    return null;
  }
  const { messageCount, leftOutCount } = digest;
  return {
    messageCount,
    leftOutCount,
    counts: digest.counts.map(({ channelId, channelName, sender, kind, count }) => ({ channelId, channelName, sender, kind, count })),
    subjects: digest.subjects.map(({ messageId, subject }) => ({ messageId, subject })),
    spans: digest.spans.map(({ intentId, firstPosition, lastPosition }) => ({
      intentId,
      firstPosition: Number(firstPosition),
      lastPosition: Number(lastPosition),
    })),
    attention: message ? null : toAttention(attention),
    attempt,
  };
}

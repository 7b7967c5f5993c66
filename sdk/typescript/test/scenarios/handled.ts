import assert from "node:assert/strict";
import type { Digest } from "../../src/exports.js";
import type { ReceivedMessage } from "../../src/index.js";

/** How long a sender is silent before what it wrote is delivered to a subscription that composes, in milliseconds. */
const apart = 3_000;

/**
 * Fails unless messages came with one delivery. Those that the server stored too far apart, or that the agent found in its inbox, may have
 * come by themselves.
 */
export function expectTogether(messages: readonly ReceivedMessage[]): void {
  const far = messages.some(({ createdAt, position }, i) => {
    const before = messages[i - 1];
    return position === null || (before !== undefined && createdAt.getTime() - before.createdAt.getTime() >= apart);
  });
  const ids = messages.map(({ id }) => id);
  for (const { sourceIds } of far ? [] : messages) {
    assert.deepEqual(sourceIds, ids);
  }
}

/** What several digests say, as one. */
export function summed(digests: readonly Digest[]): object {
  const sum = (numbers: number[]): number => numbers.reduce((a, b) => a + b, 0);
  return {
    messageCount: sum(digests.map((digest) => digest.messageCount)),
    leftOutCount: sum(digests.map((digest) => digest.leftOutCount)),
    senders: [...new Set(digests.flatMap(({ counts }) => counts.map(({ sender }) => sender)))].sort(),
    subjects: digests.flatMap(({ subjects }) => subjects.map(({ subject }) => subject)).sort(),
  };
}

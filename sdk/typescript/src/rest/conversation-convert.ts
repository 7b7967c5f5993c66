import type { Annotation, Attention, Conversation, Discharge, Reaction } from "../conversation-types.js";
import type { Said } from "../saying.js";
import type { Revision } from "../types.js";
import { date, object, requiredDate, type Wire } from "./wire.js";

/** Writes what a message says as the members of its request. */
export function bodyOf({ said }: { said?: Said }): Record<string, unknown> {
  if (said === undefined) {
    return {};
  }
  const { parentId, taskId, failFast, ...plain } = said;
  return { parent_id: parentId, task_id: taskId, fail_fast: failFast, ...plain };
}

/** Reads what a message says beside its payload. */
export function toConversation(wire: Wire): Conversation {
  return {
    parentId: wire["parent_id"] ?? null,
    threadId: wire["thread_id"] ?? null,
    subject: wire["subject"] ?? null,
    kind: wire["kind"] ?? null,
    taskId: wire["task_id"] ?? null,
    priority: wire["priority"] ?? null,
    mentions: wire["mentions"] ?? [],
    collect: wire["collect"] ?? null,
    obligation: wire["obligation"] ?? null,
    directedness: wire["directedness"] ?? null,
    policy: wire["policy"] ?? null,
    revision: wire["revision"] ?? null,
    document: wire["document"] ?? false,
    senderKind: wire["sender_kind"] ?? null,
    editedAt: date(wire["edited_at"]),
    deletedAt: date(wire["deleted_at"]),
  };
}

export function toRevision(value: unknown): Revision {
  const wire = object(value);
  return {
    revision: wire["revision"],
    payload: wire["payload"] ?? {},
    metadata: wire["metadata"] ?? {},
    subject: wire["subject"] ?? null,
    mentions: wire["mentions"] ?? [],
    createdAt: requiredDate(wire["created_at"]),
  };
}

export function toReaction(value: unknown): Reaction {
  const wire = object(value);
  return {
    agentId: wire["agent_id"],
    signal: wire["signal"],
    note: wire["note"] ?? null,
    eta: wire["eta"] ?? null,
    createdAt: requiredDate(wire["created_at"]),
  };
}

export function toDischarge(value: unknown): Discharge {
  const wire = object(value);
  return {
    messageId: wire["message_id"],
    agentId: wire["agent_id"],
    note: wire["note"] ?? null,
    dischargedAt: requiredDate(wire["discharged_at"]),
  };
}

/** Reads what a message asks of its recipient; null when nobody asked, or it asks nothing. */
export function toAttention(value: unknown): Attention | null {
  if (value == null) {
    return null;
  }
  const wire = object(value);
  if (wire["directedness"] == null) {
    return null;
  }
  const { claim, knock } = wire;
  return {
    directedness: wire["directedness"],
    policy: wire["policy"],
    injection: wire["injection"],
    reason: wire["reason"],
    priority: wire["priority"],
    deadlineMs: wire["deadline_ms"] ?? null,
    claim: claim ? { holder: claim.holder, expiresInMs: claim.expires_in_ms, fence: claim.fence ?? null } : null,
    knock: knock ? { from: knock.from, where: knock.where, topic: knock.topic, pullWith: knock.pull_with } : null,
  };
}

/** The events of a stream that are annotations. */
export const annotationTypes: ReadonlySet<string> = new Set([
  "message_reaction",
  "message_edited",
  "message_deleted",
  "message_claimed",
  "claim_released",
  "message_disposition",
  "obligation_discharged",
]);

export function toAnnotation(wire: Wire): Annotation {
  return {
    type: wire["type"],
    position: wire["position"],
    messageId: wire["message_id"],
    channelId: wire["channel_id"],
    agentId: wire["agent_id"],
    createdAt: requiredDate(wire["created_at"]),
    change: wire["change"] ?? null,
    signal: wire["signal"] ?? null,
    note: wire["note"] ?? null,
    eta: wire["eta"] ?? null,
    revision: wire["revision"] ?? null,
    expiresAt: date(wire["expires_at"]),
    reason: wire["reason"] ?? null,
    disposition: wire["disposition"] ?? null,
    until: date(wire["until"]),
  };
}

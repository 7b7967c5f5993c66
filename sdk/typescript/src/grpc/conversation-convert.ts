import { fromJson, toJson, type JsonValue } from "@bufbuild/protobuf";
import { ListValueSchema, timestampDate, ValueSchema, type ListValue, type Timestamp } from "@bufbuild/protobuf/wkt";
import type {
  Annotation,
  Attention,
  Blocks,
  Collect,
  Conversation,
  Directedness,
  Discharge,
  GrantedClaim,
  Injection,
  ObligationSide,
  Priority,
  Reaction,
  ResponsePolicy,
} from "../conversation-types.js";
import {
  Blocks as WireBlocks,
  Directedness as WireDirectedness,
  Injection as WireInjection,
  Priority as WirePriority,
  ResponsePolicy as WirePolicy,
  type Attention as WireAttention,
  type GetAttentionResponse,
} from "../generated/openintent/v1/attention_pb.js";
import type {
  Annotation as WireAnnotation,
  Message as WireMessage,
  MessageRevision as WireRevision,
} from "../generated/openintent/v1/messages_pb.js";
import { ObligationSide as WireSide, type Discharge as WireDischarge } from "../generated/openintent/v1/obligations_pb.js";
import type { Reaction as WireReaction } from "../generated/openintent/v1/reactions_pb.js";
import type { Said } from "../saying.js";
import type { Revision } from "../types.js";
import { badWord, dateOf, requiredDate, wordOf } from "./words.js";

const priorities: Readonly<Record<Priority, WirePriority>> = {
  low: WirePriority.LOW,
  normal: WirePriority.NORMAL,
  high: WirePriority.HIGH,
  urgent: WirePriority.URGENT,
};

const directednesses: Readonly<Record<Directedness, WireDirectedness>> = {
  to_me: WireDirectedness.TO_ME,
  to_my_role: WireDirectedness.TO_MY_ROLE,
  ambient: WireDirectedness.AMBIENT,
};

const policies: Readonly<Record<ResponsePolicy, WirePolicy>> = {
  must_respond: WirePolicy.MUST_RESPOND,
  may_respond: WirePolicy.MAY_RESPOND,
  ack_only: WirePolicy.ACK_ONLY,
  must_not_respond: WirePolicy.MUST_NOT_RESPOND,
};

const blocks: Readonly<Record<Blocks, WireBlocks>> = {
  halted: WireBlocks.HALTED,
  degraded: WireBlocks.DEGRADED,
  none: WireBlocks.NONE,
};

export const sides: Readonly<Record<ObligationSide, WireSide>> = { owes: WireSide.OWES, owed: WireSide.OWED };

const injections: Readonly<Record<Injection, WireInjection>> = {
  immediate: WireInjection.IMMEDIATE,
  buffered: WireInjection.BUFFERED,
  notify: WireInjection.NOTIFY,
  digest: WireInjection.DIGEST,
  tool_mailbox: WireInjection.TOOL_MAILBOX,
};

/** Writes a list, which may be empty without being absent. */
export function toList(names: readonly string[]): ListValue {
  return fromJson(ListValueSchema, [...names]);
}

/** Writes what a message says as the fields of its request. */
export function wireOf({ said }: { said?: Said }) {
  if (said === undefined) {
    return {};
  }
  const { priority, mentions, directedness, policy, collect, obligation, fence, ...plain } = said;
  return {
    ...plain,
    ...(priority && { priority: priorities[priority] ?? badWord }),
    ...(mentions && { mentions: toList(mentions) }),
    ...(directedness && { directedness: directednesses[directedness] ?? badWord }),
    ...(policy && { policy: policies[policy] ?? badWord }),
    ...(collect !== undefined && { collect: fromJson(ValueSchema, collect as JsonValue) }),
    ...(obligation && {
      obligation: {
        blocks: obligation.blocks ? (blocks[obligation.blocks] ?? badWord) : 0,
        ...(obligation.delegate && { delegate: obligation.delegate }),
      },
    }),
    ...(fence !== undefined && { fence: BigInt(fence) }),
  };
}

/** Reads what a message says beside its payload. */
export function toConversation(wire: WireMessage): Conversation {
  return {
    parentId: wire.parentId ?? null,
    threadId: wire.threadId ?? null,
    subject: wire.subject ?? null,
    kind: wire.kind ?? null,
    taskId: wire.taskId ?? null,
    priority: wire.priority === undefined ? null : wordOf(priorities, wire.priority),
    mentions: wire.mentions,
    collect: wire.collect === undefined ? null : (toJson(ValueSchema, wire.collect) as Collect),
    obligation: wire.obligation
      ? { blocks: wordOf(blocks, wire.obligation.blocks), delegate: wire.obligation.delegate ?? null }
      : null,
    directedness: wire.directedness === undefined ? null : wordOf(directednesses, wire.directedness),
    policy: wire.policy === undefined ? null : wordOf(policies, wire.policy),
    revision: wire.revision ?? null,
    document: wire.document ?? false,
    senderKind: wire.senderKind ?? null,
    editedAt: dateOf(wire.editedAt),
    deletedAt: dateOf(wire.deletedAt),
  };
}

/** Reads what a message asks of its recipient; null when nobody asked. */
export function toAttention(wire: WireAttention | undefined): Attention | null {
  return wire === undefined ? null : attentionOf(wire);
}

export function attentionOf(wire: WireAttention | GetAttentionResponse): Attention {
  const { claim, knock } = wire;
  return {
    directedness: wordOf(directednesses, wire.directedness ?? 0),
    policy: wordOf(policies, wire.policy ?? 0),
    injection: wordOf(injections, wire.injection ?? 0),
    reason: wire.reason ?? "",
    priority: wordOf(priorities, wire.priority ?? 0),
    deadlineMs: wire.deadlineMs === undefined ? null : Number(wire.deadlineMs),
    claim: claim
      ? {
          holder: claim.holder,
          expiresInMs: Number(claim.expiresInMs),
          fence: claim.fence === undefined ? null : Number(claim.fence),
        }
      : null,
    knock: knock ? { from: knock.from, where: knock.where, topic: knock.topic, pullWith: knock.pullWith } : null,
  };
}

export function toAnnotation(wire: WireAnnotation): Annotation {
  return {
    type: wire.type,
    position: Number(wire.position),
    messageId: wire.messageId,
    channelId: wire.channelId,
    agentId: wire.agentId,
    createdAt: requiredDate(wire.createdAt),
    change: wire.change ?? null,
    signal: wire.signal ?? null,
    note: wire.note ?? null,
    eta: wire.eta ?? null,
    revision: wire.revision ?? null,
    expiresAt: dateOf(wire.expiresAt),
    reason: wire.reason ?? null,
    disposition: wire.disposition ?? null,
    until: dateOf(wire.until),
  };
}

export function toRevision(wire: WireRevision): Revision {
  return {
    revision: wire.revision,
    payload: wire.payload ?? {},
    metadata: wire.metadata ?? {},
    subject: wire.subject ?? null,
    mentions: wire.mentions,
    createdAt: requiredDate(wire.createdAt),
  };
}

export function toReaction(wire: WireReaction): Reaction {
  const { agentId, signal, note, eta, createdAt } = wire;
  return { agentId, signal, note: note ?? null, eta: eta ?? null, createdAt: requiredDate(createdAt) };
}

export function toDischarge(wire: WireDischarge): Discharge {
  const { messageId, agentId, note, dischargedAt } = wire;
  return { messageId, agentId, note: note ?? null, dischargedAt: requiredDate(dischargedAt) };
}

export function toClaim({ fence, expiresAt }: { fence: bigint; expiresAt?: Timestamp | undefined }): GrantedClaim {
  return { fence: Number(fence), expiresAt: expiresAt ? timestampDate(expiresAt) : new Date(0) };
}

import { AccessPolicy as WireAccessPolicy } from "../generated/openintent/v1/access_pb.js";
import { AgentStatus as WireAgentStatus, type Agent as WireAgent } from "../generated/openintent/v1/agents_pb.js";
import {
  ChannelStatus as WireChannelStatus,
  ChannelHistory as WireChannelHistory,
  MemberPolicy as WirePolicy,
  type Channel as WireChannel,
} from "../generated/openintent/v1/channels_pb.js";
import { IntentStatus as WireIntentStatus, type Intent as WireIntent } from "../generated/openintent/v1/intents_pb.js";
import {
  MessageStatus as WireStatus,
  MessageType as WireType,
  type Message as WireMessage,
} from "../generated/openintent/v1/messages_pb.js";
import {
  ConcernAction as WireConcernAction,
  ConcernKind as WireConcernKind,
  type Concern as WireConcern,
} from "../generated/openintent/v1/concern_pb.js";
import { ReachLevel as WireLevel, type Reach as WireReach } from "../generated/openintent/v1/reach_pb.js";
import {
  saysFailure,
  type AccessPolicy,
  type AgentRecord,
  type AgentStatus,
  type Channel,
  type Intent,
  type IntentStatus,
  type ChannelHistory,
  type MemberPolicy,
  type Message,
  type MessageStatus,
  type MessageType,
  type Reach,
  type ReachLevel,
} from "../types.js";
import type { Concern, ConcernAction, ConcernKind } from "../concerns.js";
import { toConversation } from "./conversation-convert.js";
import { dateOf, requiredDate, wordOf } from "./words.js";

export const messageTypes: Readonly<Record<MessageType, WireType>> = {
  request: WireType.REQUEST,
  response: WireType.RESPONSE,
  notify: WireType.NOTIFY,
  broadcast: WireType.BROADCAST,
};

const messageStatuses: Readonly<Record<MessageStatus, WireStatus>> = {
  pending: WireStatus.PENDING,
  delivered: WireStatus.DELIVERED,
  read: WireStatus.READ,
  expired: WireStatus.EXPIRED,
};

export const memberPolicies: Readonly<Record<MemberPolicy, WirePolicy>> = {
  explicit: WirePolicy.EXPLICIT,
  intent: WirePolicy.INTENT,
};

export const agentStatuses: Readonly<Record<AgentStatus, WireAgentStatus>> = {
  registering: WireAgentStatus.REGISTERING,
  active: WireAgentStatus.ACTIVE,
  draining: WireAgentStatus.DRAINING,
  unhealthy: WireAgentStatus.UNHEALTHY,
  dead: WireAgentStatus.DEAD,
  deregistered: WireAgentStatus.DEREGISTERED,
};

export const accessPolicies: Readonly<Record<AccessPolicy, WireAccessPolicy>> = {
  open: WireAccessPolicy.OPEN,
  closed: WireAccessPolicy.CLOSED,
};

export const channelHistories: Readonly<Record<ChannelHistory, WireChannelHistory>> = {
  all: WireChannelHistory.ALL,
  from_join: WireChannelHistory.FROM_JOIN,
};

export const intentStatuses: Readonly<Record<IntentStatus, WireIntentStatus>> = {
  draft: WireIntentStatus.DRAFT,
  active: WireIntentStatus.ACTIVE,
  blocked: WireIntentStatus.BLOCKED,
  completed: WireIntentStatus.COMPLETED,
  abandoned: WireIntentStatus.ABANDONED,
  suspended_awaiting_input: WireIntentStatus.SUSPENDED_AWAITING_INPUT,
};

const reachLevels: Readonly<Record<ReachLevel, WireLevel>> = {
  unknown: WireLevel.UNKNOWN,
  none: WireLevel.NONE,
  wakeable: WireLevel.WAKEABLE,
  live: WireLevel.LIVE,
};

export const concernKinds: Readonly<Record<ConcernKind, WireConcernKind>> = {
  question: WireConcernKind.QUESTION,
  obligation: WireConcernKind.OBLIGATION,
  unanswered: WireConcernKind.UNANSWERED,
  unreachable: WireConcernKind.UNREACHABLE,
  dead_letters: WireConcernKind.DEAD_LETTERS,
  webhook: WireConcernKind.WEBHOOK,
  brake: WireConcernKind.BRAKE,
  holder_lost: WireConcernKind.HOLDER_LOST,
};

const concernActions: Readonly<Record<ConcernAction, WireConcernAction>> = {
  answer: WireConcernAction.ANSWER,
  claim: WireConcernAction.CLAIM,
  decline: WireConcernAction.DECLINE,
  defer: WireConcernAction.DEFER,
  discharge: WireConcernAction.DISCHARGE,
  withdraw: WireConcernAction.WITHDRAW,
  invite: WireConcernAction.INVITE,
  redrive: WireConcernAction.REDRIVE,
  drop: WireConcernAction.DROP,
  lift: WireConcernAction.LIFT,
  reassign: WireConcernAction.REASSIGN,
};

export function toMessage(wire: WireMessage): Message {
  const messageType = wordOf(messageTypes, wire.messageType);
  const metadata = wire.metadata ?? {};
  return {
    id: wire.id,
    channelId: wire.channelId,
    sender: wire.sender,
    to: wire.to ?? null,
    messageType,
    correlationId: wire.correlationId ?? null,
    payload: wire.payload ?? {},
    metadata,
    status: wordOf(messageStatuses, wire.status),
    createdAt: requiredDate(wire.createdAt),
    expiresAt: dateOf(wire.expiresAt),
    readAt: dateOf(wire.readAt),
    isError: saysFailure(messageType, metadata),
    ...toConversation(wire),
  };
}

export function toChannel(wire: WireChannel): Channel {
  return {
    id: wire.id,
    intentId: wire.intentId,
    address: wire.address ?? null,
    taskId: wire.taskId ?? null,
    name: wire.name,
    createdBy: wire.createdBy,
    members: wire.members,
    memberPolicy: wordOf(memberPolicies, wire.memberPolicy),
    options: {
      audit: wire.options?.audit ?? false,
      ttlSeconds: wire.options?.ttlSeconds === undefined ? null : Number(wire.options.ttlSeconds),
      maxMessages: Number(wire.options?.maxMessages ?? 1000),
      history: wire.options?.history === WireChannelHistory.FROM_JOIN ? "from_join" : "all",
      turnBudget: Number(wire.options?.turnBudget ?? 20),
      conversationBudget: wire.options?.conversationBudget === undefined ? null : Number(wire.options.conversationBudget),
    },
    status: wire.status === WireChannelStatus.OPEN ? "open" : "closed",
    createdAt: requiredDate(wire.createdAt),
    closedAt: dateOf(wire.closedAt),
    messageCount: Number(wire.messageCount),
    lastMessageAt: dateOf(wire.lastMessageAt),
  };
}

export function toIntent(wire: WireIntent): Intent {
  return {
    id: wire.id,
    title: wire.title,
    description: wire.description,
    status: wordOf(intentStatuses, wire.status),
    createdBy: wire.createdBy,
    constraints: wire.constraints ?? {},
    state: wire.state ?? {},
    confidence: wire.confidence,
    version: Number(wire.version),
    parentIntentId: wire.parentIntentId ?? null,
    dependsOn: wire.dependsOn,
    createdAt: requiredDate(wire.createdAt),
    updatedAt: requiredDate(wire.updatedAt),
  };
}

export function toAgent(wire: WireAgent): AgentRecord {
  return {
    id: wire.agentId,
    role: wire.roleId || null,
    name: wire.name || null,
    status: wordOf(agentStatuses, wire.status),
    statusNote: wire.statusNote || null,
    capabilities: wire.capabilities,
    registeredAt: requiredDate(wire.registeredAt),
    lastHeartbeatAt: dateOf(wire.lastHeartbeatAt),
  };
}

export function toReach(wire: WireReach): Reach {
  const { agentId, level, paths, waiting } = wire;
  return {
    agentId,
    level: wordOf(reachLevels, level),
    paths: paths.map(({ kind, since, provenAt }) => ({ kind, since: requiredDate(since), provenAt: dateOf(provenAt) })),
    lastHeardAt: dateOf(wire.lastHeardAt),
    lastOfferedAt: dateOf(wire.lastOfferedAt),
    lastSurfacedAt: dateOf(wire.lastSurfacedAt),
    surfacesInMs: wire.surfacesInMs === undefined ? null : Number(wire.surfacesInMs),
    waiting: waiting ? { count: waiting.count, oldestAt: dateOf(waiting.oldestAt) } : null,
  };
}

export function toConcern(wire: WireConcern): Concern {
  const { id, kind, since, intentId, channelId, messageId, agentId, subscriptionId, taskId, summary, actions } = wire;
  return {
    id,
    kind: wordOf(concernKinds, kind),
    since: requiredDate(since),
    intentId: intentId ?? null,
    channelId: channelId ?? null,
    messageId: messageId ?? null,
    agentId: agentId ?? null,
    subscriptionId: subscriptionId ?? null,
    taskId: taskId ?? null,
    summary,
    actions: actions.map((action) => wordOf(concernActions, action)),
  };
}

import type { GrantedLease } from "../transport.js";
import {
  saysFailure,
  type AgentRecord,
  type Channel,
  type Intent,
  type JsonObject,
  type Message,
  type MessageType,
  type Reach,
  type ReachPath,
} from "../types.js";
import type { Concern, ConcernPage } from "../concerns.js";
import { toConversation } from "./conversation-convert.js";
import { date, list, object, requiredDate } from "./wire.js";

export function toGrantedLease(value: unknown): GrantedLease {
  const wire = object(value);
  return { id: wire["id"], fence: Number(wire["fence"]) };
}

export function toMessage(value: unknown): Message {
  const wire = object(value);
  const messageType = wire["message_type"] as MessageType;
  const metadata = (wire["metadata"] ?? {}) as JsonObject;
  return {
    id: wire["id"],
    channelId: wire["channel_id"],
    sender: wire["sender"],
    to: wire["to"] ?? null,
    messageType,
    correlationId: wire["correlation_id"] ?? null,
    payload: wire["payload"] ?? {},
    metadata,
    status: wire["status"],
    createdAt: requiredDate(wire["created_at"]),
    expiresAt: date(wire["expires_at"]),
    readAt: date(wire["read_at"]),
    isError: saysFailure(messageType, metadata),
    ...toConversation(wire),
  };
}

export function toChannel(value: unknown): Channel {
  const wire = object(value);
  return {
    id: wire["id"],
    intentId: wire["intent_id"],
    address: wire["address"] ?? null,
    taskId: wire["task_id"] ?? null,
    name: wire["name"],
    createdBy: wire["created_by"],
    members: wire["members"] ?? [],
    memberPolicy: wire["member_policy"],
    options: {
      audit: wire["options"]?.["audit"] ?? false,
      ttlSeconds: wire["options"]?.["ttl_seconds"] ?? null,
      maxMessages: wire["options"]?.["max_messages"] ?? 1000,
      history: wire["options"]?.["history"] ?? "all",
      turnBudget: wire["options"]?.["turn_budget"] ?? 20,
      conversationBudget: wire["options"]?.["conversation_budget"] ?? null,
    },
    status: wire["status"],
    createdAt: requiredDate(wire["created_at"]),
    closedAt: date(wire["closed_at"]),
    messageCount: wire["message_count"] ?? 0,
    lastMessageAt: date(wire["last_message_at"]),
  };
}

export function toIntent(value: unknown): Intent {
  const wire = object(value);
  return {
    id: wire["id"],
    title: wire["title"],
    description: wire["description"] ?? "",
    status: wire["status"],
    createdBy: wire["created_by"],
    constraints: wire["constraints"] ?? {},
    state: wire["state"] ?? {},
    confidence: wire["confidence"] ?? 0,
    version: wire["version"],
    parentIntentId: wire["parent_intent_id"] ?? null,
    dependsOn: wire["depends_on"] ?? [],
    createdAt: requiredDate(wire["created_at"]),
    updatedAt: requiredDate(wire["updated_at"]),
  };
}

export function toAgent(value: unknown): AgentRecord {
  const wire = object(value);
  return {
    id: wire["agent_id"],
    role: wire["role_id"] || null,
    name: wire["name"] || null,
    status: wire["status"],
    statusNote: wire["status_note"] || null,
    capabilities: wire["capabilities"] ?? [],
    registeredAt: requiredDate(wire["registered_at"]),
    lastHeartbeatAt: wire["last_heartbeat_at"] ? requiredDate(wire["last_heartbeat_at"]) : null,
  };
}

export function toReach(value: unknown): Reach {
  const wire = object(value);
  const { level, waiting } = wire;
  return {
    agentId: wire["agent_id"],
    level,
    paths: list(wire["paths"], toReachPath),
    lastHeardAt: date(wire["last_heard_at"]),
    lastOfferedAt: date(wire["last_offered_at"]),
    lastSurfacedAt: date(wire["last_surfaced_at"]),
    surfacesInMs: wire["surfaces_in_ms"] ?? null,
    waiting: waiting ? { count: waiting["count"], oldestAt: date(waiting["oldest_at"]) } : null,
  };
}

function toReachPath(value: unknown): ReachPath {
  const wire = object(value);
  return { kind: wire["kind"], since: requiredDate(wire["since"]), provenAt: date(wire["proven_at"]) };
}

export function toConcernPage(value: unknown): ConcernPage {
  const wire = object(value);
  return { concerns: list(wire["concerns"], toConcern), nextCursor: wire["next_cursor"] ?? null };
}

function toConcern(value: unknown): Concern {
  const wire = object(value);
  return {
    id: wire["id"],
    kind: wire["kind"],
    since: requiredDate(wire["since"]),
    intentId: wire["intent_id"] ?? null,
    channelId: wire["channel_id"] ?? null,
    messageId: wire["message_id"] ?? null,
    agentId: wire["agent_id"] ?? null,
    subscriptionId: wire["subscription_id"] ?? null,
    taskId: wire["task_id"] ?? null,
    summary: wire["summary"],
    actions: wire["actions"],
  };
}

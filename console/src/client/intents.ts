import { call, get, part, send } from "./client.ts";
import { cursorIn } from "./link.ts";
import { list, type Listed } from "./list.ts";
import type { Channel, Fields, Intent, Json } from "./types.ts";

export type IntentStatus = Intent["status"];

export interface Assignment {
  id: string;
  agent_id: string;
  role: string;
  assigned_at: string;
}

export interface Coordinator {
  id: string;
  agent_id: string;
  role: string;
  status: string;
  last_heartbeat_at: string | null;
  granted_at: string;
  expires_at: string | null;
}

export type TaskStatus = "pending" | "ready" | "claimed" | "running" | "blocked" | "completed" | "failed" | "cancelled" | "skipped";

export interface Task {
  id: string;
  name: string;
  description: string;
  status: TaskStatus;
  assigned_agent: string | null;
  depends_on: string[];
  blocked_reason: string | null;
  error: Json;
  attempt: number;
  max_attempts: number;
  version: number;
  created_at: string;
  started_at: string | null;
  completed_at: string | null;
}

export interface Lease {
  id: string;
  agent_id: string;
  scope: string;
  fence: number;
  acquired_at: string;
  expires_at: string;
}

/** An entry of an intent's log. */
export interface LogEvent {
  id: string;
  event_type: string;
  actor: string;
  payload: Fields;
  created_at: string;
  sequence: number;
  event_hash: string;
}

/** What came of recomputing an intent's log. */
export interface Verification {
  event_count: number;
  first_sequence: number;
  last_sequence: number;
  valid: boolean;
  break_count: number;
  breaks: { sequence: number; reason: string }[];
  last_event_hash: string | null;
  checkpoint: { sequence: number; removed_at: string; first_break: number | null } | null;
}

interface Intents {
  intents: Intent[];
  total: number;
  next_cursor: string | null;
}

function pathOf(intent: string): string {
  return `v1/intents/${part(intent)}`;
}

/** listIntents lists intents, the newest first. */
export async function listIntents(status: string | undefined, cursor?: string, signal?: AbortSignal): Promise<Listed<Intent> & { total: number }> {
  const page = await get<Intents>("v1/intents", { status, order: "desc", limit: 100, cursor }, signal);
  return { items: page.intents, next: page.next_cursor ?? undefined, total: page.total };
}

/** countIntents is how many intents have a status. */
export async function countIntents(status: string | undefined, signal?: AbortSignal): Promise<number> {
  return (await get<Intents>("v1/intents", { status, limit: 1 }, signal)).total;
}

export function getIntent(intent: string, signal?: AbortSignal): Promise<Intent> {
  return get<Intent>(pathOf(intent), undefined, signal);
}

export function listChannels(intent: string, cursor?: string, signal?: AbortSignal): Promise<Listed<Channel>> {
  return list<Channel>(`${pathOf(intent)}/channels`, { limit: 100, cursor }, signal);
}

export function listAssignments(intent: string, cursor?: string, signal?: AbortSignal): Promise<Listed<Assignment>> {
  return list<Assignment>(`${pathOf(intent)}/agents`, { limit: 50, cursor }, signal);
}

export function listTasks(intent: string, cursor?: string, signal?: AbortSignal): Promise<Listed<Task>> {
  return list<Task>(`${pathOf(intent)}/tasks`, { limit: 100, cursor }, signal);
}

export function getTask(task: string, signal?: AbortSignal): Promise<Task> {
  return get<Task>(`v1/tasks/${part(task)}`, undefined, signal);
}

/** giveTask gives a task to another agent, if nobody has changed it meanwhile. */
export function giveTask(task: Pick<Task, "id" | "version">, agent: string): Promise<Task> {
  return send<Task>("PATCH", `v1/tasks/${part(task.id)}`, { assigned_agent: agent }, { headers: { "If-Match": String(task.version) } });
}

/** listCoordinators lists who coordinates an intent, and who did. */
export function listCoordinators(intent: string, signal?: AbortSignal): Promise<Listed<Coordinator>> {
  return list<Coordinator>(`${pathOf(intent)}/coordinators`, { limit: 200 }, signal);
}

export async function listLeases(intent: string, cursor?: string, signal?: AbortSignal): Promise<Listed<Lease>> {
  const page = await get<{ leases: Lease[]; next_cursor: string | null }>(`${pathOf(intent)}/leases`, { limit: 100, cursor }, signal);
  return { items: page.leases, next: page.next_cursor ?? undefined };
}

/** listEvents lists an intent's log, the newest entry first. */
export async function listEvents(intent: string, type: string | undefined, cursor?: string, signal?: AbortSignal): Promise<Listed<LogEvent>> {
  const query = { limit: 50, event_type: type, cursor };
  const { body, headers } = await call<LogEvent[]>("GET", `${pathOf(intent)}/events`, { query, ...(signal && { signal }) });
  return { items: body, next: cursorIn(headers.get("Link")) };
}

/** verifyLog recomputes the chain of hashes of an intent's log. */
export function verifyLog(intent: string): Promise<Verification> {
  return get<Verification>(`${pathOf(intent)}/events/verify`, { limit: 0 });
}

export function createIntent(intent: { title: string; description?: string; status?: IntentStatus; default_policy?: "closed" }): Promise<Intent> {
  return send<Intent>("POST", "v1/intents", intent);
}

/** setStatus moves an intent along, if nobody has changed it meanwhile. */
export function setStatus(intent: Pick<Intent, "id" | "version">, status: IntentStatus, reason = ""): Promise<Intent> {
  const body = { status, ...(reason !== "" && { reason }) };
  return send<Intent>("POST", `${pathOf(intent.id)}/status`, body, { headers: { "If-Match": String(intent.version) } });
}

export interface NewChannel {
  name: string;
  members?: string[];
  member_policy?: Channel["member_policy"];
  options?: { audit?: boolean };
}

export function createChannel(intent: string, channel: NewChannel): Promise<Channel> {
  return send<Channel>("POST", `${pathOf(intent)}/channels`, channel);
}

export function assign(intent: string, agent: string, role: string): Promise<Assignment> {
  return send<Assignment>("POST", `${pathOf(intent)}/agents`, { agent_id: agent, ...(role !== "" && { role }) });
}

export function coordinate(intent: string, agent: string, role: string): Promise<Coordinator> {
  return send<Coordinator>("POST", `${pathOf(intent)}/coordinator`, { agent_id: agent, ...(role !== "" && { role }) });
}

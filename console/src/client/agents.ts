import { get, part } from "./client.ts";
import { list, type Listed } from "./list.ts";
import type { Agent, Inbox, Message } from "./types.ts";

export type AgentStatus = "registering" | "active" | "draining" | "unhealthy" | "dead" | "deregistered";

export type Level = "unknown" | "none" | "wakeable" | "live";

export interface Reach {
  agent_id: string;
  level: Level;
  paths: { kind: string; since: string; proven_at: string | null }[];
  last_heard_at: string | null;
  last_offered_at: string | null;
  last_surfaced_at: string | null;
  surfaces_in_ms: number | null;
  waiting?: { count: number; oldest_at: string | null };
}

/** An agent's record with all of its fields. */
export interface AgentRecord extends Agent {
  status: AgentStatus;
  capabilities: string[];
  capacity: { max_concurrent_tasks: number; current_load: number };
  endpoint: string | null;
  heartbeat_config: { interval_seconds: number; unhealthy_after_seconds: number; dead_after_seconds: number };
  registered_at: string;
  last_heartbeat_at: string | null;
  silent_since: string | null;
  presumed_dead_at: string | null;
  presence_reason: string | null;
  reach?: Reach;
}

interface Agents {
  agents: AgentRecord[];
  total: number;
  next_cursor: string | null;
}

/** Which agents a list has. */
export interface AgentFilter {
  status?: string | undefined;
  role_id?: string | undefined;
}

export async function listAgents(filter: AgentFilter, cursor?: string, signal?: AbortSignal): Promise<Listed<AgentRecord> & { total: number }> {
  const page = await get<Agents>("v1/agents", { status: filter.status, role_id: filter.role_id, include: "reach", limit: 200, cursor }, signal);
  return { items: page.agents, next: page.next_cursor ?? undefined, total: page.total };
}

/** countAgents is how many agents have a status. */
export async function countAgents(filter: AgentFilter, signal?: AbortSignal): Promise<number> {
  return (await get<Agents>("v1/agents", { status: filter.status, role_id: filter.role_id, limit: 1 }, signal)).total;
}

export function getAgent(agent: string, signal?: AbortSignal): Promise<AgentRecord> {
  return get<AgentRecord>(`v1/agents/${part(agent)}`, undefined, signal);
}

export function getReach(agent: string, signal?: AbortSignal): Promise<Reach> {
  return get<Reach>(`v1/agents/${part(agent)}/reach`, undefined, signal);
}

/** peekInbox reads the beginning of an agent's inbox, with how much there is in all of it. */
export function peekInbox(agent: string, signal?: AbortSignal): Promise<Inbox> {
  return get<Inbox>(`v1/agents/${part(agent)}/inbox`, { limit: 10 }, signal);
}

/** listObligations lists what an agent owes, or what others owe to it. */
export function listObligations(agent: string, side: "owes" | "owed", signal?: AbortSignal): Promise<Listed<Message>> {
  return list<Message>(`v1/agents/${part(agent)}/obligations`, { side, limit: 20 }, signal);
}

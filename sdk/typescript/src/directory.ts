import { refuseUnknown, type Names } from "./options.js";
import { callNames, withRetry, type CallOptions } from "./retry.js";
import type { Settings } from "./settings.js";
import type { AgentsRequest, Transport } from "./transport.js";
import type { AgentPage, AgentRecord, Role } from "./types.js";

export interface ListAgentsOptions extends CallOptions, AgentsRequest {}

const listNames: Names<ListAgentsOptions> = { ...callNames, role: true, status: true, capabilities: true, limit: true, cursor: true };

/** The records of agents. */
export class AgentDirectory {
  constructor(
    private readonly transport: Transport,
    private readonly settings: Settings,
  ) {}

  /**
   * A page of agents, by id: those that are active unless `status` says otherwise, with the role, and with any of the capabilities.
   * `cursor` is the `nextCursor` of the page before.
   */
  async list(options: ListAgentsOptions = {}): Promise<AgentPage> {
    refuseUnknown("agents.list", options, listNames);
    const { signal, timeout, ...request } = options;
    return withRetry(this.settings, { signal, timeout }, (attempt) => this.transport.listAgents(request, attempt));
  }

  /** The record of an agent. */
  async get(agentId: string, options: CallOptions = {}): Promise<AgentRecord> {
    refuseUnknown("agents.get", options, callNames);
    return withRetry(this.settings, options, (attempt) => this.transport.getAgent(agentId, attempt));
  }
}

/** The roles that agents hold. */
export class RoleDirectory {
  constructor(
    private readonly transport: Transport,
    private readonly settings: Settings,
  ) {}

  /** The roles of all active agents, by name. It reads all pages of agents. */
  async list(options: CallOptions = {}): Promise<Role[]> {
    refuseUnknown("roles.list", options, callNames);
    return withRetry(this.settings, options, async (attempt) => {
      const holders = new Map<string, string[]>();
      for (let cursor: string | undefined; ; ) {
        const { agents, nextCursor } = await this.transport.listAgents({ ...(cursor !== undefined && { cursor }) }, attempt);
        for (const { id, role } of agents) {
          if (role !== null) {
            holders.set(role, [...(holders.get(role) ?? []), id]);
          }
        }
        if (nextCursor === null) {
          return [...holders.keys()].sort().map((id) => ({ id, agents: holders.get(id)! }));
        }
        cursor = nextCursor;
      }
    });
  }
}

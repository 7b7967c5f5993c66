import { createClient, type Client as ServiceClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { AccessPolicy, AccessService } from "../../src/generated/openintent/v1/access_pb.js";
import { AgentService, AgentStatus } from "../../src/generated/openintent/v1/agents_pb.js";
import { ChannelService } from "../../src/generated/openintent/v1/channels_pb.js";
import { Permission } from "../../src/generated/openintent/v1/common_pb.js";
import { MessageService } from "../../src/generated/openintent/v1/messages_pb.js";
import { ReachLevel, ReachService } from "../../src/generated/openintent/v1/reach_pb.js";
import type { Client } from "../../src/client.js";
import { OpenIntentClient } from "../../src/index.js";
import { OpenIntentClient as RestClient } from "../../src/rest.js";
import type { Values } from "./scenario.js";

/** Which of its two transports the package is tried with. */
export type Face = "grpc" | "rest";

/** Whether all calls over gRPC go over exchanges, as far as these carry them. The tests of the Go SDK read the same variable. */
const overExchanges = Boolean(process.env["OPENINTENT_TEST_EXCHANGES"]);

/** The servers that the test's environment names. */
export class Stage {
  readonly engine = required("OPENINTENT_ENGINE");
  readonly #servers = [required("OPENINTENT_SERVER"), required("OPENINTENT_REPLICA")] as const;
  readonly #url = required("OPENINTENT_URL");
  readonly #apiKey = required("OPENINTENT_API_KEY");

  /** A client on the first or second replica, as an agent or, without one, as the operator. */
  client(face: Face, agentId: string | undefined, replica = 1): Client {
    if (face === "rest") {
      return new RestClient({ url: this.#url, apiKey: this.#apiKey, agentId });
    }
    return new OpenIntentClient({ ...this.connection(replica), agentId });
  }

  connection(replica = 1): { server: string; apiKey: string; alwaysExchanges: boolean } {
    return { server: this.#servers[replica - 1]!, apiKey: this.#apiKey, alwaysExchanges: overExchanges };
  }

  /** Tells the control to do something with the first replica. */
  async control(what: "restart" | "kill" | "move"): Promise<void> {
    const answer = await fetch(`${required("OPENINTENT_CONTROL")}/${what}`, { method: "POST" });
    if (!answer.ok) {
      throw new Error(`The control refuses to ${what}: ${await answer.text()}`);
    }
  }

  async setAccess(intentId: string, fields: Values): Promise<void> {
    const entries = (fields["entries"] ?? []).map((entry: { agent: string; permission: string }) => ({
      principalId: entry.agent,
      permission: Permission[entry.permission.toUpperCase() as keyof typeof Permission],
    }));
    const defaultPolicy = fields["default_policy"] === "closed" ? AccessPolicy.CLOSED : AccessPolicy.OPEN;
    await this.#service(AccessService).setAccessControl({ intentId, defaultPolicy, entries });
  }

  async removeMember(channelId: string, agentId: string): Promise<void> {
    await this.#service(ChannelService).removeChannelMember({ channelId, agentId });
  }

  /** What each recipient did with a message, as far as an agent sees it. */
  async dispositions(channelId: string, messageId: string, agentId: string | undefined): Promise<Record<string, string>> {
    const { deliveries } = await this.#service(MessageService, agentId).listMessageDeliveries({ channelId, messageId });
    return Object.fromEntries(
      deliveries.flatMap(({ agentId, disposition }) => (disposition === undefined ? [] : [[agentId, disposition]])),
    );
  }

  /** An agent's status and what it says that it is doing, as an agent sees it. */
  async presence(agentId: string, reader: string | undefined): Promise<{ status: string; statusNote: string | null }> {
    const { status, statusNote } = await this.#service(AgentService, reader).getAgent({ agentId });
    return { status: AgentStatus[status].toLowerCase(), statusNote: statusNote ?? null };
  }

  /** Probes an agent. Returns its level and which kinds of path confirmed the probe. */
  async probe(agentId: string, prober: string | undefined): Promise<{ level: string; confirmed: string[] }> {
    const { reach, paths } = await this.#service(ReachService, prober).probeAgent({ agentId });
    const confirmed = paths.flatMap(({ kind, confirmedAt }) => (confirmedAt === undefined ? [] : [kind]));
    return { level: ReachLevel[reach!.level].toLowerCase(), confirmed };
  }

  /** Gives an agent a role. */
  async register(agentId: string, roleId: string): Promise<void> {
    await this.#service(AgentService, agentId).upsertAgent({ agentId, roleId });
  }

  /** Takes an agent out of service without asking its processes. */
  async deregister(agentId: string): Promise<void> {
    await this.#service(AgentService).deregisterAgent({ agentId });
  }

  /** A client of a service, as an agent or the operator, for what the package does not offer. */
  #service<
    S extends typeof AccessService | typeof AgentService | typeof ChannelService | typeof MessageService | typeof ReachService,
  >(
    service: S,
    agentId?: string,
  ): ServiceClient<S> {
    const key: Parameters<typeof createGrpcTransport>[0]["interceptors"] = [
      (next) => (request) => {
        request.header.set("x-api-key", this.#apiKey);
        if (agentId !== undefined) {
          request.header.set("x-agent-id", agentId);
        }
        return next(request);
      },
    ];
    return createClient(service, createGrpcTransport({ baseUrl: `http://${this.#servers[1]}`, interceptors: key }));
  }
}

function required(name: string): string {
  const value = process.env[name];
  if (!value) {
    throw new Error(`${name} is not set; run this by "go run ./e2e/sdks/stage -engine sqlite -- COMMAND".`);
  }
  return value;
}

import { timestampDate, timestampMs } from "@bufbuild/protobuf/wkt";
import type { AgentServer, AgentSubscription, Delivery, Heartbeat, InboxPage, Received, Waiting } from "../agent/server.js";
import { AlreadyExistsError } from "../errors.js";
import { AgentStatus } from "../generated/openintent/v1/agents_pb.js";
import { MessageType } from "../generated/openintent/v1/messages_pb.js";
import type { Subscription } from "../generated/openintent/v1/subscriptions_pb.js";
import type { Attempt } from "../transport.js";
import type { GrpcConnection } from "./connection.js";
import { toMessage } from "./convert.js";
import { toAttention } from "./conversation-convert.js";
import { digestBy, receivedBy } from "./deliveries.js";

/** The name of the subscription over which this package's agents receive, in all its languages. */
const subscriptionName = "sdk";

/** Long, since after a crash a new stream begins with everything unacknowledged, and need not wait for this time. */
const acknowledgeSeconds = 3600;
const maxAttempts = 20;
const inboxPage = 100;

/** What the server does for the runtime of an agent, over gRPC. */
export class GrpcAgentServer implements AgentServer {
  constructor(
    private readonly connection: GrpcConnection,
    private readonly agent: { readonly id: string; readonly role?: string; readonly name?: string } & Waiting,
    /** Whether messages are to come with what they ask of the agent. */
    private readonly attends: () => boolean = () => false,
  ) {}

  get #include(): string[] {
    return this.attends() ? ["attention"] : [];
  }

  async register(attempt: Attempt): Promise<number> {
    const wire = { agentId: this.agent.id, roleId: this.agent.role, name: this.agent.name };
    const record = await this.connection.call(attempt, (options) => this.connection.agents.upsertAgent(wire, options));
    return (record.heartbeatConfig?.intervalSeconds ?? 30) * 1000;
  }

  async heartbeat(status: "active" | "draining", note: string | undefined, attempt: Attempt): Promise<Heartbeat> {
    const wire = {
      agentId: this.agent.id,
      status: status === "draining" ? AgentStatus.DRAINING : AgentStatus.ACTIVE,
      statusNote: note,
    };
    const answer = await this.connection.call(attempt, (options) => this.connection.agents.heartbeat(wire, options));
    const { nextHeartbeatAt: next, serverTimestamp: now } = answer;
    const interval = next && now ? Math.max(1000, timestampMs(next) - timestampMs(now)) : 30_000;
    return { interval, draining: answer.agentStatus === AgentStatus.DRAINING };
  }

  async deregister(attempt: Attempt): Promise<void> {
    const wire = { agentId: this.agent.id };
    await this.connection.call(attempt, (options) => this.connection.agents.deregisterAgent(wire, options));
  }

  async createSubscription(attempt: Attempt): Promise<AgentSubscription | undefined> {
    const { compose, digestSeconds, maxChars } = this.agent;
    const wire = {
      name: subscriptionName,
      eventTypes: ["channel_message"],
      acknowledgeSeconds,
      maxAttempts,
      include: this.#include,
      ...(compose && { compose }),
      ...(digestSeconds !== undefined && { digestSeconds }),
      ...(maxChars !== undefined && { maxChars }),
    };
    try {
      const made = await this.connection.call(attempt, (options) =>
        this.connection.subscriptions.createSubscription(wire, options),
      );
      return toSubscription(made);
    } catch (error) {
      if (error instanceof AlreadyExistsError) {
        return undefined;
      }
      throw error;
    }
  }

  async findSubscription(attempt: Attempt): Promise<AgentSubscription | undefined> {
    for (let cursor: string | undefined; ; ) {
      const page = await this.connection.call(attempt, (options) =>
        this.connection.subscriptions.listSubscriptions({ subscriberId: this.agent.id, cursor }, options),
      );
      const found = page.subscriptions.find((subscription) => subscription.name === subscriptionName);
      cursor = page.nextCursor;
      if (found || !cursor) {
        return found && toSubscription(found);
      }
    }
  }

  async deleteSubscription(subscriptionId: string, attempt: Attempt): Promise<void> {
    await this.connection.call(attempt, (options) =>
      this.connection.subscriptions.deleteSubscription({ subscriptionId }, options),
    );
  }

  async *deliveries(
    subscriptionId: string,
    maxOutstanding: number,
    accepted: () => void,
    attempt: Attempt,
  ): AsyncGenerator<Delivery, void> {
    const stream = this.connection.stream(attempt, (options) =>
      this.connection.subscriptions.streamDeliveries(
        { subscriptionId, maxOutstanding, announceActive: true, probes: true },
        { ...options, onHeader: accepted },
      ),
    );
    for await (const delivery of stream) {
      const { number, standingBy, probeId } = delivery;
      const received = receivedBy(delivery);
      yield { number: Number(number), standingBy, received, digest: digestBy(delivery), ...(probeId && { probeId }) };
    }
  }

  async acknowledge(subscriptionId: string, numbers: readonly number[], attempt: Attempt): Promise<void> {
    const wire = { subscriptionId, numbers: numbers.map(BigInt) };
    await this.connection.call(attempt, (options) => this.connection.subscriptions.acknowledgeDeliveries(wire, options));
  }

  async confirm(probeId: string, attempt: Attempt): Promise<void> {
    const wire = { agentId: this.agent.id, probeId };
    await this.connection.call(attempt, (options) => this.connection.reach.confirmProbe(wire, options));
  }

  async surface(ids: readonly string[], attempt: Attempt): Promise<void> {
    const wire = { agentId: this.agent.id, messageIds: [...ids] };
    await this.connection.call(attempt, (options) => this.connection.attention.markSurfaced(wire, options));
  }

  async inbox(cursor: string | undefined, attempt: Attempt): Promise<InboxPage> {
    const wire = { agentId: this.agent.id, limit: inboxPage, cursor, include: this.#include };
    const page = await this.connection.call(attempt, (options) => this.connection.messages.getInbox(wire, options));
    const requests: Received[] = [];
    for (const { message, intentId, channelName, read, attention: wired } of page.items) {
      if (message?.messageType === MessageType.REQUEST && !read) {
        const attention = toAttention(wired);
        requests.push({ message: toMessage(message), intentId, channelName, position: null, attempt: 1, attention });
      }
    }
    return { requests, nextCursor: page.nextCursor };
  }
}

function toSubscription(wire: Subscription): AgentSubscription {
  const { id, createdAt, active, include, compose, digestSeconds, maxChars } = wire;
  const attends = include.includes("attention");
  return { id, createdAt: createdAt ? timestampDate(createdAt) : new Date(0), active, attends, compose, digestSeconds, maxChars };
}

import { ChannelStatus } from "../generated/openintent/v1/channels_pb.js";
import { MessageStatus, type SubscribeResponse } from "../generated/openintent/v1/messages_pb.js";
import type {
  AcquireLeaseRequest,
  AgentsRequest,
  AskAllRequest,
  AskRequest,
  Attempt,
  CreateChannelRequest,
  CreateIntentRequest,
  OpenIntentRequest,
  Followed,
  FollowAttempt,
  GrantedLease,
  Included,
  IntentsRequest,
  ListMessagesRequest,
  ReplyRequest,
  SendRequest,
  Transport,
} from "../transport.js";
import type { ConcernFilters, ConcernPage } from "../concerns.js";
import type { AgentPage, AgentRecord, Channel, Intent, IntentPage, IntentStatus, Message, Reach } from "../types.js";
import type { GrpcConnection } from "./connection.js";
import {
  accessPolicies,
  agentStatuses,
  concernKinds,
  channelHistories,
  intentStatuses,
  memberPolicies,
  messageTypes,
  toAgent,
  toChannel,
  toConcern,
  toIntent,
  toMessage,
  toReach,
} from "./convert.js";
import { GrpcConversation } from "./conversation.js";
import { toAnnotation, toAttention, wireOf } from "./conversation-convert.js";
import { badWord, timestamp } from "./words.js";

/** The header in which the server says where a stream begins. */
const positionHeader = "openintent-position";

/** Reaches the server over gRPC. */
export class GrpcTransport implements Transport {
  readonly conversation: GrpcConversation;

  constructor(private readonly connection: GrpcConnection) {
    this.conversation = new GrpcConversation(connection);
  }

  async createChannel(request: CreateChannelRequest, attempt: Attempt): Promise<Channel> {
    const { audit, ttlSeconds, maxMessages, history, turnBudget, conversationBudget } = request.options;
    const wire = {
      intentId: request.intentId,
      name: request.name,
      members: [...request.members],
      memberPolicy: memberPolicies[request.memberPolicy] ?? badWord,
      options: {
        audit,
        ttlSeconds: ttlSeconds == null ? undefined : BigInt(ttlSeconds),
        maxMessages: maxMessages === undefined ? undefined : BigInt(maxMessages),
        history: history === undefined ? undefined : (channelHistories[history] ?? badWord),
        turnBudget: turnBudget === undefined ? undefined : BigInt(turnBudget),
        conversationBudget: conversationBudget == null ? undefined : BigInt(conversationBudget),
      },
      taskId: request.taskId,
      dictatable: request.dictatable,
    };
    return toChannel(
      await this.connection.call(attempt, (options) => this.connection.channels.createChannel(wire, options)),
    );
  }

  async listChannels(intentId: string, attempt: Attempt): Promise<Channel[]> {
    const found: Channel[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await this.connection.call(attempt, (options) =>
        this.connection.channels.listChannels({ intentId, cursor }, options),
      );
      found.push(...page.channels.map(toChannel));
      cursor = page.nextCursor;
      if (!cursor) {
        return found;
      }
    }
  }

  async getChannel(channelId: string, attempt: Attempt): Promise<Channel> {
    return toChannel(
      await this.connection.call(attempt, (options) => this.connection.channels.getChannel({ channelId }, options)),
    );
  }

  async closeChannel(channelId: string, attempt: Attempt): Promise<Channel> {
    const wire = { channel: { id: channelId, status: ChannelStatus.CLOSED }, updateMask: { paths: ["status"] } };
    return toChannel(
      await this.connection.call(attempt, (options) => this.connection.channels.updateChannel(wire, options)),
    );
  }

  async sendMessage(request: SendRequest, attempt: Attempt): Promise<Message> {
    const wire = {
      ...request,
      ...wireOf(request),
      messageType: messageTypes[request.messageType] ?? badWord,
      expiresAt: timestamp(request.expiresAt),
    };
    return toMessage(await this.connection.call(attempt, (options) => this.connection.messages.sendMessage(wire, options)));
  }

  async replyMessage(request: ReplyRequest, attempt: Attempt): Promise<Message> {
    return toMessage(
      await this.connection.call(attempt, (options) => this.connection.messages.replyMessage({ ...request, ...wireOf(request) }, options)),
    );
  }

  async listMessages(request: ListMessagesRequest, attempt: Attempt): Promise<Message[]> {
    const messageType = request.messageType && (messageTypes[request.messageType] ?? badWord);
    for (let since = request.since; ; ) {
      const { messages, bounded, nextSince } = await this.connection.call(attempt, (options) =>
        this.connection.messages.listMessages({ ...request, since, messageType }, options),
      );
      // A page that looked at many messages, of which none was wanted, leads on.
      if (messages.length > 0 || !bounded || !since) {
        return messages.map(toMessage);
      }
      since = nextSince;
    }
  }

  async getMessage(channelId: string, messageId: string, attempt: Attempt): Promise<Message> {
    return toMessage(
      await this.connection.call(attempt, (options) =>
        this.connection.messages.getMessage({ channelId, messageId }, options),
      ),
    );
  }

  async markRead(channelId: string, messageId: string, attempt: Attempt): Promise<Message> {
    const wire = { channelId, messageId, status: MessageStatus.READ };
    return toMessage(
      await this.connection.call(attempt, (options) => this.connection.messages.updateMessage(wire, options)),
    );
  }

  async ask(request: AskRequest, attempt: Attempt): Promise<Message> {
    return toMessage(
      await this.connection.call(attempt, (options) => this.connection.messages.ask({ ...request, ...wireOf(request) }, options)),
    );
  }

  async askAll(request: AskAllRequest, attempt: Attempt): Promise<Message[]> {
    const { responses } = await this.connection.call(attempt, (options) =>
      this.connection.messages.askAll({ ...request, ...wireOf(request) }, options),
    );
    return responses.map(toMessage);
  }

  async awaitResponses(
    channelId: string,
    messageId: string,
    waitSeconds: number,
    minResponses: number,
    attempt: Attempt,
    heedsNo?: boolean,
  ): Promise<Message[]> {
    const wire = { channelId, messageId, waitSeconds, minResponses, explain: heedsNo };
    const { responses } = await this.connection.call(attempt, (options) =>
      this.connection.messages.awaitResponses(wire, options),
    );
    return responses.map(toMessage);
  }

  async acquireLease(request: AcquireLeaseRequest, attempt: Attempt): Promise<GrantedLease> {
    const lease = await this.connection.call(attempt, (options) => this.connection.leases.acquireLease(request, options));
    return { id: lease.id, fence: Number(lease.fence) };
  }

  async renewLease(intentId: string, leaseId: string, durationSeconds: number, attempt: Attempt): Promise<void> {
    const wire = { intentId, leaseId, durationSeconds };
    await this.connection.call(attempt, (options) => this.connection.leases.renewLease(wire, options));
  }

  async releaseLease(intentId: string, leaseId: string, attempt: Attempt): Promise<void> {
    await this.connection.call(attempt, (options) => this.connection.leases.releaseLease({ intentId, leaseId }, options));
  }

  async openIntent(request: OpenIntentRequest, attempt: Attempt): Promise<Intent> {
    const wire = { ...request, defaultPolicy: request.defaultPolicy && (accessPolicies[request.defaultPolicy] ?? badWord) };
    const opened = await this.connection.call(attempt, (options) => this.connection.intents.openIntent(wire, options));
    return toIntent(opened.intent!);
  }

  async createIntent(request: CreateIntentRequest, attempt: Attempt): Promise<Intent> {
    const wire = {
      ...request,
      dependsOn: [...(request.dependsOn ?? [])],
      status: request.status && (intentStatuses[request.status] ?? badWord),
      defaultPolicy: request.defaultPolicy && (accessPolicies[request.defaultPolicy] ?? badWord),
    };
    return toIntent(await this.connection.call(attempt, (options) => this.connection.intents.createIntent(wire, options)));
  }

  async listIntents(request: IntentsRequest, attempt: Attempt): Promise<IntentPage> {
    const wire = { ...request, status: request.status && (intentStatuses[request.status] ?? badWord) };
    const page = await this.connection.call(attempt, (options) => this.connection.intents.listIntents(wire, options));
    return { intents: page.intents.map(toIntent), total: Number(page.total), nextCursor: page.nextCursor || null };
  }

  async listAgents({ role, status, capabilities = [], limit, cursor }: AgentsRequest, attempt: Attempt): Promise<AgentPage> {
    const chosen = status && (agentStatuses[status] ?? badWord);
    const wire = { roleId: role, status: chosen, capabilities: [...capabilities], limit, cursor };
    const page = await this.connection.call(attempt, (options) => this.connection.agents.listAgents(wire, options));
    return { agents: page.agents.map(toAgent), total: Number(page.total), nextCursor: page.nextCursor || null };
  }

  async getAgent(agentId: string, attempt: Attempt): Promise<AgentRecord> {
    return toAgent(await this.connection.call(attempt, (options) => this.connection.agents.getAgent({ agentId }, options)));
  }

  async getReach(agentId: string, attempt: Attempt): Promise<Reach> {
    return toReach(await this.connection.call(attempt, (options) => this.connection.reach.getReach({ agentId }, options)));
  }

  async listConcerns({ kind, ...filters }: ConcernFilters, attempt: Attempt): Promise<ConcernPage> {
    const wire = { ...filters, kind: kind && (concernKinds[kind] ?? badWord) };
    const page = await this.connection.call(attempt, (options) => this.connection.concerns.listConcerns(wire, options));
    return { concerns: page.concerns.map(toConcern), nextCursor: page.nextCursor || null };
  }

  async getIntent(intentId: string, attempt: Attempt): Promise<Intent> {
    return toIntent(
      await this.connection.call(attempt, (options) => this.connection.intents.getIntent({ intentId }, options)),
    );
  }

  async setIntentStatus(intentId: string, status: IntentStatus, version: number, attempt: Attempt): Promise<Intent> {
    const wire = { intentId, status: intentStatuses[status] ?? badWord, expectedVersion: BigInt(version) };
    return toIntent(
      await this.connection.call(attempt, (options) => this.connection.intents.setIntentStatus(wire, options)),
    );
  }

  async *follow(
    channelId: string,
    after: number | undefined,
    include: readonly Included[],
    attempt: FollowAttempt,
  ): AsyncGenerator<Followed, void> {
    const request = {
      scope: { case: "channelId" as const, value: channelId },
      afterPosition: after === undefined ? undefined : BigInt(after),
      include: [...include],
    };
    const onHeader = (header: Headers): void => {
      const position = header.get(positionHeader);
      if (position !== null) {
        attempt.accepted(Number(position));
      }
    };
    const stream = this.connection.stream(attempt, (options) =>
      this.connection.messages.subscribe(request, { ...options, onHeader }),
    );
    for await (const delivery of stream) {
      yield toFollowed(delivery);
    }
  }

  close(): void {
    this.connection.close();
  }
}

function toFollowed(delivery: SubscribeResponse): Followed {
  const position = Number(delivery.position);
  const { message, intentId, channelName, annotation } = delivery;
  const attention = toAttention(delivery.attention);
  return {
    position,
    message: message ? { ...toMessage(message), intentId, channelName, position, attention } : null,
    ...(annotation && { annotation: toAnnotation(annotation) }),
  };
}

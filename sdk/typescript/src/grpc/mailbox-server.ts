import type { Received } from "../agent/server.js";
import { AlreadyExistsError, NotFoundError } from "../errors.js";
import { MessageType } from "../generated/openintent/v1/messages_pb.js";
import type { Subscription } from "../generated/openintent/v1/subscriptions_pb.js";
import type { AnswersPage, MailboxServer, MailDelivery } from "../mailbox/server.js";
import type { Attempt } from "../transport.js";
import type { Message } from "../types.js";
import type { GrpcConnection } from "./connection.js";
import { toMessage } from "./convert.js";
import { toAttention } from "./conversation-convert.js";
import { receivedBy } from "./deliveries.js";

/**
 * How long the server waits for what a process holds before it sends it again, and how often it does. A process knows what it holds, and
 * does not show it again.
 */
const acknowledgeSeconds = 3600;
const maxAttempts = 100;
const mostOutstanding = 1000;
const inboxPage = 100;
const answersPage = 1000;

/** What the server does for the mailbox of an agent, over gRPC. */
export class GrpcMailboxServer implements MailboxServer {
  constructor(
    private readonly connection: GrpcConnection,
    private readonly agentId: string,
  ) {}

  /** What the server has put aside after too many attempts is delivered again. */
  async subscribe(name: string, attempt: Attempt): Promise<string> {
    const made = { name, eventTypes: ["channel_message"], acknowledgeSeconds, maxAttempts, include: ["attention"] };
    for (;;) {
      try {
        const wire = { ...made, subscriberId: this.agentId };
        return (await this.connection.call(attempt, (options) => this.connection.subscriptions.createSubscription(wire, options))).id;
      } catch (error) {
        if (!(error instanceof AlreadyExistsError)) {
          throw error;
        }
      }
      const there = await this.#find(name, attempt);
      if (there?.active) {
        if (there.deadLetterCount > 0) {
          const wire = { subscriptionId: there.id };
          await this.connection.call(attempt, (options) => this.connection.subscriptions.redriveDeadLetters(wire, options));
        }
        return there.id;
      }
      if (there !== undefined) {
        await this.#forget(there.id, attempt);
      }
    }
  }

  async #find(name: string, attempt: Attempt): Promise<Subscription | undefined> {
    for (let cursor: string | undefined; ; ) {
      const page = await this.connection.call(attempt, (options) =>
        this.connection.subscriptions.listSubscriptions({ subscriberId: this.agentId, cursor }, options),
      );
      const found = page.subscriptions.find((subscription) => subscription.name === name);
      cursor = page.nextCursor;
      if (found || !cursor) {
        return found;
      }
    }
  }

  async #forget(subscriptionId: string, attempt: Attempt): Promise<void> {
    try {
      await this.connection.call(attempt, (options) =>
        this.connection.subscriptions.deleteSubscription({ subscriptionId }, options),
      );
    } catch (error) {
      if (!(error instanceof NotFoundError)) {
        throw error;
      }
    }
  }

  async *deliveries(subscriptionId: string, accepted: () => void, attempt: Attempt): AsyncGenerator<MailDelivery, void> {
    const wire = {
      subscriptionId,
      maxOutstanding: mostOutstanding,
      announceActive: true,
      announceCaughtUp: true,
      probes: true,
    };
    const stream = this.connection.stream(attempt, (options) =>
      this.connection.subscriptions.streamDeliveries(wire, { ...options, onHeader: accepted }),
    );
    for await (const delivery of stream) {
      const { number, standingBy, caughtUp, probeId } = delivery;
      yield { number: Number(number), standingBy, caughtUp, probeId, received: receivedBy(delivery).at(-1) ?? null };
    }
  }

  async acknowledge(subscriptionId: string, numbers: readonly number[], attempt: Attempt): Promise<void> {
    const wire = { subscriptionId, numbers: numbers.map(BigInt) };
    await this.connection.call(attempt, (options) => this.connection.subscriptions.acknowledgeDeliveries(wire, options));
  }

  async confirm(probeId: string, attempt: Attempt): Promise<void> {
    const wire = { agentId: this.agentId, probeId };
    await this.connection.call(attempt, (options) => this.connection.reach.confirmProbe(wire, options));
  }

  async surface(ids: readonly string[], attempt: Attempt): Promise<void> {
    const wire = { agentId: this.agentId, messageIds: [...ids] };
    await this.connection.call(attempt, (options) => this.connection.attention.markSurfaced(wire, options));
  }

  async markRead(ids: readonly string[], attempt: Attempt): Promise<void> {
    const wire = { agentId: this.agentId, messageIds: [...ids] };
    await this.connection.call(attempt, (options) => this.connection.messages.markInboxRead(wire, options));
  }

  async inbox(cursor: string | undefined, attempt: Attempt): Promise<{ requests: readonly Received[]; next: string | undefined }> {
    const wire = { agentId: this.agentId, limit: inboxPage, cursor, include: ["attention"] };
    const page = await this.connection.call(attempt, (options) => this.connection.messages.getInbox(wire, options));
    const requests: Received[] = [];
    for (const { message, intentId, channelName, read, attention: wired } of page.items) {
      if (message?.messageType === MessageType.REQUEST && !read) {
        const attention = toAttention(wired);
        requests.push({ message: toMessage(message), intentId, channelName, position: null, attempt: 1, attention });
      }
    }
    return { requests, next: page.nextCursor };
  }

  async answers(message: Message, since: string, attempt: Attempt): Promise<AnswersPage> {
    const which = message.messageType === "request" ? { correlationId: message.id } : { threadId: message.threadId ?? message.id };
    const wire = { channelId: message.channelId, since, limit: answersPage, ...which };
    const page = await this.connection.call(attempt, (options) => this.connection.messages.listMessages(wire, options));
    const goesOn = page.bounded || page.messages.length > 0; // A page may end early, because its texts are long.
    const next = goesOn ? page.nextSince : undefined;
    return { messages: page.messages.map((wired) => toMessage(wired)), next };
  }
}

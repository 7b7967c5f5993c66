import type { Discharge, Disposition, Explanation, GrantedClaim, ObligationSide, Place, Reaction } from "../conversation-types.js";
import type { Attempt, ConversationTransport, EditRequest } from "../transport.js";
import type { SearchFilters, SearchPage } from "../searching.js";
import type { Message, Revision, Thread } from "../types.js";
import type { GrpcConnection } from "./connection.js";
import { toMessage } from "./convert.js";
import { attentionOf, sides, toClaim, toDischarge, toList, toReaction, toRevision } from "./conversation-convert.js";
import { badWord, dateOf, timestamp } from "./words.js";

/** The calls on messages, over gRPC. */
export class GrpcConversation implements ConversationTransport {
  constructor(private readonly connection: GrpcConnection) {}

  async search(q: string, filters: SearchFilters, attempt: Attempt): Promise<SearchPage> {
    const { intentId, channelId, threadId, sender, to, kind, after, before, limit, cursor } = filters;
    const plain = { q, intentId, channelId, threadId, sender, to, kind, limit, cursor };
    const wire = { ...plain, after: timestamp(after), before: timestamp(before) };
    const page = await this.connection.call(attempt, (options) => this.connection.search.searchMessages(wire, options));
    const messages = page.messages.map(({ message, snippet, intentId, channelName }) => ({
      message: toMessage(message!),
      snippet,
      intentId,
      channelName,
    }));
    const { nextCursor, intentsNotIndexed, bounded } = page;
    return {
      messages,
      nextCursor: nextCursor ?? null,
      completeThrough: dateOf(page.completeThrough),
      completeFrom: dateOf(page.completeFrom),
      messagesLeft: Number(page.messagesLeft),
      intentsNotIndexed,
      bounded,
    };
  }

  async getThread(channelId: string, messageId: string, attempt: Attempt): Promise<Thread> {
    const messages: Message[] = [];
    const participants = new Set<string>();
    for (let cursor: string | undefined; ; ) {
      const page = await this.connection.call(attempt, (options) =>
        this.connection.messages.getThread({ channelId, messageId, cursor }, options),
      );
      messages.push(...page.messages.map(toMessage));
      page.participants.forEach((name) => participants.add(name));
      cursor = page.nextCursor;
      if (!cursor) {
        const root = page.root ? toMessage(page.root) : null;
        return { root, messages, participants: [...participants], lastPosition: Number(page.lastPosition) };
      }
    }
  }

  async editMessage({ mentions, ...plain }: EditRequest, attempt: Attempt): Promise<Message> {
    const wire = { ...plain, ...(mentions && { mentions: toList(mentions) }) };
    return toMessage(await this.connection.call(attempt, (options) => this.connection.messages.updateMessage(wire, options)));
  }

  async deleteMessage(place: Place, attempt: Attempt): Promise<Message> {
    return toMessage(await this.connection.call(attempt, (options) => this.connection.messages.deleteMessage(place, options)));
  }

  async listRevisions(place: Place, attempt: Attempt): Promise<Revision[]> {
    const found: Revision[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await this.connection.call(attempt, (options) =>
        this.connection.messages.listRevisions({ ...place, cursor }, options),
      );
      found.push(...page.revisions.map(toRevision));
      cursor = page.nextCursor;
      if (!cursor) {
        return found;
      }
    }
  }

  async addReaction(
    channelId: string,
    messageId: string,
    signal: string,
    more: { note?: string | undefined; eta?: string | undefined },
    attempt: Attempt,
  ): Promise<Reaction[]> {
    const wire = { channelId, messageId, signal, ...more };
    const answer = await this.connection.call(attempt, (options) => this.connection.reactions.addReaction(wire, options));
    return answer.reactions.map(toReaction);
  }

  async removeReaction(channelId: string, messageId: string, signal: string, attempt: Attempt): Promise<Reaction[]> {
    const wire = { channelId, messageId, signal };
    const answer = await this.connection.call(attempt, (options) => this.connection.reactions.removeReaction(wire, options));
    return answer.reactions.map(toReaction);
  }

  async listReactions(channelId: string, messageId: string, attempt: Attempt): Promise<Reaction[]> {
    const found: Reaction[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await this.connection.call(attempt, (options) =>
        this.connection.reactions.listReactions({ channelId, messageId, cursor }, options),
      );
      found.push(...page.reactions.map(toReaction));
      cursor = page.nextCursor;
      if (!cursor) {
        return found;
      }
    }
  }

  async getAttention(
    channelId: string,
    messageId: string,
    agentId: string | undefined,
    attempt: Attempt,
  ): Promise<Explanation> {
    const answer = await this.connection.call(attempt, (options) =>
      this.connection.attention.getAttention({ channelId, messageId, agentId }, options),
    );
    return {
      attention: answer.directedness === undefined ? null : attentionOf(answer),
      rules: answer.rules.map(({ rule, effect }) => ({ rule, effect })),
    };
  }

  async setDisposition(
    channelId: string,
    messageId: string,
    disposition: Disposition,
    { reason, until }: { reason?: string | undefined; until?: Date | undefined },
    attempt: Attempt,
  ): Promise<void> {
    const wire = { channelId, messageId, disposition, reason, until: timestamp(until) };
    await this.connection.call(attempt, (options) => this.connection.attention.setDisposition(wire, options));
  }

  async discharge(place: Place, note: string | undefined, attempt: Attempt): Promise<Discharge> {
    const wire = { ...place, note };
    return toDischarge(
      await this.connection.call(attempt, (options) => this.connection.obligations.dischargeObligation(wire, options)),
    );
  }

  async listObligations(agentId: string, side: ObligationSide, attempt: Attempt): Promise<Message[]> {
    const found: Message[] = [];
    for (let cursor: string | undefined; ; ) {
      const wire = { agentId, side: sides[side] ?? badWord, cursor };
      const page = await this.connection.call(attempt, (options) =>
        this.connection.obligations.listObligations(wire, options),
      );
      found.push(...page.messages.map(toMessage));
      cursor = page.nextCursor;
      if (!cursor) {
        return found;
      }
    }
  }

  async claim(
    place: Place,
    ttlSeconds: number,
    { key, fence }: { key?: string; fence?: number },
    attempt: Attempt,
  ): Promise<GrantedClaim> {
    const wire = { ...place, ttlSeconds, idempotencyKey: key, fence: fence === undefined ? undefined : BigInt(fence) };
    return toClaim(await this.connection.call(attempt, (options) => this.connection.claims.claimMessage(wire, options)));
  }

  async releaseClaim(place: Place, fence: number, attempt: Attempt): Promise<void> {
    const wire = { ...place, fence: BigInt(fence) };
    await this.connection.call(attempt, (options) => this.connection.claims.releaseClaim(wire, options));
  }
}

import type { Discharge, Disposition, Explanation, GrantedClaim, ObligationSide, Place, Reaction } from "../conversation-types.js";
import type { Attempt, ConversationTransport, EditRequest } from "../transport.js";
import type { FoundMessage, SearchFilters, SearchPage } from "../searching.js";
import type { Message, Revision, Thread } from "../types.js";
import { path, type Call, type Page } from "./call.js";
import { toAttention, toDischarge, toReaction, toRevision } from "./conversation-convert.js";
import { toMessage } from "./convert.js";
import { date, list, object, requiredDate } from "./wire.js";

/** The calls on messages, over REST. `page` makes a call. */
export class RestConversation implements ConversationTransport {
  constructor(private readonly page: (attempt: Attempt, call: Call) => Promise<Page>) {}

  async search(q: string, filters: SearchFilters, attempt: Attempt): Promise<SearchPage> {
    const { sender, to, kind, limit, cursor } = filters;
    const query = {
      ...{ q, sender, to, kind, limit, cursor },
      intent_id: filters.intentId,
      channel_id: filters.channelId,
      thread_id: filters.threadId,
      after: filters.after?.toISOString(),
      before: filters.before?.toISOString(),
    };
    const wire = object((await this.page(attempt, { method: "GET", path: "messages/search", query })).body);
    return {
      messages: list(wire["messages"], toFound),
      nextCursor: wire["next_cursor"] ?? null,
      completeThrough: date(wire["complete_through"]),
      completeFrom: date(wire["complete_from"]),
      messagesLeft: wire["messages_left"] ?? 0,
      intentsNotIndexed: wire["intents_not_indexed"] ?? 0,
      bounded: wire["bounded"] ?? false,
    };
  }

  async getThread(channelId: string, messageId: string, attempt: Attempt): Promise<Thread> {
    const messages: Message[] = [];
    const participants = new Set<string>();
    for (let cursor: string | undefined; ; ) {
      const place = `${of(channelId, messageId)}/thread`;
      const { body } = await this.page(attempt, { method: "GET", path: place, query: { cursor } });
      const wire = object(body);
      messages.push(...list(wire["messages"], toMessage));
      list(wire["participants"], (name) => participants.add(String(name)));
      cursor = wire["next_cursor"] ?? undefined;
      if (!cursor) {
        const root = wire["root"] == null ? null : toMessage(wire["root"]);
        return { root, messages, participants: [...participants], lastPosition: wire["last_position"] };
      }
    }
  }

  async editMessage({ channelId, messageId, ...body }: EditRequest, attempt: Attempt): Promise<Message> {
    return toMessage((await this.page(attempt, { method: "PATCH", path: of(channelId, messageId), body })).body);
  }

  async deleteMessage({ channelId, messageId }: Place, attempt: Attempt): Promise<Message> {
    return toMessage((await this.page(attempt, { method: "DELETE", path: of(channelId, messageId) })).body);
  }

  async listRevisions({ channelId, messageId }: Place, attempt: Attempt): Promise<Revision[]> {
    const found: Revision[] = [];
    for (let cursor: string | undefined; ; ) {
      const place = `${of(channelId, messageId)}/revisions`;
      const { body, next } = await this.page(attempt, { method: "GET", path: place, query: { cursor } });
      found.push(...list(body, toRevision));
      cursor = next;
      if (!cursor) {
        return found;
      }
    }
  }

  async addReaction(
    channelId: string,
    messageId: string,
    signal: string,
    body: { note?: string | undefined; eta?: string | undefined },
    attempt: Attempt,
  ): Promise<Reaction[]> {
    const place = `${of(channelId, messageId)}/` + path`reactions/${signal}`;
    return list((await this.page(attempt, { method: "PUT", path: place, body })).body, toReaction);
  }

  async removeReaction(channelId: string, messageId: string, signal: string, attempt: Attempt): Promise<Reaction[]> {
    const place = `${of(channelId, messageId)}/` + path`reactions/${signal}`;
    return list((await this.page(attempt, { method: "DELETE", path: place })).body, toReaction);
  }

  async listReactions(channelId: string, messageId: string, attempt: Attempt): Promise<Reaction[]> {
    const found: Reaction[] = [];
    for (let cursor: string | undefined; ; ) {
      const place = `${of(channelId, messageId)}/reactions`;
      const { body, next } = await this.page(attempt, { method: "GET", path: place, query: { cursor } });
      found.push(...list(body, toReaction));
      cursor = next;
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
    const call: Call = { method: "GET", path: `${of(channelId, messageId)}/attention`, query: { agent_id: agentId } };
    const wire = object((await this.page(attempt, call)).body);
    const rules = list(wire["rules"], (value) => {
      const { rule, effect } = object(value);
      return { rule: String(rule), effect: String(effect) };
    });
    return { attention: toAttention(wire), rules };
  }

  async setDisposition(
    channelId: string,
    messageId: string,
    disposition: Disposition,
    { reason, until }: { reason?: string | undefined; until?: Date | undefined },
    attempt: Attempt,
  ): Promise<void> {
    const body = { disposition, reason, until: until?.toISOString() };
    await this.page(attempt, { method: "POST", path: `${of(channelId, messageId)}/disposition`, body });
  }

  async discharge({ channelId, messageId }: Place, note: string | undefined, attempt: Attempt): Promise<Discharge> {
    const call: Call = { method: "POST", path: `${of(channelId, messageId)}/discharge`, body: { note } };
    return toDischarge((await this.page(attempt, call)).body);
  }

  async listObligations(agentId: string, side: ObligationSide, attempt: Attempt): Promise<Message[]> {
    const found: Message[] = [];
    for (let cursor: string | undefined; ; ) {
      const call: Call = { method: "GET", path: path`agents/${agentId}/obligations`, query: { side, cursor } };
      const { body, next } = await this.page(attempt, call);
      found.push(...list(body, toMessage));
      cursor = next;
      if (!cursor) {
        return found;
      }
    }
  }

  async claim(
    { channelId, messageId }: Place,
    ttlSeconds: number,
    { key, fence }: { key?: string; fence?: number },
    attempt: Attempt,
  ): Promise<GrantedClaim> {
    const headers: Record<string, string> = key === undefined ? {} : { "idempotency-key": key };
    const body = { ttl_seconds: ttlSeconds, fence };
    const call: Call = { method: "POST", path: `${of(channelId, messageId)}/claim`, body, headers };
    const wire = object((await this.page(attempt, call)).body);
    return { fence: wire["fence"], expiresAt: requiredDate(wire["expires_at"]) };
  }

  async releaseClaim({ channelId, messageId }: Place, fence: number, attempt: Attempt): Promise<void> {
    await this.page(attempt, { method: "DELETE", path: `${of(channelId, messageId)}/claim`, query: { fence } });
  }
}

function of(channelId: string, messageId: string): string {
  return path`channels/${channelId}/messages/${messageId}`;
}

function toFound(value: unknown): FoundMessage {
  const wire = object(value);
  const { snippet, intent_id: intentId, channel_name: channelName } = wire;
  return { message: toMessage(wire["message"]), snippet, intentId, channelName };
}

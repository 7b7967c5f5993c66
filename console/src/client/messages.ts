import { call, get, part, send } from "./client.ts";
import type { Claim, Fields, Inbox, IssuedInvite, Message, Reaction, Thread } from "./types.ts";

// The calls of the public API by which pages read and write messages.

function pathOf(message: Pick<Message, "channel_id" | "id">): string {
  return `v1/channels/${part(message.channel_id)}/messages/${part(message.id)}`;
}

/** A page of a channel's messages. */
export interface MessagesPage {
  messages: Message[];
  /** True if more may follow. */
  more: boolean;
  /** True if the page has the newest messages and there may be older ones. */
  older: boolean;
}

/** A page ends early once it has 3 MiB. One with fewer characters than this has not. */
const surelyWhole = 500_000;

export async function listMessages(channel: string, query: { since?: string; limit: number }, signal?: AbortSignal): Promise<MessagesPage> {
  const path = `v1/channels/${part(channel)}/messages`;
  const { body, text, headers } = await call<Message[]>("GET", path, { query, ...(signal && { signal }) });
  const link = headers.get("Link") ?? "";
  const ended = body.length >= query.limit || text.length > surelyWhole || link.includes('rel="first"');
  return { messages: body, more: link.includes('rel="next"'), older: query.since === undefined && ended };
}

/** getMessage reads one message, in whichever channel it is, with the answer's text. */
export function getMessage(id: string, signal?: AbortSignal): Promise<{ body: Message; text: string }> {
  return call<Message>("GET", `v1/channels/-/messages/${part(id)}`, signal ? { signal } : {});
}

export function getThread(message: Pick<Message, "channel_id" | "id">, cursor?: string, signal?: AbortSignal): Promise<Thread> {
  return get<Thread>(`${pathOf(message)}/thread`, { cursor, limit: 200 }, signal);
}

/** What somebody writes. */
export interface Draft {
  to?: string;
  message_type?: "request" | "notify" | "broadcast";
  payload: Fields;
  parent_id?: string;
  expires_in_seconds?: number;
}

/** sendMessage sends a message. The key makes it safe to try again: the same key is one message. */
export function sendMessage(channel: string, draft: Draft, key: string): Promise<Message> {
  return send<Message>("POST", `v1/channels/${part(channel)}/messages`, draft, { headers: { "Idempotency-Key": key } });
}

/** reply answers a request. The fence is that of the caller's claim, where the request needs one. */
export function reply(request: Pick<Message, "channel_id" | "id">, payload: Fields, key: string, fence?: number, keepalive = false): Promise<Message> {
  const body = { payload, ...(fence !== undefined && { fence }) };
  return send<Message>("POST", `${pathOf(request)}/reply`, body, { headers: { "Idempotency-Key": key }, keepalive });
}

export function react(message: Pick<Message, "channel_id" | "id">, signal: string, note = "", keepalive = false): Promise<Reaction[]> {
  return send("PUT", `${pathOf(message)}/reactions/${part(signal)}`, note === "" ? {} : { note }, { keepalive });
}

export function unreact(message: Message, signal: string): Promise<Reaction[]> {
  return send("DELETE", `${pathOf(message)}/reactions/${part(signal)}`);
}

export function claim(message: Pick<Message, "channel_id" | "id">, key: string): Promise<Claim> {
  return send<Claim>("POST", `${pathOf(message)}/claim`, {}, { headers: { "Idempotency-Key": key } });
}

export function releaseClaim(message: Message, fence: number): Promise<unknown> {
  return send("DELETE", `${pathOf(message)}/claim`, undefined, { query: { fence } });
}

export function deleteMessage(message: Pick<Message, "channel_id" | "id">, keepalive = false): Promise<unknown> {
  return send("DELETE", pathOf(message), undefined, { keepalive });
}

/** editMessage gives a message of the caller's new content. */
export function editMessage(message: Pick<Message, "channel_id" | "id">, payload: Fields): Promise<Message> {
  return send<Message>("PATCH", pathOf(message), { payload });
}

/** ownFence returns the fence of the claim that the caller holds on a message, if it does. */
export async function ownFence(message: Pick<Message, "channel_id" | "id">): Promise<number | undefined> {
  const { claim } = await get<{ claim: { fence?: number | null } | null }>(`${pathOf(message)}/attention`);
  return claim?.fence ?? undefined;
}

export function getInbox(agent: string, cursor?: string, signal?: AbortSignal): Promise<Inbox> {
  return get<Inbox>(`v1/agents/${part(agent)}/inbox`, { limit: 500, cursor }, signal);
}

/** markRead says that an agent has read messages: all of them or, if the server refuses one, none. */
export function markRead(agent: string, ids: readonly string[]): Promise<unknown> {
  return send("POST", `v1/agents/${part(agent)}/inbox/read`, { message_ids: ids }, { keepalive: true });
}

/** makeObserverLink makes an invite with which others may watch a channel, and nothing else. */
export function makeObserverInvite(channel: string, guests: number, expires: Date): Promise<IssuedInvite> {
  return send<IssuedInvite>("POST", `v1/channels/${part(channel)}/invites`, {
    label: "Observer link",
    read_only: true,
    max_agents: guests,
    expires_at: expires.toISOString(),
  });
}

/** newKey makes an idempotency key. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return "console-" + Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

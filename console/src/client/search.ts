import { get } from "./client.ts";
import type { Message } from "./types.ts";

export interface Found {
  message: Message;
  /** The text around what was found. */
  snippet: string;
  intent_id: string;
  channel_name: string;
}

export interface Results {
  messages: Found[];
  next_cursor: string | null;
  complete_through: string | null;
  bounded: boolean;
  complete_from: string | null;
  messages_left: number;
  intents_not_indexed: number;
}

export function searchMessages(query: Record<string, string | undefined>, signal?: AbortSignal): Promise<Results> {
  return get<Results>("v1/messages/search", { ...query, limit: 30 }, signal);
}

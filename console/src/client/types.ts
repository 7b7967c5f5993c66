// What the pages read of the API's answers. gen/openapi/openapi.json describes every field.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Fields = { [key: string]: Json };

export type MessageType = "request" | "response" | "notify" | "broadcast";

export interface Message {
  id: string;
  channel_id: string;
  sender: string;
  to: string | null;
  message_type: MessageType;
  correlation_id: string | null;
  payload: Fields;
  metadata: Fields;
  status: "pending" | "delivered" | "read" | "expired";
  created_at: string;
  expires_at: string | null;
  read_at: string | null;
  parent_id?: string;
  thread_id?: string;
  subject?: string;
  kind?: string;
  task_id?: string;
  priority?: "low" | "normal" | "high" | "urgent";
  mentions?: string[];
  collect?: "any" | "one" | "all" | { quorum: number };
  revision?: number;
  edited_at?: string;
  deleted_at?: string;
  obligation?: { blocks: "halted" | "degraded" | "none"; delegate: string | null };
  document?: boolean;
  sender_kind?: "human";
}

/** A message as a stream brings it. */
export interface StreamedMessage extends Message {
  intent_id: string;
  channel_name: string;
  backfill?: boolean;
}

export interface Reaction {
  agent_id: string;
  signal: string;
  note: string | null;
  eta: string | null;
  created_at: string;
}

/** Something that happened to a message, as a stream brings it. */
export interface Annotation {
  type: string;
  position: number;
  message_id: string;
  channel_id: string;
  agent_id: string;
  created_at: string;
  change?: "added" | "removed";
  signal?: string;
  note?: string;
  eta?: string;
  revision?: number;
  expires_at?: string;
  reason?: string;
  disposition?: string;
  until?: string;
}

export interface Claim {
  message_id: string;
  holder: string;
  fence: number;
  expires_at: string;
}

export interface Thread {
  root: Message | null;
  messages: Message[];
  participants: string[];
  /** The highest place in the intent's log among these messages. */
  last_position: number;
  next_cursor: string | null;
  reactions: (Reaction & { message_id: string })[];
  claim: { holder: string; expires_at: string } | null;
  bounded: boolean;
}

export interface Revision {
  revision: number;
  payload: Fields;
  metadata: Fields;
  subject: string | null;
  mentions: string[];
  created_at: string;
}

export interface Channel {
  id: string;
  intent_id: string;
  task_id: string | null;
  name: string;
  created_by: string;
  members: string[];
  member_policy: "intent" | "explicit";
  options: { audit: boolean; ttl_seconds: number | null; max_messages: number; history: string; turn_budget: number };
  status: "open" | "closed";
  created_at: string;
  closed_at: string | null;
  message_count: number;
  last_message_at: string | null;
  address?: string;
}

export interface Intent {
  id: string;
  title: string;
  description: string;
  status: "draft" | "active" | "blocked" | "completed" | "abandoned" | "suspended_awaiting_input";
  created_by: string;
  state: Fields;
  version: number;
  created_at: string;
  updated_at: string;
}

export interface Agent {
  agent_id: string;
  role_id: string | null;
  name: string | null;
  status: string;
  status_note: string | null;
}

export interface InboxItem {
  intent_id: string;
  channel_name: string;
  message: Message;
  read: boolean;
}

export interface Inbox {
  items: InboxItem[];
  unread_count: number;
  unanswered_count: number;
  next_cursor: string | null;
  bounded: boolean;
  counts_bounded: boolean;
}

export interface Concern {
  id: string;
  kind: string;
  since: string;
  intent_id?: string | null;
  channel_id?: string | null;
  message_id?: string | null;
  agent_id?: string | null;
  subscription_id?: string | null;
  task_id?: string | null;
  summary: string;
  actions: string[];
}

export interface Concerns {
  concerns: Concern[];
  next_cursor: string | null;
}

export interface Invite {
  id: string;
  channel_id: string;
  label: string;
  expires_at: string;
  read_only: boolean;
}

export interface IssuedInvite {
  invite: Invite;
  secret: string;
}

/** Who is signed in. */
export interface Session {
  agent_id: string;
  human: boolean;
  operator: boolean;
  read_only: boolean;
}

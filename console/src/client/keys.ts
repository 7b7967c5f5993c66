import { asOperator, part, send } from "./client.ts";
import { list, type Listed } from "./list.ts";

export interface Key {
  id: string;
  label: string;
  status: "active" | "expired" | "revoked";
  operator: boolean;
  agents: string[];
  roles: string[];
  read_only: boolean;
  human: boolean;
  created_at: string;
  created_by: string;
  expires_at: string | null;
  last_used_at: string | null;
  former_secret_expires_at: string | null;
  revoked_at: string | null;
  version: number;
  intents: string[];
  channels: string[];
  paused_reason?: string;
}

/** A key with its secret, which no other answer has. */
export interface IssuedKey {
  key: Key;
  secret: string;
}

/** What a new key is. */
export interface NewKey {
  label: string;
  agents?: string[];
  operator?: boolean;
  roles?: string[];
  read_only?: boolean;
  human?: boolean;
  expires_at?: string;
  intents?: string[];
  channels?: string[];
}

export function listKeys(status: string | undefined, cursor?: string, signal?: AbortSignal): Promise<Listed<Key>> {
  return list<Key>("v1/keys", { status, limit: 500, cursor }, signal, asOperator());
}

export function createKey(key: NewKey): Promise<IssuedKey> {
  return send<IssuedKey>("POST", "v1/keys", key, { headers: asOperator() });
}

/** rotateKey gives a key a new secret, and lets the present one work for some seconds more. */
export function rotateKey(key: Key, graceSeconds: number): Promise<IssuedKey> {
  return send<IssuedKey>("POST", `v1/keys/${part(key.id)}/rotate`, { grace_seconds: graceSeconds }, { headers: { ...asOperator(), "If-Match": String(key.version) } });
}

export function revokeKey(key: Key): Promise<Key> {
  return send<Key>("POST", `v1/keys/${part(key.id)}/revoke`, undefined, { headers: asOperator() });
}

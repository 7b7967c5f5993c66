import { get, part, send } from "./client.ts";

export type ContactKind = "webhook" | "ntfy" | "slack" | "mail" | "web_push";

/** A way to a person who does not look, without the secret in its address. */
export interface Contact {
  contact_id: string;
  kind: ContactKind;
  shown: string;
  state: "unproved" | "on" | "off" | "paused";
  created_at: string;
  proved_at: string | null;
  failing_since: string | null;
  last_problem: string | null;
}

/** A new way. */
export type NewContact = { kind: Exclude<ContactKind, "web_push">; address: string } | { kind: "web_push"; push: Push };

/** A browser's subscription to pushes. */
export interface Push {
  endpoint: string;
  p256dh: string;
  auth: string;
}

interface Contacts {
  contacts: Contact[];
}

function pathOf(agent: string): string {
  return `v1/agents/${part(agent)}/contacts`;
}

export async function listContacts(agent: string, signal?: AbortSignal): Promise<Contact[]> {
  return (await get<Contacts>(pathOf(agent), undefined, signal)).contacts;
}

/** setContacts makes those that are kept and the new ones a name's contacts. The server sends a code to each new one. */
export async function setContacts(agent: string, kept: readonly Contact[], added: readonly NewContact[] = []): Promise<Contact[]> {
  const contacts = [...kept.map(({ contact_id }) => ({ contact_id })), ...added];
  return (await send<Contacts>("PUT", pathOf(agent), { contacts })).contacts;
}

/** proveContact gives back the code that has come there. */
export function proveContact(agent: string, contact: Contact, code: string): Promise<Contact> {
  return send<Contact>("POST", `${pathOf(agent)}/${part(contact.contact_id)}/prove`, { code });
}

/** sendCode has a new code sent there. */
export function sendCode(agent: string, contact: Contact): Promise<Contact> {
  return send<Contact>("POST", `${pathOf(agent)}/${part(contact.contact_id)}/code`, {});
}

/** getPushKey is the key with which a browser subscribes to this server's pushes. */
export async function getPushKey(): Promise<string> {
  return (await get<{ public_key: string }>("v1/web-push-key")).public_key;
}

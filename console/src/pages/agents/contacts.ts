import type { Contact, ContactKind } from "../../client/contacts.ts";

type Tone = "plain" | "good" | "warn" | "bad";

/** How the kinds are named, and what their address is. A browser is no kind that somebody types. */
export const kinds: Record<ContactKind, { word: string; address: string; example: string; hint: string }> = {
  ntfy: {
    word: "ntfy",
    address: "Topic's address",
    example: "https://ntfy.example/a-topic-that-nobody-guesses",
    hint: "Whoever knows the topic reads what comes there, so choose one that nobody guesses.",
  },
  mail: { word: "Mail", address: "Mail address", example: "maria@example.com", hint: "The mail says who asks, and has a link. It has nothing of the question." },
  slack: {
    word: "Slack",
    address: "Address of the incoming webhook",
    example: "https://hooks.slack.example/services/…",
    hint: "Slack gives you this address when you add an incoming webhook to a channel.",
  },
  webhook: { word: "Webhook", address: "URL", example: "https://example.com/only-you-know-this", hint: "The server posts JSON there. Whoever knows the address can post there, too." },
  web_push: { word: "A browser", address: "", example: "", hint: "" },
};

/** The kinds that somebody adds by writing an address, in the order in which the page offers them. */
export const written = ["ntfy", "mail", "slack", "webhook"] as const;

export const states: Record<Contact["state"], { word: string; tone: Tone; meaning: string }> = {
  unproved: { word: "waits for its code", tone: "warn", meaning: "A code was sent there. Enter it, so that the server knows that it reaches you." },
  on: { word: "on", tone: "good", meaning: "The server tells you there when something waits for you." },
  off: { word: "switched off", tone: "bad", meaning: "Nothing arrived there for a day. Have a new code sent, and enter it." },
  paused: { word: "paused", tone: "warn", meaning: "The key with which it was set has ended. Have a new code sent, and enter it." },
};

/** needsCode reports whether nothing is sent there until somebody enters a code. */
export function needsCode({ state }: Contact): boolean {
  return state !== "on";
}

/** shownOf is how the server shows an address: the host and the last four characters. */
export function shownOf(endpoint: string): string {
  const { origin, host } = new URL(endpoint);
  const rest = endpoint.slice(origin.length);
  return rest.length < 8 ? `${host} …` : `${host} …${rest.slice(-4)}`;
}

/** isOf reports whether a contact is the browser with this subscription, as far as what is shown of it tells. */
export function isOf(contact: Contact, endpoint: string | undefined): boolean {
  return endpoint !== undefined && contact.kind === "web_push" && contact.shown === shownOf(endpoint);
}

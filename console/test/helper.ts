import type { Message } from "../src/client/types.ts";

let made = 0;

/** message makes a message for tests, each a second after the one before unless it says otherwise. */
export function message(more: Partial<Message> = {}): Message {
  made++;
  return {
    id: `msg_${made}`,
    channel_id: "chan_1",
    sender: "alice",
    to: null,
    message_type: "notify",
    correlation_id: null,
    payload: {},
    metadata: {},
    status: "delivered",
    created_at: at(made),
    expires_at: null,
    read_at: null,
    ...more,
  };
}

/** at writes the time so many seconds after the beginning of the tests' day, at noon. */
export function at(seconds: number): string {
  return new Date(Date.UTC(2026, 10, 24, 12) + seconds * 1000).toISOString().replace("Z", "000Z");
}

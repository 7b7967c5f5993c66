import { get, part, send } from "../../client/client.ts";
import { claim, deleteMessage, newKey, react } from "../../client/messages.ts";
import type { Concern } from "../../client/types.ts";

/** For how long "later" puts something off, in milliseconds. */
const later = 3_600_000;

/** How many dead letters one call lets go of. */
const atOnce = 1000;

/** What does an action when its time has come. keepalive: the call outlives the page. It makes one call, so that none is left undone then. */
export type Act = (keepalive: boolean) => Promise<unknown>;

/** Each action of a concern that one click does, as the public call that it is. */
const acts: Record<string, (concern: Concern) => Act | Promise<Act>> = {
  claim: (concern) => () => claim(messageOf(concern), newKey()),
  decline: (concern) => (keepalive) => react(messageOf(concern), "declined", "", keepalive),
  defer: (concern) => (keepalive) => {
    const body = { disposition: "deferred", until: new Date(Date.now() + later).toISOString() };
    return send("POST", `${pathOf(concern)}/disposition`, body, { keepalive });
  },
  discharge: (concern) => (keepalive) => send("POST", `${pathOf(concern)}/discharge`, {}, { keepalive }),
  withdraw: (concern) => (keepalive) => deleteMessage(messageOf(concern), keepalive),
  redrive: (concern) => (keepalive) => send("POST", `${deadLettersOf(concern)}/redrive`, {}, { keepalive }),
  drop: async (concern) => {
    const letters = await get<{ delivery: { number: number } }[]>(deadLettersOf(concern), { limit: atOnce });
    const numbers = letters.map((letter) => letter.delivery.number);
    return (keepalive) => send("POST", `v1/subscriptions/${part(concern.subscription_id ?? "")}/acknowledge`, { numbers }, { keepalive });
  },
  lift: (concern) => (keepalive) =>
    send(
      "POST",
      `v1/channels/${part(concern.channel_id ?? "")}/brake/lift`,
      concern.message_id ? { thread_id: concern.message_id } : {},
      { keepalive },
    ),
};

/** prepare reads what an action needs, so that it can be done with one call later. */
export async function prepare(action: string, concern: Concern): Promise<Act> {
  const made = acts[action];
  return made === undefined ? () => Promise.resolve() : made(concern);
}

/** canPerform reports whether the page knows how to do an action with one click. */
export function canPerform(action: string): boolean {
  return Object.hasOwn(acts, action);
}

function messageOf(concern: Concern): { channel_id: string; id: string } {
  return { channel_id: concern.channel_id ?? "-", id: concern.message_id ?? "" };
}

function pathOf(concern: Concern): string {
  const { channel_id, id } = messageOf(concern);
  return `v1/channels/${part(channel_id)}/messages/${part(id)}`;
}

function deadLettersOf(concern: Concern): string {
  return `v1/subscriptions/${part(concern.subscription_id ?? "")}/dead_letters`;
}

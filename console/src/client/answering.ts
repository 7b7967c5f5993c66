import { claim, newKey, ownFence, reply } from "./messages.ts";
import type { Fields, Message } from "./types.ts";

/** What the rule needs to know of a request. */
export type Answerable = Pick<Message, "channel_id" | "id" | "to" | "collect">;

/** takesExactly reports whether a request takes an exact number of answers from whoever holds a role, so that each answer needs a claim. */
export function takesExactly({ to, collect }: Pick<Message, "to" | "collect">): boolean {
  return (collect === "one" || typeof collect === "object") && (to?.startsWith("role:") ?? false);
}

/** answer answers a request. One that takes an exact number of answers from a role is claimed first, unless the caller has a claim already. */
export async function answer(request: Answerable, payload: Fields, key: string): Promise<void> {
  const fence = takesExactly(request) ? ((await ownFence(request)) ?? (await claim(request, newKey())).fence) : undefined;
  await reply(request, payload, key, fence);
}

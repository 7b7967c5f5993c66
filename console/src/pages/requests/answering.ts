import { claim, newKey, ownFence, reply } from "../../client/messages.ts";
import type { Fields, Message } from "../../client/types.ts";

/** answer answers a request. One that takes an exact number of answers from whoever holds a role is claimed first, unless it is already. */
export async function answer(request: Message, payload: Fields, key: string): Promise<void> {
  const exactly = request.collect === "one" || typeof request.collect === "object";
  const claimed = exactly && (request.to?.startsWith("role:") ?? false);
  const fence = claimed ? ((await ownFence(request)) ?? (await claim(request, newKey())).fence) : undefined;
  await reply(request, payload, key, fence);
}

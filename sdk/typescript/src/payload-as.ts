import { PayloadError } from "./errors.js";
import type { JsonObject, Message } from "./types.js";

/**
 * The payload of a message as `read` returns it, such as the `parse` of a schema.
 *
 * @throws PayloadError that names the sender, when `read` throws
 */
export function payloadAs<T>({ payload, sender, id }: Pick<Message, "payload" | "sender" | "id">, read: (payload: JsonObject) => T): T {
  try {
    return read(payload);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new PayloadError("payload", `does not fit: ${problem.replace(/\s*\n\s*/g, " ")}`, { sender, id });
  }
}

import { call, type CallOptions } from "./client.ts";
import { cursorIn } from "./link.ts";

/** One page of a list, and the cursor of the next one; undefined on the last page. */
export interface Listed<T> {
  items: T[];
  next: string | undefined;
}

/** list reads a page of a list whose answer is an array; where it goes on stands in the header Link. `more` are further headers. */
export async function list<T>(path: string, query: CallOptions["query"], signal?: AbortSignal, more: Record<string, string> = {}): Promise<Listed<T>> {
  const { body, headers } = await call<T[]>("GET", path, { ...(query && { query }), ...(signal && { signal }), headers: more });
  return { items: body, next: cursorIn(headers.get("Link")) };
}

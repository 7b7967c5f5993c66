import type { ConnectError } from "@connectrpc/connect";
import { linkedAbort, type Clock } from "../clock.js";

/** How long to wait for an answer, in milliseconds. */
const patience = 2_000;

/** The form in which the REST face of the server reports failures. */
const problem = "application/problem+json";

/** Whether a call of gRPC was answered by the REST face of a server, which speaks HTTP/2 too when it has TLS. */
export function isRestAnswer({ metadata }: ConnectError): boolean {
  return metadata.get("content-type")?.startsWith(problem) ?? false;
}

/** Whether the REST face of a server listens at this origin. It is asked for something that it does not have. */
export async function isRestFace(origin: string, signal: AbortSignal, clock: Clock): Promise<boolean> {
  const either = linkedAbort(signal);
  const stop = clock.after(patience, () => either.abort());
  try {
    const answer = await fetch(`${origin}/v1/`, { redirect: "manual", signal: either.signal });
    const text = await answer.text();
    return (answer.headers.get("content-type") ?? "").startsWith(problem) && text.includes("urn:openintent:");
  } catch {
    return false;
  } finally {
    stop();
    either.release();
  }
}

import type { Message } from "../../client/types.ts";

/** How a request stands, as far as the reader sees it. */
export type Standing =
  | { state: "waiting"; expires?: number }
  | { state: "answered"; by: string; after: number; answer: string; answers: number }
  | { state: "declined"; by: string; note: string }
  | { state: "expired" }
  | { state: "withdrawn" };

/** What somebody has said of a request without a message. */
interface Signal {
  agent_id: string;
  signal: string;
  note: string | null;
}

/** standingOf says how a request stands now. An answer counts more than a refusal, and both more than the time. */
export function standingOf(request: Message, answers: readonly Message[], reactions: readonly Signal[], now: number): Standing {
  if (request.deleted_at !== undefined) {
    return { state: "withdrawn" };
  }
  const first = answers[0];
  if (first !== undefined) {
    const after = Date.parse(first.created_at) - Date.parse(request.created_at);
    return { state: "answered", by: first.sender, after, answer: first.id, answers: answers.length };
  }
  const no = reactions.find((one) => one.signal === "declined" && one.agent_id === request.to);
  if (no !== undefined) {
    return { state: "declined", by: no.agent_id, note: no.note ?? "" };
  }
  const expires = request.expires_at === null ? undefined : Date.parse(request.expires_at);
  if (request.status === "expired" || (expires !== undefined && expires <= now)) {
    return { state: "expired" };
  }
  return expires === undefined ? { state: "waiting" } : { state: "waiting", expires };
}

/** mayAnswer reports whether a reader with these names may answer a request: one who was asked, or holds the role that was. */
export function mayAnswer(request: Message, reader: string, roles: readonly string[]): boolean {
  if (request.sender === reader || request.to === null) {
    return false;
  }
  return request.to === reader || (request.to.startsWith("role:") && roles.includes(request.to.slice("role:".length)));
}

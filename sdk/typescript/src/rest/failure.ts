import { defaultAddresses } from "../address.js";
import { connectionLost, errorFrom, OpenIntentError, wrongPort, type Code, type Violation } from "../errors.js";
import { isObject } from "../json.js";
import { missingKey } from "../key.js";
import { noAnswer, notConnected, wrongFace, type Place } from "../server-away.js";

/** The members that every problem has; the others are facts that its reason carries. */
const form = new Set(["type", "title", "status", "detail", "code", "reason", "error", "message", "errors", "instance"]);

/** What a status means when no problem came with it, for example from a proxy. */
const codes: Readonly<Record<number, Code>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  408: "UNAVAILABLE",
  413: "RESOURCE_EXHAUSTED",
  429: "RESOURCE_EXHAUSTED",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
  504: "UNAVAILABLE",
};

/** The codes under which Node.js reports that it got no connection. */
const unconnected = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);

/** Turns a problem document (RFC 9457), or whatever else came with a failure's status, into an error. */
export function problemError(status: number, body: unknown, retryAfter: string | null): OpenIntentError {
  const problem = isObject(body) ? body : {};
  const text = (name: string): string => (typeof problem[name] === "string" ? problem[name] : "");
  const metadata: Record<string, string> = {};
  for (const [name, value] of Object.entries(problem)) {
    if (!form.has(name)) {
      metadata[name] = typeof value === "string" ? value : JSON.stringify(value);
    }
  }
  const code = (text("code") || codes[status] || "UNKNOWN") as Code;
  const reason = text("reason");
  if (code === "DEADLINE_EXCEEDED" && (reason === "" || reason === code)) {
    return noAnswer();
  }
  if (reason === wrongPort.REST) {
    return errorFrom({ code: "UNAVAILABLE", reason, message: text("detail") });
  }
  const sentence = text("detail") || text("message") || `The server answered with the status ${status}.`;
  return errorFrom({
    code,
    // Without a reason, the server repeats the code in its place.
    reason: reason === code ? "" : reason,
    message: reason === "API_KEY_MISSING" ? missingKey(sentence) : sentence,
    metadata,
    violations: violationsOf(problem["errors"]),
    retryDelayMs: (Number(retryAfter) || 0) * 1000,
  });
}

function violationsOf(errors: unknown): Violation[] {
  return (Array.isArray(errors) ? errors : [])
    .filter(isObject)
    .map((error) => ({ field: String(error["field"] ?? ""), description: String(error["description"] ?? "") }));
}

/** Turns what fetch, or reading its answer, threw into this package's error. `place` is where the server is. */
export function fetchError(thrown: unknown, signal: AbortSignal, place: Place): unknown {
  if (signal.aborted) {
    return signal.reason;
  }
  if (thrown instanceof OpenIntentError) {
    return thrown;
  }
  // Node.js says in the cause what went wrong; browsers do not say it.
  const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
  const { code, message, data } = Object(cause) as { code?: unknown; message?: unknown; data?: unknown };
  if (isHttp2(data)) {
    return wrongFace(place.server, "REST", defaultAddresses.rest);
  }
  const text = `The connection failed: ${message || code || String(cause)}`;
  return unconnected.has(String(code)) ? notConnected(text.includes(String(code)) ? text : `${text} (${code})`, thrown, place) : connectionLost(text, thrown);
}

/** Whether what was read in place of an answer is how a server begins that speaks nothing but HTTP/2: with its settings. */
function isHttp2(data: unknown): boolean {
  return typeof data === "string" && /^\0{2}[\0-\x7f]\x04\0{5}/.test(data);
}

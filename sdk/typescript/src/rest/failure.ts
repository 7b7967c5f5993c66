import { connectionLost, errorFrom, OpenIntentError, type Code, type Violation } from "../errors.js";
import { isObject } from "../json.js";

/** The members that every problem has; the others are facts that its reason carries. */
const form = new Set(["type", "title", "status", "detail", "code", "reason", "error", "message", "errors", "instance"]);

/** What a status means when no problem came with it, for example from a proxy. */
const codes: Readonly<Record<number, Code>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  408: "DEADLINE_EXCEEDED",
  413: "RESOURCE_EXHAUSTED",
  429: "RESOURCE_EXHAUSTED",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
  504: "UNAVAILABLE",
};

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
  return errorFrom({
    code,
    // Without a reason, the server repeats the code in its place.
    reason: reason === code ? "" : reason,
    message: text("detail") || text("message") || `The server answered with the status ${status}.`,
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

/** Turns what fetch, or reading its answer, threw into this package's error. */
export function fetchError(thrown: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) {
    return signal.reason;
  }
  if (thrown instanceof OpenIntentError) {
    return thrown;
  }
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return connectionLost(`The connection failed: ${text}`, thrown);
}

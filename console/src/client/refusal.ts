/** Refused is what the server said when it refused a call: a stable reason, and one sentence for people. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly reason: string,
    /** The server's sentence. */
    readonly detail: string,
    /** Whatever else the answer says, such as `message_id` or `current_version`. */
    readonly facts: Readonly<Record<string, unknown>> = {},
    /** After how many seconds it may help to try again; undefined if the server does not say. */
    readonly retryAfter?: number,
  ) {
    super(detail);
    this.name = "Refused";
  }
}

/** Away says that the server did not answer, or that it cannot answer anybody now. To try again later is right. */
export class Away extends Error {
  constructor(message = "The server does not answer.") {
    super(message);
    this.name = "Away";
  }
}

/** The reasons with which a server refuses everybody for a while. */
const passing = new Set(["SERVER_STOPPING", "DATABASE_UNAVAILABLE", "DATABASE_STORES_NOTHING", "UNAVAILABLE"]);

/**
 * failureOf makes an error of an answer that is no success. What a proxy says in place of the server has no problem in its body and means
 * that the server is away.
 */
export function failureOf(status: number, body: string, retryAfter: string | null): Refused | Away {
  const problem = problemIn(body);
  if (problem === undefined) {
    return status === 502 || status === 503 || status === 504
      ? new Away()
      : new Refused(status, "UNKNOWN", `The server answered with ${status} and gave no reason.`);
  }
  const { reason, detail, ...facts } = problem;
  if (status === 503 && passing.has(reason)) {
    return new Away(detail);
  }
  const seconds = Number(retryAfter);
  return new Refused(status, reason, detail, facts, retryAfter !== null && Number.isFinite(seconds) ? seconds : undefined);
}

interface Problem extends Record<string, unknown> {
  reason: string;
  detail: string;
}

function problemIn(body: string): Problem | undefined {
  try {
    const value = JSON.parse(body) as Partial<Problem> | null;
    if (value !== null && typeof value === "object" && typeof value.reason === "string" && typeof value.detail === "string") {
      return value as Problem;
    }
  } catch {
    // It is no problem, so somebody else answered.
  }
  return undefined;
}

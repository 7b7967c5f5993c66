import { connectionLost, errorFrom, wrongPort, type OpenIntentError } from "./errors.js";

// One rule for a server that is away: a call is made again until its deadline. Then it fails with an UnavailableError that
// names the server's address.

/** Failures of attempts that certainly did not reach a server. */
const unsent = new WeakSet<object>();

/** Failures of attempts that a server on this machine would have got. */
const nearby = new WeakSet<object>();

/** What is known of a server that may be on this machine. */
export interface Place {
  readonly server: string;
  /** The command that starts a server there; undefined when that is not on this machine. */
  readonly start?: string | undefined;
}

/**
 * The failure of an attempt that got no connection: the server knows nothing of it. It says how to start a server when nobody
 * listens on this machine.
 */
export function notConnected(message: string, cause?: unknown, place?: Place): OpenIntentError {
  const start = place?.start;
  const refused = start !== undefined && message.includes("ECONNREFUSED");
  const said = refused ? `Nobody listens at ${place!.server} (connection refused). Start a server with: ${start}` : message;
  const failure = connectionLost(said, cause);
  unsent.add(failure);
  if (start !== undefined) {
    nearby.add(failure);
  }
  return failure;
}

/** Whether an attempt failed because it got no connection. */
export function gotNoConnection(error: object): boolean {
  return unsent.has(error);
}

/** Whether an attempt failed because it got no connection on this machine. */
export function gotNoneHere(error: object | undefined): boolean {
  return error !== undefined && nearby.has(error);
}

/** How long a person waits for a server on this machine that refuses connections, in seconds. */
export const localConnectTimeout = 5;

/**
 * How many seconds a call is tried for while there is no connection; Infinity for no such bound. Where nobody has listened yet
 * on this machine, nobody starts to by himself. A server that was there once may be starting again.
 */
export function timeToConnect(given: number | undefined, reached: boolean, failure: object): number {
  return given ?? (gotNoneHere(failure) && !reached ? localConnectTimeout : Infinity);
}

/** Failures of attempts that ran out of time. */
const cutShort = new WeakSet<object>();

/** The failure of an attempt that the server did not answer in time. */
export function noAnswer(cause?: unknown): OpenIntentError {
  const failure = connectionLost("No answer came in time.", cause);
  cutShort.add(failure);
  return failure;
}

/** Of two failures of a call, the one that says more: the later, unless it only says that time ran out. */
export function saysMore(earlier: OpenIntentError | null, later: OpenIntentError): OpenIntentError {
  return earlier !== null && cutShort.has(later) ? earlier : later;
}

/**
 * Whether the server may have done what a failed attempt asked for. It has not when it refused the attempt and says why,
 * unless it says that it does not know. A call that waits it may also refuse afterwards, in the middle of the wait.
 */
export function mayBeDone(failure: OpenIntentError, waits: boolean): boolean {
  return !unsent.has(failure) && (waits || failure.reason === "" || failure.reason === "OUTCOME_UNKNOWN");
}

/** The error of a call whose deadline passed while the server was away. `last` is how its last attempt failed. */
export function stillAway(server: string, seconds: number, last: OpenIntentError, messageId: string | null): OpenIntentError {
  const time = `${Math.round(seconds * 1000) / 1000} s`;
  const unreachable = unsent.has(last) ? `could not be reached within ${time}` : `did not answer within ${time}`;
  return unavailable(server, last.reason === "" ? unreachable : `was unavailable for ${time}`, last, messageId);
}

/** The error of a call that must not be made twice, and that may have been carried out although it failed. */
export function perhapsDone(server: string, last: OpenIntentError): OpenIntentError {
  return unavailable(server, "did not say whether it carried out the call, which was not made again", last, last.messageId);
}

/** The error for an address where REST answers a client of gRPC, or the other way round. */
export function wrongFace(server: string, wanted: "gRPC" | "REST", right: string): OpenIntentError {
  const there = wanted === "gRPC" ? "REST" : "gRPC";
  const wrong = `${server} does not speak ${wanted}; it looks like the ${there} address.`;
  const message = `${wrong} Give the ${wanted} address (${right} by default).`;
  return errorFrom({ code: "UNAVAILABLE", reason: wrongPort[wanted], message });
}

/** What errors of this file say without the last attempt's failure. */
const briefs = new WeakMap<object, string>();

/** The text of an error without what its last attempt failed with, for a log that has said that before; undefined for others. */
export function briefly(error: unknown): string | undefined {
  return briefs.get(Object(error));
}

function unavailable(server: string, what: string, last: OpenIntentError, messageId: string | null): OpenIntentError {
  if (last.code !== "UNAVAILABLE") {
    return last;
  }
  const { reason, violations, retryDelayMs } = last;
  const brief = `The server at ${server} ${what}`;
  const metadata = { ...last.metadata, ...(messageId !== null && { message_id: messageId }) };
  const failure = errorFrom({ code: "UNAVAILABLE", reason, message: `${brief}: ${last.message}`, metadata, violations, retryDelayMs });
  briefs.set(failure, brief);
  return failure;
}

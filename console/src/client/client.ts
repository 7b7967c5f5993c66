import { Away, failureOf, type Refused } from "./refusal.ts";

/** The address of the console, which ends in a slash; the API lies beside it. */
const root = new URL(document.baseURI);

/** address makes the URL of a path of the server, such as `v1/intents`, which also holds behind a proxy that adds a path. */
export function address(path: string, query: Record<string, string | number | boolean | undefined> = {}): URL {
  const url = new URL("../" + path, root);
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") {
      url.searchParams.set(key, String(value));
    }
  }
  return url;
}

let proof: Record<string, string> = {};
let operates = false;

/** credentials are the headers by which the server knows who calls. */
export function credentials(): Record<string, string> {
  return proof;
}

/** signWith sets what proves who calls from now on, and whether that is an operator's key, under whatever name. */
export function signWith(headers: Record<string, string>, operator = false): void {
  proof = headers;
  operates = operator;
}

/** asOperator is the header that makes a call the operator's. Others than operators send none, and are told that the call is not for them. */
export function asOperator(): Record<string, string> {
  return operates ? { "X-Agent-ID": "operator" } : {};
}

/** What the rest of the page hears of the server. */
interface Listener {
  /** The server has answered (true), or it is away (false). */
  heard(answered: boolean): void;
  /** The server does not know the caller any more. */
  signedOut(): void;
}
let listener: Listener = { heard() {}, signedOut() {} };

export function listenTo(next: Listener): void {
  listener = next;
}

/** signedOut notes that the server does not know the caller any more. */
export function signedOut(): void {
  listener.signedOut();
}

/** heardFrom notes that the server has answered, or that it is away. */
export function heardFrom(answered: boolean): void {
  listener.heard(answered);
}

/** By how many milliseconds the server's clock is ahead of this one's, as far as its answers tell. */
let ahead = 0;

/** serverNow is the time by the server's clock, within a second or two. */
export function serverNow(): number {
  return Date.now() + ahead;
}

function compareClocks(response: Response, sent: number): void {
  const date = Date.parse(response.headers.get("Date") ?? "");
  if (Number.isNaN(date)) {
    return;
  }
  const difference = date + 500 - (sent + Date.now()) / 2;
  // The header has whole seconds, so a small difference says nothing.
  ahead = Math.abs(difference) > 3000 ? difference : 0;
}

export interface CallOptions {
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** The call outlives the page. */
  keepalive?: boolean;
  /** The call is not that of whoever is signed in, so that its refusal says nothing of the session. */
  signingIn?: boolean;
}

/** An answer with its text as it came, byte for byte, and the headers that some lists have. */
export interface Answer<T> {
  body: T;
  text: string;
  headers: Headers;
}

/** call makes one call of the public API and returns its answer. It fails with Refused, Away, or an AbortError. */
export async function call<T>(method: string, path: string, options: CallOptions = {}): Promise<Answer<T>> {
  const headers: Record<string, string> = { ...credentials(), Accept: "application/json", ...options.headers };
  const init: RequestInit = { method, headers, cache: "no-store" };
  if (options.body !== undefined) {
    headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(options.body);
  }
  if (options.signal) {
    init.signal = options.signal;
  }
  if (options.keepalive) {
    init.keepalive = true;
  }
  const sent = Date.now();
  let response: Response;
  let text: string;
  try {
    response = await fetch(address(path, options.query), init);
    if (!response.ok) {
      throw await refusalOf(response, options.signingIn);
    }
    text = await response.text();
  } catch (failure) {
    throw awayUnlessKnown(failure);
  }
  compareClocks(response, sent);
  listener.heard(true);
  return { body: (text === "" ? undefined : JSON.parse(text)) as T, text, headers: response.headers };
}

function awayUnlessKnown(failure: unknown): unknown {
  // fetch fails with a TypeError when no answer comes.
  const found = failure instanceof TypeError ? new Away() : failure;
  if (found instanceof Away) {
    listener.heard(false);
  }
  return found;
}

/** refusalOf reads why the server has refused, and notes if it does not know the caller any more. */
export async function refusalOf(response: Response, signingIn = false): Promise<Refused | Away> {
  const failure = failureOf(response.status, await response.text(), response.headers.get("Retry-After"));
  if (!(failure instanceof Away)) {
    listener.heard(true);
    if (response.status === 401 && !signingIn) {
      signedOut();
    }
  }
  return failure;
}

/** get reads something of the API. */
export async function get<T>(path: string, query?: CallOptions["query"], signal?: AbortSignal, headers: Record<string, string> = {}): Promise<T> {
  return (await call<T>("GET", path, { ...(query && { query }), ...(signal && { signal }), headers })).body;
}

/** send makes a call that changes something. */
export async function send<T>(method: "POST" | "PUT" | "PATCH" | "DELETE", path: string, body?: unknown, options: CallOptions = {}): Promise<T> {
  return (await call<T>(method, path, { ...options, ...(body !== undefined && { body }) })).body;
}

/** part makes one segment of a path of an id or a name. */
export function part(text: string): string {
  return encodeURIComponent(text);
}

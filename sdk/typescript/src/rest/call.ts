/** One request to the REST interface. */
export interface Call {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  body?: Record<string, unknown>;
  /** A list is a parameter that is repeated. */
  query?: Record<string, string | number | readonly string[] | undefined>;
  headers?: Record<string, string>;
}

/** An answer, with the cursor of the next page when it is a page of a list. */
export interface Page {
  body: unknown;
  next: string | undefined;
  /** The cursor of the next page of a list of messages. */
  nextSince: string | undefined;
}

/** Builds a path from literal parts and ids, which it escapes. */
export function path(parts: TemplateStringsArray, ...ids: string[]): string {
  return parts.reduce((built, part, i) => built + encodeURIComponent(ids[i - 1]!) + part);
}

/**
 * The client over REST and server-sent events, for browsers and whatever else has `fetch`. It depends on nothing else.
 */
import { Client } from "./client.js";
import { RestTransport, type Fetch } from "./rest/transport.js";
import { restUrl, settle, type ConnectOptions } from "./settings.js";

export * from "./exports.js";
export type { Fetch } from "./rest/transport.js";

/** How a client of the REST server connects. What is not given is taken from the environment, where there is one. */
export interface RestClientOptions extends ConnectOptions {
  /** The base URL (`OPENINTENT_URL`); `http://127.0.0.1:8000` unless given. In a page a path such as `/openintent` will do. */
  url?: string;
  /** What is called instead of the platform's fetch. */
  fetch?: Fetch;
}

/** A client over REST, with the same methods as the one over gRPC. */
export class OpenIntentClient extends Client {
  constructor(options: RestClientOptions = {}) {
    const settings = settle(options);
    const fetch: Fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
    super(new RestTransport(restUrl(options.url), settings, fetch), settings);
  }
}

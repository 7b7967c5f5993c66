/**
 * The client over REST and server-sent events, for browsers and whatever else has `fetch`. It depends on nothing else.
 */
import { restAddress } from "./address.js";
import { Client } from "./client.js";
import { refuseUnknown, type Names } from "./options.js";
import { RestTransport, type Fetch } from "./rest/transport.js";
import { connectNames, settle, type ConnectOptions } from "./settings.js";

export * from "./exports.js";
export type { Fetch } from "./rest/transport.js";

/** How a client of the REST server connects. What is not given is taken from the environment, where there is one. */
export interface RestClientOptions extends ConnectOptions {
  /** The base URL (`OPENINTENT_URL`); `http://127.0.0.1:8000` unless given. In a page a path such as `/openintent` will do. */
  url?: string;
  /** What is called instead of the platform's fetch. */
  fetch?: Fetch;
}

const clientNames: Names<RestClientOptions> = { url: true, ...connectNames, fetch: true };

/** A client over REST, with the same methods as the one over gRPC. */
export class OpenIntentClient extends Client {
  constructor(options: RestClientOptions = {}) {
    refuseUnknown("OpenIntentClient", options, clientNames);
    const address = restAddress(options.url);
    const settings = settle(options, address);
    const fetch: Fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
    super(new RestTransport(address.url, settings, fetch), settings);
  }
}

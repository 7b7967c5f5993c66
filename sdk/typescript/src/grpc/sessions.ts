import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import { ConnectError } from "@connectrpc/connect";
import { Http2SessionManager } from "@connectrpc/connect-node";

/** The number of the HTTP/2 library's error for bytes that are not HTTP/2. */
const protocolError = -505;

/** The HTTP/2 connections to a server: one at a time, and those that end with their last stream. */
export class Sessions extends Http2SessionManager {
  readonly #known = new WeakSet<ClientHttp2Session>();
  /** Failures of requests that got no connection. */
  readonly #unconnected = new WeakSet<object>();
  /** Whether the newest connection has brought HTTP/2. */
  #speaks = false;
  #watched = false;

  override async request(...request: Parameters<Http2SessionManager["request"]>): Promise<ClientHttp2Stream> {
    let stream: ClientHttp2Stream;
    try {
      stream = await super.request(...request);
    } catch (error) {
      this.#unconnected.add(error as object);
      throw error;
    }
    if (stream.session !== undefined && !this.#known.has(stream.session as ClientHttp2Session)) {
      this.#watch(stream.session as ClientHttp2Session);
    }
    return stream;
  }

  /** Whether a request failed like this because it got no connection. */
  gotNone(thrown: ConnectError): boolean {
    return this.#unconnected.has(thrown);
  }

  /** Whether a request failed like this because what came back was never HTTP/2. */
  metAnother({ cause }: ConnectError): boolean {
    return !this.#speaks && (cause as { errno?: unknown } | undefined)?.errno === protocolError;
  }

  /** Whether the newest connection, if there was one, has brought nothing that is HTTP/2. */
  get heardNothing(): boolean {
    return this.#watched && !this.#speaks;
  }

  #watch(session: ClientHttp2Session): void {
    this.#known.add(session);
    this.#speaks = false;
    this.#watched = true;
    session.once("remoteSettings", () => (this.#speaks = true));
    // A session may fail once more after the manager has let go of it. Without a listener, that would end the process.
    session.on("error", () => {});
  }
}

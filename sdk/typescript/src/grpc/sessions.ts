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

  /** How many streams keep the program running, by their connections. */
  readonly #holds = new WeakMap<ClientHttp2Session, number>();

  override async request(...request: Parameters<Http2SessionManager["request"]>): Promise<ClientHttp2Stream> {
    const stream = await this.#request(request);
    const session = stream.session as ClientHttp2Session | undefined;
    if (session !== undefined) {
      this.hold(session);
      stream.once("close", () => this.letGo(session));
    }
    return stream;
  }

  /** Makes a request that may stand without keeping the program running; only while it is held, it does. */
  async requestStanding(...request: Parameters<Http2SessionManager["request"]>): Promise<ClientHttp2Stream> {
    const stream = await this.#request(request);
    if (stream.session !== undefined) {
      this.#refer(stream.session as ClientHttp2Session);
    }
    return stream;
  }

  /** Lets a connection keep the program running once more. */
  hold(session: ClientHttp2Session): void {
    this.#holds.set(session, this.#holdsOf(session) + 1);
    this.#refer(session);
  }

  letGo(session: ClientHttp2Session): void {
    this.#holds.set(session, this.#holdsOf(session) - 1);
    this.#refer(session);
  }

  #holdsOf(session: ClientHttp2Session): number {
    return this.#holds.get(session) ?? 0;
  }

  /** The manager lets any open stream keep the program running; this decides again after it. */
  #refer(session: ClientHttp2Session): void {
    if (this.#holdsOf(session) > 0) {
      session.ref();
    } else {
      session.unref();
    }
  }

  async #request(request: Parameters<Http2SessionManager["request"]>): Promise<ClientHttp2Stream> {
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

import { constants, type ClientHttp2Stream, type IncomingHttpHeaders } from "node:http2";
import type { DescMessage, DescMethodStreaming, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type StreamResponse } from "@connectrpc/connect";
import { validateResponse, validateTrailer } from "@connectrpc/connect/protocol-grpc";
import { asConnectError, decoded, encoded, webHeaders } from "./coding.js";
import { framed, FrameReader } from "./framing.js";
import type { Sessions } from "./sessions.js";

/** How many messages wait for their reader before the connection is read no further. */
const mostWaiting = 64;

/** Opens a stream that the server fills. It returns once the server has accepted it. */
export async function opened<I extends DescMessage, O extends DescMessage>(
  sessions: Sessions,
  method: DescMethodStreaming<I, O>,
  signal: AbortSignal | undefined,
  headers: Record<string, string>,
  input: AsyncIterable<MessageInitShape<I>>,
): Promise<StreamResponse<I, O>> {
  const requests: Uint8Array[] = [];
  for await (const request of input) {
    requests.push(framed(encoded(method.input, request)));
  }
  const http = await sessions.request("POST", `/${method.parent.typeName}/${method.name}`, headers, {}).catch((error: unknown) => {
    throw asConnectError(error);
  });
  const incoming = new Incoming<O>(http, method.output, signal, () => sessions.notifyResponseByteRead(http));
  http.end(Buffer.concat(requests));
  const { header, trailer } = await incoming.accepted;
  return { stream: true, service: method.parent, method, header, trailer, message: incoming };
}

interface Accepted {
  readonly header: Headers;
  readonly trailer: Headers;
}

/** The messages of a stream as they come. It ends by throwing, or when the server has ended it without an error. */
class Incoming<O extends DescMessage> implements AsyncIterableIterator<MessageShape<O>> {
  readonly accepted: Promise<Accepted>;
  readonly #trailer = new Headers();
  #header: Headers | undefined;
  readonly #messages: MessageShape<O>[] = [];
  #next: { resolve: (result: IteratorResult<MessageShape<O>>) => void; reject: (reason: unknown) => void } | undefined;
  /** How it ended; undefined while it has not. */
  #end: { readonly error: unknown } | undefined;
  #accept!: (accepted: Accepted) => void;
  #refuse!: (reason: unknown) => void;

  constructor(
    private readonly http: ClientHttp2Stream,
    output: O,
    private readonly signal: AbortSignal | undefined,
    read: () => void,
  ) {
    this.accepted = new Promise((resolve, reject) => {
      this.#accept = resolve;
      this.#refuse = reject;
    });
    const reader = new FrameReader((message) => this.#came(decoded(output, message)));
    http.on("response", (came) => this.#responded(came));
    http.on("trailers", (came) => webHeaders(came).forEach((value, name) => this.#trailer.append(name, value)));
    http.on("data", (chunk: Buffer) => {
      read();
      this.#guarded(() => reader.add(chunk));
    });
    http.on("end", () => {
      this.#guarded(() => {
        if (this.#header !== undefined) {
          validateTrailer(this.#trailer, this.#header);
          if (!reader.whole) {
            throw new ConnectError("The stream ended within a message.", Code.Unavailable);
          }
          this.#ended(undefined);
        }
      });
    });
    http.on("error", (error) => this.#ended(asConnectError(error)));
    http.on("close", () => this.#ended(new ConnectError(`The stream was closed with the code ${http.rstCode}.`, Code.Unavailable)));
    signal?.addEventListener("abort", this.#abort);
    if (signal?.aborted) {
      this.#abort();
    }
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<MessageShape<O>>> {
    const value = this.#messages.shift();
    if (value !== undefined) {
      if (this.#messages.length === 0 && this.http.isPaused()) {
        this.http.resume();
      }
      return Promise.resolve({ value, done: false });
    }
    if (this.#end !== undefined) {
      const { error } = this.#end;
      return error === undefined ? Promise.resolve({ value: undefined, done: true }) : Promise.reject(error);
    }
    return new Promise((resolve, reject) => (this.#next = { resolve, reject }));
  }

  #responded(came: IncomingHttpHeaders & { ":status"?: number }): void {
    this.#guarded(() => {
      const header = webHeaders(came);
      const { headerError } = validateResponse(came[":status"] ?? 0, header);
      if (headerError !== undefined) {
        throw headerError;
      }
      this.#header = header;
      this.#accept({ header, trailer: this.#trailer });
    });
  }

  #came(value: MessageShape<O>): void {
    if (this.#next !== undefined) {
      this.#next.resolve({ value, done: false });
      this.#next = undefined;
    } else if (this.#messages.push(value) >= mostWaiting) {
      this.http.pause();
    }
  }

  /** Ends the stream with what a step of it throws. */
  #guarded(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#ended(asConnectError(error));
    }
  }

  #abort = (): void => {
    this.#messages.length = 0;
    this.#ended(this.signal!.reason);
  };

  #ended(error: unknown): void {
    if (this.#end !== undefined) {
      return;
    }
    this.#end = { error };
    this.signal?.removeEventListener("abort", this.#abort);
    this.#refuse(error);
    if (error === undefined) {
      this.#next?.resolve({ value: undefined, done: true });
    } else {
      this.#next?.reject(error);
      this.http.close(constants.NGHTTP2_CANCEL);
    }
  }
}

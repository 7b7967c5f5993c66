import { constants, type ClientHttp2Stream, type IncomingHttpHeaders } from "node:http2";
import type { DescMessage, DescMethodUnary } from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport, type UnaryResponse } from "@connectrpc/connect";
import { validateResponse, validateTrailer } from "@connectrpc/connect/protocol-grpc";
import { asConnectError, decoded, encoded, webHeaders } from "./coding.js";
import type { Exchanges } from "./exchange/exchanges.js";
import { framed, prefix } from "./framing.js";
import type { Sessions } from "./sessions.js";
import { opened } from "./streaming.js";

/**
 * The transport, with unary calls that go to the connection directly, or on the stream of a busy client, and streams of the server that are
 * read directly. Connect's own pass each message through several async iterators and abort signals, which takes most of a call's time.
 */
export function withDirectCalls(transport: Transport, sessions: Sessions, exchanges?: Exchanges): Transport {
  return {
    stream: (method, signal, timeoutMs, header, input, context) =>
      method.methodKind === "server_streaming"
        ? opened(sessions, method, signal, headersOf(header, timeoutMs), input)
        : transport.stream(method, signal, timeoutMs, header, input, context),
    unary: (method, signal, timeoutMs, header, input) => {
      const bytes = encoded(method.input, input);
      const alone = (): Promise<UnaryResponse<typeof method.input, typeof method.output>> =>
        call(sessions, method, signal, timeoutMs, header, bytes);
      return exchanges === undefined ? alone() : exchanges.call({ method, signal, timeoutMs, header, input, bytes }, alone);
    },
  };
}

async function call<I extends DescMessage, O extends DescMessage>(
  sessions: Sessions,
  method: DescMethodUnary<I, O>,
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
  header: HeadersInit | undefined,
  bytes: Uint8Array,
): Promise<UnaryResponse<I, O>> {
  const headers = headersOf(header, timeoutMs);
  const stream = await sessions.request("POST", `/${method.parent.typeName}/${method.name}`, headers, {}).catch(lost);
  const came = await roundTrip(stream, framed(bytes), signal, timeoutMs, () => sessions.notifyResponseByteRead(stream));
  const { headerError } = validateResponse(came.status, came.header);
  validateTrailer(came.trailer, came.header);
  if (headerError !== undefined) {
    throw headerError;
  }
  const message = decoded(method.output, unframed(came.body));
  return { stream: false, service: method.parent, method, header: came.header, trailer: came.trailer, message };
}

function headersOf(header: HeadersInit | undefined, timeoutMs: number | undefined): Record<string, string> {
  return {
    ...Object.fromEntries(new Headers(header)),
    "content-type": "application/grpc+proto",
    te: "trailers",
    ...(timeoutMs !== undefined && { "grpc-timeout": `${timeoutMs}m` }),
  };
}

interface Came {
  readonly status: number;
  readonly header: Headers;
  readonly trailer: Headers;
  readonly body: Buffer;
}

/** Sends a body and reads what comes back, until the stream ends, the signal aborts or the time is over. */
function roundTrip(
  stream: ClientHttp2Stream,
  body: Uint8Array,
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
  read: () => void,
): Promise<Came> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let header: IncomingHttpHeaders & { ":status"?: number } = {};
    let trailer: IncomingHttpHeaders = {};
    const giveUp = (reason: unknown): void => {
      reject(reason);
      stream.close(constants.NGHTTP2_CANCEL);
    };
    const abort = (): void => giveUp(signal!.reason);
    const late = (): void => giveUp(new ConnectError("The time for the call is over.", Code.DeadlineExceeded));
    const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs);
    signal?.addEventListener("abort", abort);
    stream.on("response", (came) => (header = came));
    stream.on("trailers", (came) => (trailer = came));
    stream.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      read();
    });
    stream.on("end", () => {
      if (header[":status"] !== undefined) {
        resolve({ status: header[":status"], header: webHeaders(header), trailer: webHeaders(trailer), body: Buffer.concat(chunks) });
      }
    });
    stream.on("error", (error) => reject(asConnectError(error)));
    stream.on("close", () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      reject(new ConnectError(`The stream was closed with the code ${stream.rstCode}.`, Code.Unavailable)); // Unless it has ended.
    });
    if (signal?.aborted) {
      abort();
    } else {
      stream.end(body);
    }
  });
}

/** The one message of a body. */
function unframed(body: Buffer): Uint8Array {
  if (body.length < prefix || body.readUInt8(0) !== 0 || body.readUInt32BE(1) !== body.length - prefix) {
    throw new ConnectError("The answer is not one uncompressed message.", Code.Unknown);
  }
  return body.subarray(prefix);
}

function lost(error: unknown): never {
  throw asConnectError(error);
}

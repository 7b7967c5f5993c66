import { constants, type ClientHttp2Stream, type IncomingHttpHeaders } from "node:http2";
import { create, fromBinary, toBinary, type DescMessage, type DescMethodUnary, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport, type UnaryResponse } from "@connectrpc/connect";
import { validateResponse, validateTrailer } from "@connectrpc/connect/protocol-grpc";
import type { Sessions } from "./sessions.js";

/** How many bytes stand before a message: whether it is compressed, and how long it is. */
const prefix = 5;

/**
 * The transport, with unary calls that go to the connection directly. Connect's own pass each message through several async
 * iterators and abort signals, which takes most of a call's time.
 */
export function withDirectCalls(transport: Transport, sessions: Sessions): Transport {
  return {
    stream: transport.stream.bind(transport),
    unary: (method, signal, timeoutMs, header, input) => call(sessions, method, signal, timeoutMs, header, input),
  };
}

async function call<I extends DescMessage, O extends DescMessage>(
  sessions: Sessions,
  method: DescMethodUnary<I, O>,
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
  header: HeadersInit | undefined,
  input: MessageInitShape<I>,
): Promise<UnaryResponse<I, O>> {
  const body = coded(() => framed(toBinary(method.input, create(method.input, input))));
  const headers = {
    ...Object.fromEntries(new Headers(header)),
    "content-type": "application/grpc+proto",
    te: "trailers",
    ...(timeoutMs !== undefined && { "grpc-timeout": `${timeoutMs}m` }),
  };
  const stream = await sessions.request("POST", `/${method.parent.typeName}/${method.name}`, headers, {}).catch(lost);
  const came = await exchange(stream, body, signal, timeoutMs, () => sessions.notifyResponseByteRead(stream));
  const { headerError } = validateResponse(came.status, came.header);
  validateTrailer(came.trailer, came.header);
  if (headerError !== undefined) {
    throw headerError;
  }
  const message = coded(() => fromBinary(method.output, unframed(came.body)));
  return { stream: false, service: method.parent, method, header: came.header, trailer: came.trailer, message };
}

interface Came {
  readonly status: number;
  readonly header: Headers;
  readonly trailer: Headers;
  readonly body: Buffer;
}

/** Sends a body and reads what comes back, until the stream ends, the signal aborts or the time is over. */
function exchange(
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

/** A message as gRPC frames it, uncompressed. */
function framed(message: Uint8Array): Uint8Array {
  const body = Buffer.allocUnsafe(prefix + message.length);
  body.writeUInt8(0, 0);
  body.writeUInt32BE(message.length, 1);
  body.set(message, prefix);
  return body;
}

/** The one message of a body. */
function unframed(body: Buffer): Uint8Array {
  if (body.length < prefix || body.readUInt8(0) !== 0 || body.readUInt32BE(1) !== body.length - prefix) {
    throw new ConnectError("The answer is not one uncompressed message.", Code.Unknown);
  }
  return body.subarray(prefix);
}

function webHeaders(from: IncomingHttpHeaders): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(from)) {
    if (value !== undefined && !name.startsWith(":")) {
      [value].flat().forEach((one) => headers.append(name, one));
    }
  }
  return headers;
}

/** Encodes or decodes, and turns a failure into the error that Connect has for it. */
function coded<T>(code: () => T): T {
  try {
    return code();
  } catch (error) {
    throw error instanceof ConnectError ? error : new ConnectError(`${(error as Error).message}`, Code.Internal, undefined, undefined, error);
  }
}

function asConnectError(error: unknown): ConnectError {
  const { message } = error as Error;
  return error instanceof ConnectError ? error : new ConnectError(message, Code.Unavailable, undefined, undefined, error);
}

function lost(error: unknown): never {
  throw asConnectError(error);
}

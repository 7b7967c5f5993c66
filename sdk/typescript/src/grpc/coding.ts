import type { IncomingHttpHeaders } from "node:http2";
import { create, fromBinary, toBinary, type DescMessage, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";

export function encoded<S extends DescMessage>(schema: S, message: MessageInitShape<S>): Uint8Array {
  return coded(() => toBinary(schema, create(schema, message)));
}

export function decoded<S extends DescMessage>(schema: S, bytes: Uint8Array): MessageShape<S> {
  return coded(() => fromBinary(schema, bytes));
}

/** Encodes or decodes, and turns a failure into the error that Connect has for it. */
function coded<T>(code: () => T): T {
  try {
    return code();
  } catch (error) {
    throw error instanceof ConnectError ? error : new ConnectError(`${(error as Error).message}`, Code.Internal, undefined, undefined, error);
  }
}

/** What HTTP/2 failed with, as Connect's error. */
export function asConnectError(error: unknown): ConnectError {
  const { message } = error as Error;
  return error instanceof ConnectError ? error : new ConnectError(message, Code.Unavailable, undefined, undefined, error);
}

export function webHeaders(from: IncomingHttpHeaders): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(from)) {
    if (value !== undefined && !name.startsWith(":")) {
      [value].flat().forEach((one) => headers.append(name, one));
    }
  }
  return headers;
}

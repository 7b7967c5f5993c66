import { BinaryReader } from "@bufbuild/protobuf/wire";
import { Code as ConnectCode, ConnectError } from "@connectrpc/connect";
import { connectionLost, errorFrom, OpenIntentError, type Code, type Violation } from "../errors.js";
import { missingKey } from "../key.js";
import { noAnswer } from "../server-away.js";

const codes: Readonly<Record<ConnectCode, Code>> = {
  [ConnectCode.Canceled]: "CANCELLED",
  [ConnectCode.Unknown]: "UNKNOWN",
  [ConnectCode.InvalidArgument]: "INVALID_ARGUMENT",
  [ConnectCode.DeadlineExceeded]: "DEADLINE_EXCEEDED",
  [ConnectCode.NotFound]: "NOT_FOUND",
  [ConnectCode.AlreadyExists]: "ALREADY_EXISTS",
  [ConnectCode.PermissionDenied]: "PERMISSION_DENIED",
  [ConnectCode.ResourceExhausted]: "RESOURCE_EXHAUSTED",
  [ConnectCode.FailedPrecondition]: "FAILED_PRECONDITION",
  [ConnectCode.Aborted]: "ABORTED",
  [ConnectCode.OutOfRange]: "OUT_OF_RANGE",
  [ConnectCode.Unimplemented]: "UNIMPLEMENTED",
  [ConnectCode.Internal]: "INTERNAL",
  [ConnectCode.Unavailable]: "UNAVAILABLE",
  [ConnectCode.DataLoss]: "DATA_LOSS",
  [ConnectCode.Unauthenticated]: "UNAUTHENTICATED",
};

/**
 * Turns what a call threw into this package's error. `signal` is the attempt's: when it aborted, its reason is the error.
 *
 * A failure that the server did not report itself, in a status, is a lost connection, whatever code the HTTP/2 client gave
 * it: broken streams have many names there.
 */
export function grpcError(thrown: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) {
    return signal.reason;
  }
  if (thrown instanceof OpenIntentError || !(thrown instanceof ConnectError)) {
    return thrown;
  }
  if (thrown.metadata.has("grpc-status")) {
    return statusError(thrown);
  }
  if (thrown.code === ConnectCode.DeadlineExceeded) {
    return noAnswer(thrown);
  }
  if (thrown.code === ConnectCode.Internal && /cannot (en|de)code/.test(thrown.rawMessage)) {
    return errorFrom({ code: "INTERNAL", message: thrown.rawMessage, cause: thrown });
  }
  return connectionLost(`The connection was lost: ${thrown.rawMessage}`, thrown);
}

/** The server's stable word for why it refused something; empty when there is none. */
export function reasonOf({ details }: ConnectError): string {
  for (const detail of details) {
    if ("type" in detail && detail.type === "google.rpc.ErrorInfo") {
      return readErrorInfo(detail.value).reason;
    }
  }
  return "";
}

function statusError(thrown: ConnectError): OpenIntentError {
  let reason = "";
  let metadata: Record<string, string> = {};
  let violations: Violation[] = [];
  let retryDelayMs = 0;
  for (const detail of thrown.details) {
    if (!("type" in detail)) {
      continue;
    }
    switch (detail.type) {
      case "google.rpc.ErrorInfo":
        ({ reason, metadata } = readErrorInfo(detail.value));
        break;
      case "google.rpc.BadRequest":
        violations = readBadRequest(detail.value);
        break;
      case "google.rpc.RetryInfo":
        retryDelayMs = readRetryInfo(detail.value);
    }
  }
  if (thrown.code === ConnectCode.DeadlineExceeded && reason === "") {
    return noAnswer(thrown); // The call's own deadline, which the server keeps too.
  }
  return errorFrom({
    code: codes[thrown.code],
    reason,
    message: reason === "API_KEY_MISSING" ? missingKey(thrown.rawMessage) : thrown.rawMessage,
    metadata,
    violations,
    retryDelayMs,
    cause: thrown,
  });
}

// Three small messages of google/rpc/error_details.proto, read from the wire format.

/** Calls back for each field of a message, and skips the fields that are not read. */
function eachField(bytes: Uint8Array, read: (field: number, reader: BinaryReader) => boolean): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (!read(field, reader)) {
      reader.skip(wireType, field);
    }
  }
}

function readErrorInfo(bytes: Uint8Array): { reason: string; metadata: Record<string, string> } {
  let reason = "";
  const metadata: Record<string, string> = {};
  eachField(bytes, (field, reader) => {
    switch (field) {
      case 1:
        reason = reader.string();
        return true;
      case 3: {
        const [name, value] = readPair(reader.bytes());
        metadata[name] = value;
        return true;
      }
    }
    return false;
  });
  return { reason, metadata };
}

function readBadRequest(bytes: Uint8Array): Violation[] {
  const violations: Violation[] = [];
  eachField(bytes, (field, reader) => {
    if (field !== 1) {
      return false;
    }
    const [name, description] = readPair(reader.bytes());
    violations.push({ field: name, description });
    return true;
  });
  return violations;
}

/** Reads a message whose fields 1 and 2 are texts, such as an entry of a map. */
function readPair(bytes: Uint8Array): [string, string] {
  const pair: [string, string] = ["", ""];
  eachField(bytes, (field, reader) => {
    if (field !== 1 && field !== 2) {
      return false;
    }
    pair[field - 1] = reader.string();
    return true;
  });
  return pair;
}

function readRetryInfo(bytes: Uint8Array): number {
  let milliseconds = 0;
  eachField(bytes, (field, reader) => {
    if (field !== 1) {
      return false;
    }
    eachField(reader.bytes(), (part, duration) => {
      switch (part) {
        case 1:
          milliseconds += Number(duration.int64()) * 1000;
          return true;
        case 2:
          milliseconds += duration.int32() / 1e6;
          return true;
      }
      return false;
    });
    return true;
  });
  return milliseconds;
}

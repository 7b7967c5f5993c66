import assert from "node:assert/strict";
import { inspect } from "node:util";
import { test } from "node:test";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";
import * as errors from "../../src/errors.js";
import { grpcError } from "../../src/grpc/failure.js";
import { problemError } from "../../src/rest/failure.js";
import { message } from "./fakes.js";

const signal = new AbortController().signal;

test("an error's class is that of its reason or, without a known one, of its code", () => {
  const classes: [Partial<errors.Failure>, unknown, unknown?][] = [
    [{ code: "DEADLINE_EXCEEDED", reason: "MESSAGE_TIMEOUT" }, errors.MessageTimeoutError],
    [{ code: "DEADLINE_EXCEEDED" }, errors.MessageTimeoutError],
    [{ code: "FAILED_PRECONDITION", reason: "CHANNEL_CLOSED" }, errors.ChannelClosedError, errors.FailedPreconditionError],
    [{ code: "FAILED_PRECONDITION", reason: "INTENT_ENDED" }, errors.IntentEndedError, errors.FailedPreconditionError],
    [{ code: "FAILED_PRECONDITION", reason: "MESSAGE_EXPIRED" }, errors.MessageExpiredError, errors.FailedPreconditionError],
    [{ code: "NOT_FOUND", reason: "CHANNEL_NOT_FOUND" }, errors.ChannelNotFoundError, errors.NotFoundError],
    [{ code: "NOT_FOUND", reason: "MESSAGE_NOT_FOUND" }, errors.MessageNotFoundError, errors.NotFoundError],
    [{ code: "NOT_FOUND", reason: "INTENT_NOT_FOUND" }, errors.IntentNotFoundError, errors.NotFoundError],
    [{ code: "PERMISSION_DENIED", reason: "NOT_A_MEMBER" }, errors.NotAMemberError, errors.PermissionDeniedError],
    [
      { code: "PERMISSION_DENIED", reason: "TARGET_NOT_A_MEMBER" },
      errors.TargetNotAMemberError,
      errors.PermissionDeniedError,
    ],
    [{ code: "PERMISSION_DENIED", reason: "SENDER_MISMATCH" }, errors.SenderMismatchError, errors.PermissionDeniedError],
    [{ code: "ALREADY_EXISTS", reason: "CHANNEL_NAME_TAKEN" }, errors.ChannelNameTakenError, errors.AlreadyExistsError],
    [{ code: "NOT_FOUND", reason: "TASK_NOT_FOUND" }, errors.NotFoundError],
    [{ code: "INVALID_ARGUMENT" }, errors.InvalidArgumentError],
    [{ code: "UNAUTHENTICATED" }, errors.UnauthenticatedError],
    [{ code: "ABORTED" }, errors.AbortedError],
    [{ code: "RESOURCE_EXHAUSTED" }, errors.ResourceExhaustedError],
    [{ code: "UNAVAILABLE" }, errors.UnavailableError],
    [{ code: "INTERNAL" }, errors.OpenIntentError],
  ];
  for (const [failure, kind, base = errors.OpenIntentError] of classes) {
    const made = errors.errorFrom({ code: "UNKNOWN", message: "text", ...failure });
    assert.equal(made.constructor, kind);
    assert.ok(made instanceof (base as typeof Error));
    assert.equal(made.name, (kind as typeof Error).name);
  }
});

test("a response of a handler that failed becomes a RemoteError", () => {
  const payload = { error: { type: "KeyError", message: "no such table" } };
  const made = new errors.RemoteError(message("msg_2", { payload, correlationId: "msg_1", isError: true }));
  assert.equal(made.message, "no such table");
  assert.equal(made.type, "KeyError");
  assert.equal(made.reason, "HANDLER_FAILED");
  assert.equal(made.code, "UNKNOWN");
  assert.equal(made.messageId, "msg_1");
  assert.equal(made.response.id, "msg_2");
  assert.ok(new errors.RemoteError(message("m", { payload: { error: 7 } })).message.length > 0);
});

const text = (writer: BinaryWriter, field: number, value: string): BinaryWriter => writer.tag(field, 2).string(value);
const inner = (writer: BinaryWriter, field: number, value: BinaryWriter): BinaryWriter =>
  writer.tag(field, 2).bytes(value.finish());

test("the details of a gRPC status are read", () => {
  const entry = text(text(new BinaryWriter(), 1, "message_id"), 2, "msg_1");
  const info = inner(text(text(new BinaryWriter(), 1, "MESSAGE_TIMEOUT"), 2, "openintent"), 3, entry);
  const violation = text(text(new BinaryWriter(), 1, "payload.a"), 2, "is wrong");
  const duration = new BinaryWriter().tag(1, 0).int64(2).tag(2, 0).int32(500_000_000);
  const thrown = new ConnectError("it ran out", Code.DeadlineExceeded, { "grpc-status": "4" });
  thrown.details = [
    { type: "google.rpc.ErrorInfo", value: info.finish() },
    { type: "google.rpc.BadRequest", value: inner(new BinaryWriter(), 1, violation).finish() },
    { type: "google.rpc.RetryInfo", value: inner(new BinaryWriter(), 1, duration).finish() },
    { type: "google.rpc.Help", value: new Uint8Array([10, 0]) },
  ];
  const made = grpcError(thrown, signal) as errors.OpenIntentError;
  assert.ok(made instanceof errors.MessageTimeoutError);
  assert.equal(made.message, "it ran out");
  assert.equal(made.messageId, "msg_1");
  assert.deepEqual(made.violations, [{ field: "payload.a", description: "is wrong" }]);
  assert.equal(made.retryDelayMs, 2500);
});

test("a failure that the server did not report is a lost connection, whatever the code; an aborted call has its signal's reason", () => {
  for (const code of [Code.Canceled, Code.Aborted, Code.Internal, Code.Unavailable, Code.Unknown]) {
    assert.ok(errors.isRetryable(grpcError(new ConnectError("http/2 stream closed", code), signal)), Code[code]);
  }
  const said = new ConnectError("gone", Code.Canceled, { "grpc-status": "1" });
  assert.ok(!errors.isRetryable(grpcError(said, signal)));
  const reason = new Error("enough");
  assert.equal(grpcError(said, AbortSignal.abort(reason)), reason);
});

test("a problem document is read as the same error", () => {
  const made = problemError(
    408,
    {
      status: 408,
      detail: "it ran out",
      code: "DEADLINE_EXCEEDED",
      reason: "MESSAGE_TIMEOUT",
      errors: [{ field: "a", description: "is wrong" }],
      message_id: "msg_1",
      current_version: 3,
    },
    "2",
  );
  assert.ok(made instanceof errors.MessageTimeoutError);
  assert.deepEqual(made.metadata, { message_id: "msg_1", current_version: "3" });
  assert.deepEqual(made.violations, [{ field: "a", description: "is wrong" }]);
  assert.equal(made.retryDelayMs, 2000);
  assert.ok(errors.isRetryable(problemError(502, null, null)), "what a proxy says is tried again");
  assert.ok(errors.isRetryable(problemError(409, { code: "ABORTED", reason: "ABORTED" }, null)));
});

test("a timeout says how the agent is reached", () => {
  const facts = { reach: "none", last_heard_at: "2026-11-29T09:14:02.350000Z" };
  const entries = Object.entries(facts).map(([name, value]) => text(text(new BinaryWriter(), 1, name), 2, value));
  const info = entries.reduce((writer, entry) => inner(writer, 3, entry), text(new BinaryWriter(), 1, "MESSAGE_TIMEOUT"));
  const thrown = new ConnectError("it ran out", Code.DeadlineExceeded, { "grpc-status": "4" });
  thrown.details = [{ type: "google.rpc.ErrorInfo", value: info.finish() }];
  const problem = { status: 408, detail: "it ran out", code: "DEADLINE_EXCEEDED", reason: "MESSAGE_TIMEOUT", ...facts };
  for (const made of [grpcError(thrown, signal), problemError(408, problem, null)]) {
    assert.ok(made instanceof errors.MessageTimeoutError);
    assert.deepEqual(made.metadata, facts);
  }
});

test("a deadline that passed without a reason is a server that did not answer, not a wait for responses that ran out", () => {
  const said = new ConnectError("The call's deadline passed.", Code.DeadlineExceeded, { "grpc-status": "4" });
  const own = new ConnectError("the operation timed out", Code.DeadlineExceeded);
  const problem = { code: "DEADLINE_EXCEEDED", reason: "DEADLINE_EXCEEDED", detail: "It passed." };
  const problems = [problem, null].map((body) => problemError(408, body, null));
  for (const error of [grpcError(said, signal), grpcError(own, signal), ...problems]) {
    assert.ok(error instanceof errors.UnavailableError && errors.isRetryable(error));
  }
});

test("an error of the key is one line wherever it is shown", () => {
  const error = errors.errorFrom({ code: "UNAUTHENTICATED", reason: "API_KEY_UNKNOWN", message: "This key is not known.", cause: new Error("x") });
  assert.equal(inspect(error), "[UnauthenticatedError: This key is not known.]");
  assert.deepEqual([error.code, error.reason], ["UNAUTHENTICATED", "API_KEY_UNKNOWN"]);
});

test("the refusal of failFast names the option as it is written here", () => {
  const message = "Nothing was sent; leave fail_fast out to send it anyway.";
  const error = errors.errorFrom({ code: "FAILED_PRECONDITION", reason: "NOBODY_THERE", message, metadata: { cause: "AWAY" } });
  assert.equal(error.message, "Nothing was sent; leave failFast out to send it anyway.");
  assert.equal(error.metadata["cause"], "AWAY");
});

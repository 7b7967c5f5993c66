import type { Message } from "./types.js";

/** A canonical gRPC code by name. */
export type Code =
  | "CANCELLED"
  | "UNKNOWN"
  | "INVALID_ARGUMENT"
  | "DEADLINE_EXCEEDED"
  | "NOT_FOUND"
  | "ALREADY_EXISTS"
  | "PERMISSION_DENIED"
  | "RESOURCE_EXHAUSTED"
  | "FAILED_PRECONDITION"
  | "ABORTED"
  | "OUT_OF_RANGE"
  | "UNIMPLEMENTED"
  | "INTERNAL"
  | "UNAVAILABLE"
  | "DATA_LOSS"
  | "UNAUTHENTICATED";

/** What is wrong with one field of a request. */
export interface Violation {
  readonly field: string;
  readonly description: string;
}

/** What a transport knows about a failure, whichever way it came. */
export interface Failure {
  code: Code;
  /** The server's stable word; empty when the failure is not the server's. */
  reason?: string;
  message: string;
  metadata?: Readonly<Record<string, string>>;
  violations?: readonly Violation[];
  /** The least time to wait before trying again, in milliseconds. */
  retryDelayMs?: number;
  cause?: unknown;
}

/** The base of every error of this package. Branch on its class, or on `reason`; `message` is for people. */
export class OpenIntentError extends Error {
  /** The canonical gRPC code's name, the same over REST. */
  readonly code: Code;
  /** The server's stable UPPER_SNAKE word; empty when the failure is not the server's. */
  readonly reason: string;
  /** Facts that some reasons carry, such as `message_id`, and the `cause` with which nobody answered or is there to answer. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The fields that are wrong, and why; empty unless the server said so. */
  readonly violations: readonly Violation[];
  /** The message that the failure is about, such as the request of an ask; null when there is none, or it is not known. */
  readonly messageId: string | null;
  /** How long the server asked to wait before trying again, in milliseconds; 0 when it did not. */
  readonly retryDelayMs: number;

  constructor(failure: Failure) {
    super(failure.message, failure.cause === undefined ? undefined : { cause: failure.cause });
    this.name = new.target.name;
    this.code = failure.code;
    this.reason = failure.reason ?? "";
    this.metadata = failure.metadata ?? {};
    this.violations = failure.violations ?? [];
    this.messageId = this.metadata["message_id"] ?? null;
    this.retryDelayMs = failure.retryDelayMs ?? 0;
    for (const [name, value] of Object.entries(this)) {
      if (isEmpty(value)) {
        Object.defineProperty(this, name, { enumerable: false }); // Nobody who prints the error wants to see it.
      }
    }
  }
}

function isEmpty(value: unknown): boolean {
  return !value || (typeof value === "object" && Object.keys(value).length === 0);
}

export class InvalidArgumentError extends OpenIntentError {}
/** No API key, or one that the server does not know. Where nothing catches it, it is one line: no stack would say more. */
export class UnauthenticatedError extends OpenIntentError {
  constructor({ cause: _, ...failure }: Failure) {
    super(failure);
    this.stack = `${this.name}: ${this.message}`;
    for (const name of Object.keys(this)) {
      Object.defineProperty(this, name, { enumerable: false });
    }
  }
}
export class PermissionDeniedError extends OpenIntentError {}
export class NotFoundError extends OpenIntentError {}
export class AlreadyExistsError extends OpenIntentError {}
export class FailedPreconditionError extends OpenIntentError {}
export class AbortedError extends OpenIntentError {}
export class ResourceExhaustedError extends OpenIntentError {}
export class UnavailableError extends OpenIntentError {}

/** The wait for responses ran out (`messageId` names the request), or the time to follow a channel. */
export class MessageTimeoutError extends OpenIntentError {}

/** The channel is closed and takes no more messages. */
export class ChannelClosedError extends FailedPreconditionError {}
/** The one agent that was asked said no. It may still answer; `resumeAsk` with `messageId` finds the answer then. */
export class DeclinedError extends FailedPreconditionError {
  /** What the agent said beside its no; null for nothing. */
  get note(): string | null {
    return this.metadata["note"] ?? null;
  }
}
/** The message was deleted; after an ask, its request was withdrawn. */
export class MessageDeletedError extends FailedPreconditionError {}
/** The intent is completed or abandoned. */
export class IntentEndedError extends FailedPreconditionError {}
/** It is too late to answer the message or to mark it read. */
export class MessageExpiredError extends FailedPreconditionError {}

export class ChannelNotFoundError extends NotFoundError {}
/** There is no such message, or this client's agent may not see it. */
export class MessageNotFoundError extends NotFoundError {}
export class IntentNotFoundError extends NotFoundError {}

/** The channel is for its members only, and this client's agent is not one. */
export class NotAMemberError extends PermissionDeniedError {}
/** The channel is for its members only, and the addressed agent is not one. */
export class TargetNotAMemberError extends PermissionDeniedError {}
/** A call named another sender than the client's agent, which only the operator may do. */
export class SenderMismatchError extends PermissionDeniedError {}

/** Others hold the claims on the message; `metadata` has `holder` and `expires_at`. */
export class ClaimedError extends AlreadyExistsError {}
/** The claim on a message has ended, or could not be renewed in time. */
export class ClaimLostError extends FailedPreconditionError {}
/** The request has its answers already. */
export class AnsweredError extends FailedPreconditionError {}

/** An open channel of the intent has the name. */
export class ChannelNameTakenError extends AlreadyExistsError {}

/** A lease ended before the work that it was for: the server said so, or it could not be renewed in time. */
export class LeaseLostError extends OpenIntentError {}

/** The responder's handler failed; `message` is its text. */
export class RemoteError extends OpenIntentError {
  /** The name of the type of the handler's error. */
  readonly type: string;
  /** The response that says so. */
  readonly response: Message;

  constructor(response: Message) {
    const { type, text } = handlerFailure(response);
    super({
      code: "UNKNOWN",
      reason: "HANDLER_FAILED",
      message: text,
      metadata: response.correlationId === null ? {} : { message_id: response.correlationId },
    });
    this.type = type;
    this.response = response;
  }
}

function handlerFailure(response: Message): { type: string; text: string } {
  const error = response.payload["error"];
  const said = typeof error === "object" && error !== null && !Array.isArray(error) ? error : {};
  return {
    type: typeof said["type"] === "string" ? said["type"] : "",
    text: typeof said["message"] === "string" ? said["message"] : "The responder's handler failed.",
  };
}

/** The asked agent found a payload that does not fit: mostly the question's, or else what its own handler returned. */
export class RemotePayloadError extends RemoteError {}

/** A payload that cannot be sent, or does not have the form that is asked for; found by this package itself. */
export class PayloadError extends InvalidArgumentError {
  /** Who sent it; null for a payload of this program's own. */
  readonly agent: string | null;

  constructor(field: string, description: string, origin?: { sender: string; id: string }) {
    const from = origin === undefined ? "" : ` (message ${origin.id} from ${origin.sender})`;
    super({
      code: "INVALID_ARGUMENT",
      reason: "INVALID_PAYLOAD",
      message: `${field} ${description}${from === "" ? "." : from}`,
      violations: [{ field, description }],
      metadata: origin === undefined ? {} : { message_id: origin.id },
    });
    this.agent = origin?.sender ?? null;
  }
}

/** The error of a response that says that its responder failed. */
export function remoteError(response: Message): RemoteError {
  const { type } = handlerFailure(response);
  return type === PayloadError.name ? new RemotePayloadError(response) : new RemoteError(response);
}

type ErrorClass = new (failure: Failure) => OpenIntentError;

const byReason: Readonly<Record<string, ErrorClass>> = {
  MESSAGE_TIMEOUT: MessageTimeoutError,
  CLAIMED: ClaimedError,
  CLAIM_LOST: ClaimLostError,
  ANSWERED: AnsweredError,
  CHANNEL_CLOSED: ChannelClosedError,
  DECLINED: DeclinedError,
  MESSAGE_DELETED: MessageDeletedError,
  INTENT_ENDED: IntentEndedError,
  MESSAGE_EXPIRED: MessageExpiredError,
  CHANNEL_NOT_FOUND: ChannelNotFoundError,
  MESSAGE_NOT_FOUND: MessageNotFoundError,
  INTENT_NOT_FOUND: IntentNotFoundError,
  NOT_A_MEMBER: NotAMemberError,
  TARGET_NOT_A_MEMBER: TargetNotAMemberError,
  SENDER_MISMATCH: SenderMismatchError,
  CHANNEL_NAME_TAKEN: ChannelNameTakenError,
};

const byCode: Partial<Record<Code, ErrorClass>> = {
  INVALID_ARGUMENT: InvalidArgumentError,
  UNAUTHENTICATED: UnauthenticatedError,
  PERMISSION_DENIED: PermissionDeniedError,
  NOT_FOUND: NotFoundError,
  ALREADY_EXISTS: AlreadyExistsError,
  FAILED_PRECONDITION: FailedPreconditionError,
  ABORTED: AbortedError,
  RESOURCE_EXHAUSTED: ResourceExhaustedError,
  UNAVAILABLE: UnavailableError,
  DEADLINE_EXCEEDED: MessageTimeoutError,
};

/** Makes the error for a failure, of the class for its reason or, where there is none, for its code. */
export function errorFrom(failure: Failure): OpenIntentError {
  const known = byReason[failure.reason ?? ""] ?? byCode[failure.code] ?? OpenIntentError;
  return new known(inThisLanguage(failure));
}

/** The server names an option as the contract does. */
function inThisLanguage(failure: Failure): Failure {
  return failure.reason === "NOBODY_THERE" ? { ...failure, message: failure.message.replace("fail_fast", "failFast") } : failure;
}

/** The reasons of the errors for an address where a server's other face listens: trying again does not help. */
export const wrongPort = { gRPC: "NOT_GRPC", REST: "NOT_REST" } as const;

/** The reason of the error for a server that speaks no TLS while the client does, or the other way round, or is not trusted. */
export const tlsFailed = "TLS_FAILED";

/** The reasons for which a call that got no answer is not made again: nothing but other settings helps. */
const hopeless: readonly string[] = [...Object.values(wrongPort), tlsFailed];

/** Whether trying again may help and, under the same idempotency key, does no harm. */
export function isRetryable(error: unknown): error is OpenIntentError {
  if (!(error instanceof OpenIntentError)) {
    return false;
  }
  return error.code === "UNAVAILABLE" ? !hopeless.includes(error.reason) : error.code === "ABORTED" && error.reason === "";
}

/** The error for an argument that is refused before anything is sent. */
export function badField(field: string, description: string): OpenIntentError {
  return errorFrom({
    code: "INVALID_ARGUMENT",
    reason: "INVALID_FIELD",
    message: `${field} ${description}.`,
    violations: [{ field, description }],
  });
}

/** The error for a connection that could not be made or was lost. */
export function connectionLost(message: string, cause?: unknown): OpenIntentError {
  return errorFrom({ code: "UNAVAILABLE", message, cause });
}

/** The error for calls that are under way when their client is closed, and for later ones. */
export function clientClosed(): OpenIntentError {
  return errorFrom({ code: "CANCELLED", message: "The client is closed." });
}

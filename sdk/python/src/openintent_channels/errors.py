"""What can go wrong, as types: one per canonical code, and finer ones for the reasons that a program branches on.

Every refusal of the server is an `OpenIntentError`. `code` and `reason` are stable words to branch on; `message` is for
people and may change.
"""

from __future__ import annotations

from collections.abc import Mapping

from ._basic_errors import InvalidArgumentError, OpenIntentError, PayloadError, Violation
from .models import Message

__all__ = [
    "AbortedError",
    "AlreadyExistsError",
    "AnsweredError",
    "ChannelClosedError",
    "ChannelNameTakenError",
    "ChannelNotFoundError",
    "ClaimLostError",
    "ClaimedError",
    "DeclinedError",
    "FailedPreconditionError",
    "IntentEndedError",
    "IntentNotFoundError",
    "InvalidArgumentError",
    "LeaseLostError",
    "MessageDeletedError",
    "MessageExpiredError",
    "MessageNotFoundError",
    "MessageTimeoutError",
    "NotAMemberError",
    "NotFoundError",
    "OpenIntentError",
    "PayloadError",
    "PermissionDeniedError",
    "RemoteError",
    "RemotePayloadError",
    "ResourceExhaustedError",
    "SenderMismatchError",
    "TargetNotAMemberError",
    "UnauthenticatedError",
    "UnavailableError",
    "Violation",
]

for _kind in (InvalidArgumentError, OpenIntentError, PayloadError, Violation):
    _kind.__module__ = __name__  # Programs import them from here, so tracebacks and pickles name this module.


class UnauthenticatedError(OpenIntentError):
    """No API key, or one that the server does not know."""


class PermissionDeniedError(OpenIntentError):
    """The caller is known and may not do this."""


class NotFoundError(OpenIntentError):
    """There is no such thing, or it is not the caller's to see."""


class AlreadyExistsError(OpenIntentError):
    """The name or the key is taken."""


class FailedPreconditionError(OpenIntentError):
    """The state of things does not allow the call, and trying again does not change that."""


class AbortedError(OpenIntentError):
    """Somebody else changed it first; read again and base the change on what is there."""


class ResourceExhaustedError(OpenIntentError):
    """Too large, or more than the caller may have."""


class UnavailableError(OpenIntentError):
    """The server could not be reached, was silent, or could not serve now, until the call's deadline passed. The text names
    its address. The call may have taken effect all the same."""

    unconnected = False
    """Whether there was no connection, so that the server knows nothing of the call."""

    brief = ""
    """The text without what the last attempt failed with, for a log that has said that before."""


class MessageTimeoutError(OpenIntentError, TimeoutError):
    """The server says that no response came in time. `message_id` is the request's, and `cause` says why, such as
    `NOT_ANSWERED`."""


class ChannelClosedError(FailedPreconditionError):
    """The channel is closed; after an `ask`, it closed before an answer came."""


class DeclinedError(FailedPreconditionError):
    """The one agent that was asked said no. It may still answer; `resume_ask` with `message_id` finds the answer then."""

    @property
    def note(self) -> str | None:
        """What the agent said beside its no."""
        return self.metadata.get("note")


class MessageDeletedError(FailedPreconditionError):
    """The message was deleted; after an `ask`, its request was withdrawn."""


class IntentEndedError(FailedPreconditionError):
    """The intent is completed or abandoned."""


class MessageExpiredError(FailedPreconditionError):
    """The message's time is over: it can no longer be answered or marked read."""


class AnsweredError(FailedPreconditionError):
    """The request has its answers already."""


class ClaimLostError(FailedPreconditionError):
    """The claim on a message has ended, or could not be renewed in time."""


class ClaimedError(AlreadyExistsError):
    """Others hold the claims on the message; `metadata` has `holder` and `expires_at`."""


class ChannelNotFoundError(NotFoundError):
    """There is no such channel."""


class MessageNotFoundError(NotFoundError):
    """There is no such message on that channel for this caller."""


class IntentNotFoundError(NotFoundError):
    """There is no such intent."""


class NotAMemberError(PermissionDeniedError):
    """The channel is for its listed members only."""


class TargetNotAMemberError(PermissionDeniedError):
    """The addressed agent is not a member of the channel."""


class SenderMismatchError(PermissionDeniedError):
    """The named sender is not the caller."""


class ChannelNameTakenError(AlreadyExistsError):
    """An open channel of the intent has that name."""


class LeaseLostError(OpenIntentError):
    """A lease ended before its block did: the server said so, or it could not be renewed in time."""


class RemoteError(OpenIntentError):
    """The responder's handler failed. `message` is its error's text, `type` that error's name, `response` the message."""

    def __init__(self, message: str, *, type: str, response: Message) -> None:
        facts = {"message_id": response.correlation_id} if response.correlation_id else {}
        OpenIntentError.__init__(self, message, code="UNKNOWN", reason="HANDLER_FAILED", metadata=facts)
        self.type = type
        self.response = response


class RemotePayloadError(RemoteError, PayloadError):
    """The asked agent found a payload that does not fit: mostly the question's, or else what its own handler returned.
    `agent` is the one that says so."""

    def __init__(self, message: str, *, response: Message) -> None:
        RemoteError.__init__(self, message, type=PayloadError.__name__, response=response)
        self.agent = response.sender


BY_CODE: Mapping[str, type[OpenIntentError]] = {
    "INVALID_ARGUMENT": InvalidArgumentError,
    "UNAUTHENTICATED": UnauthenticatedError,
    "PERMISSION_DENIED": PermissionDeniedError,
    "NOT_FOUND": NotFoundError,
    "ALREADY_EXISTS": AlreadyExistsError,
    "FAILED_PRECONDITION": FailedPreconditionError,
    "ABORTED": AbortedError,
    "RESOURCE_EXHAUSTED": ResourceExhaustedError,
    "UNAVAILABLE": UnavailableError,
}
"""Which error a canonical code becomes when its reason has none of its own."""

BY_REASON: Mapping[str, type[OpenIntentError]] = {
    "MESSAGE_TIMEOUT": MessageTimeoutError,
    "CHANNEL_CLOSED": ChannelClosedError,
    "DECLINED": DeclinedError,
    "MESSAGE_DELETED": MessageDeletedError,
    "INTENT_ENDED": IntentEndedError,
    "MESSAGE_EXPIRED": MessageExpiredError,
    "ANSWERED": AnsweredError,
    "CLAIM_LOST": ClaimLostError,
    "CLAIMED": ClaimedError,
    "CHANNEL_NOT_FOUND": ChannelNotFoundError,
    "MESSAGE_NOT_FOUND": MessageNotFoundError,
    "INTENT_NOT_FOUND": IntentNotFoundError,
    "NOT_A_MEMBER": NotAMemberError,
    "TARGET_NOT_A_MEMBER": TargetNotAMemberError,
    "SENDER_MISMATCH": SenderMismatchError,
    "CHANNEL_NAME_TAKEN": ChannelNameTakenError,
}
"""Which error a reason becomes."""

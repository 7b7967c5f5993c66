"""What can go wrong, as types: one per canonical code, and finer ones for the reasons that a program branches on.

Every refusal of the server is an `OpenIntentError`. `code` and `reason` are stable words to branch on; `message` is for
people and may change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .models import Message


__all__ = [
    "AbortedError",
    "AlreadyExistsError",
    "ChannelClosedError",
    "ChannelNameTakenError",
    "ChannelNotFoundError",
    "FailedPreconditionError",
    "IntentEndedError",
    "IntentNotFoundError",
    "InvalidArgumentError",
    "MessageExpiredError",
    "MessageNotFoundError",
    "MessageTimeoutError",
    "NotAMemberError",
    "NotFoundError",
    "OpenIntentError",
    "PayloadError",
    "PermissionDeniedError",
    "RemoteError",
    "ResourceExhaustedError",
    "SenderMismatchError",
    "TargetNotAMemberError",
    "UnauthenticatedError",
    "UnavailableError",
    "Violation",
]


@dataclass(frozen=True, slots=True)
class Violation:
    """One field of a request that was refused, and why."""

    field: str
    description: str


class OpenIntentError(Exception):
    """A call that the server refused or that never reached it.

    `code` is the canonical gRPC name (`NOT_FOUND`), `reason` the server's stable word (`CHANNEL_NOT_FOUND`; empty when the
    failure is not the server's), `metadata` further facts as text, `violations` the fields that were refused, and
    `retry_after` the seconds that the server asks to wait before the next attempt, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "UNKNOWN",
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        violations: Sequence[Violation] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.metadata = dict(metadata or {})
        self.violations = tuple(violations)
        self.retry_after = retry_after

    @property
    def message_id(self) -> str | None:
        """The message that the call was about, where the server told it: of an ask, its request."""
        return self.metadata.get("message_id")

    def __str__(self) -> str:
        return f"{self.message} ({self.reason or self.code})"


class InvalidArgumentError(OpenIntentError):
    """The call itself is wrong; `violations` says where."""


class UnauthenticatedError(OpenIntentError):
    """No API key, or one that the server does not know."""


class PermissionDeniedError(OpenIntentError):
    """The caller is known and may not do this."""


class NotFoundError(OpenIntentError):
    """There is no such thing, or it is not the caller's to see."""


class AlreadyExistsError(OpenIntentError):
    """The name or the key is taken."""


class FailedPreconditionError(OpenIntentError):
    """Things are not as the call needs them, and trying again does not change that."""


class AbortedError(OpenIntentError):
    """Somebody else changed it first; read again and base the change on what is there."""


class ResourceExhaustedError(OpenIntentError):
    """Too large, or more than the caller may have."""


class UnavailableError(OpenIntentError):
    """The server cannot be reached or cannot answer now, and did not in the time that the call had."""


class MessageTimeoutError(OpenIntentError, TimeoutError):
    """The time ran out: no response came, or no answer of the server. `message_id` is the request's, None if not known."""


class ChannelClosedError(FailedPreconditionError):
    """The channel is closed; after an `ask`, it closed before an answer came."""


class IntentEndedError(FailedPreconditionError):
    """The intent is completed or abandoned."""


class MessageExpiredError(FailedPreconditionError):
    """The message's time is over: it can no longer be answered or marked read."""


class ChannelNotFoundError(NotFoundError):
    """There is no such channel."""


class MessageNotFoundError(NotFoundError):
    """There is no such message on that channel for this caller."""


class IntentNotFoundError(NotFoundError):
    """There is no such intent."""


class NotAMemberError(PermissionDeniedError):
    """The channel is for its listed members only."""


class TargetNotAMemberError(PermissionDeniedError):
    """The addressed agent is no member of the channel."""


class SenderMismatchError(PermissionDeniedError):
    """The named sender is not who calls."""


class ChannelNameTakenError(AlreadyExistsError):
    """An open channel of the intent has that name."""


class RemoteError(OpenIntentError):
    """The responder's handler failed. `message` is its error's text, `type` that error's name, `response` the message."""

    def __init__(self, message: str, *, type: str, response: Message) -> None:
        facts = {"message_id": response.correlation_id} if response.correlation_id else {}
        super().__init__(message, code="UNKNOWN", reason="HANDLER_FAILED", metadata=facts)
        self.type = type
        self.response = response


class PayloadError(InvalidArgumentError, ValueError):
    """A payload that cannot be written or does not have the form that a type asks for; found before or after the wire."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(
            f"{path}: {problem}", code="INVALID_ARGUMENT", reason="INVALID_PAYLOAD", violations=[Violation(path, problem)]
        )


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
    "DEADLINE_EXCEEDED": MessageTimeoutError,
}
"""Which error a canonical code becomes where its reason has none of its own."""

BY_REASON: Mapping[str, type[OpenIntentError]] = {
    "MESSAGE_TIMEOUT": MessageTimeoutError,
    "CHANNEL_CLOSED": ChannelClosedError,
    "INTENT_ENDED": IntentEndedError,
    "MESSAGE_EXPIRED": MessageExpiredError,
    "CHANNEL_NOT_FOUND": ChannelNotFoundError,
    "MESSAGE_NOT_FOUND": MessageNotFoundError,
    "INTENT_NOT_FOUND": IntentNotFoundError,
    "NOT_A_MEMBER": NotAMemberError,
    "TARGET_NOT_A_MEMBER": TargetNotAMemberError,
    "SENDER_MISMATCH": SenderMismatchError,
    "CHANNEL_NAME_TAKEN": ChannelNameTakenError,
}
"""Which error a reason becomes."""

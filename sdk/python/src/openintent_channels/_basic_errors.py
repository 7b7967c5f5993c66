"""The errors that payloads and messages raise themselves. Programs import them from `errors`, which has the others too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


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
        """The message that the call was about, if the server named it; for an ask, its request."""
        return self.metadata.get("message_id")

    @property
    def cause(self) -> str | None:
        """Why nobody answered, or is there to answer: a word such as `NEVER_SEEN`, `AWAY` or `NOT_ANSWERED`. The server says
        it with MESSAGE_TIMEOUT and NOBODY_THERE; other errors have None."""
        return self.metadata.get("cause")

    def __str__(self) -> str:
        return f"{self.message} ({self.reason or self.code})"


class InvalidArgumentError(OpenIntentError):
    """The call itself is wrong; `violations` says where."""


class PayloadError(InvalidArgumentError, ValueError):
    """A payload that cannot be sent, or does not have the form that a type asks for; found by this package itself. `agent`
    is who sent it; None for a payload of this program's own."""

    agent: str | None = None

    def __init__(self, path: str, problem: str, *, agent: str | None = None, message_id: str | None = None) -> None:
        told = f"{path} {problem}"
        super().__init__(
            f"{told}." if agent is None else f"{told} (message {message_id} from {agent})",
            code="INVALID_ARGUMENT", reason="INVALID_PAYLOAD", violations=[Violation(path, problem)],
            metadata={"message_id": message_id} if message_id else None,
        )
        self.agent = agent

    def of(self, agent: str, message_id: str) -> PayloadError:
        """Returns the same error, of a message that somebody sent."""
        (wrong,) = self.violations
        return PayloadError(wrong.field, wrong.description, agent=agent, message_id=message_id)

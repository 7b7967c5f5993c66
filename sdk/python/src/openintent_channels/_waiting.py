"""How messages wait before a subscription delivers them to an agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._generated import subscriptions_pb2


@dataclass(frozen=True, slots=True)
class Waiting:
    """Whether messages wait until their sender pauses, and for how many seconds those that are not for the agent are
    gathered into a digest of so many characters."""

    compose: bool = False
    digest_seconds: int | None = None
    max_chars: int | None = None

    def fields(self) -> dict[str, Any]:
        """Returns what to ask for when the subscription is made."""
        return {
            "compose": self.compose or None,
            "digest_seconds": self.digest_seconds,
            "max_chars": self.max_chars,
        }

    def is_of(self, there: subscriptions_pb2.Subscription) -> bool:
        """Whether messages wait in this way in a subscription that is there."""
        return (
            there.compose == self.compose
            and there.digest_seconds == (self.digest_seconds or 0)
            and (self.max_chars is None or there.max_chars == self.max_chars)
        )

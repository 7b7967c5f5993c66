"""When an agent turns again to a request that it could not handle: the same rule in all languages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone

from ._handling import Outcome
from ._received import Received
from .digests import Digest
from .models import optional_time

ATTEMPTS = 3
"""How often an agent calls the handlers of a claimed request before it answers with their failure."""

MOST_ASIDE = 1_000
"""How many requests wait for another turn. Further ones are left to the agents that hold the claims."""

_FIRST_TURN = 1.0
_AFTER_FAILURE = 3.0
_LONGEST_TURN = 10.0


@dataclass(frozen=True, slots=True)
class DigestJob:
    """A digest that an agent is to handle, under an id of its own."""

    id: str
    digest: Digest


@dataclass(slots=True)
class Job:
    """A message that an agent is to handle, and how often it tried."""

    received: Received
    expected: bool = False
    """Whether it was found in the inbox, and the subscription has it too."""
    turns: int = 0
    failures: int = 0

    def is_last(self) -> bool:
        """Whether this is the last attempt: because of their number, or because the request ends before another one."""
        if self.failures + 1 >= ATTEMPTS:
            return True
        expires = optional_time(self.received.wire, "expires_at")
        if expires is None:
            return False
        left = (expires - datetime.now(timezone.utc)).total_seconds()
        return bool(left <= _AFTER_FAILURE * 2.0**self.failures)

    def wait(self, outcome: Outcome, dice: Callable[[], float]) -> float:
        """Returns the seconds until the next turn. After a failure they are more, so that other agents come first."""
        if outcome is Outcome.FAILED:
            self.failures += 1
            whole = _AFTER_FAILURE * 2.0 ** min(self.failures - 1, 10)
        else:
            self.turns += 1
            whole = _FIRST_TURN * 2.0 ** min(self.turns - 1, 10)
        return float(min(whole, _LONGEST_TURN) * (0.5 + 0.5 * dice()))

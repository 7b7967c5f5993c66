"""When a failed call is made again, and after how long. Nothing here waits or reads a clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ._advice import NOT_GRPC
from ._securing import TLS_FAILED
from .errors import AbortedError, OpenIntentError, UnavailableError

FIRST_WAIT = 0.1
LONGEST_WAIT = 5.0

PATIENCE = 30.0
"""How many seconds a call without a deadline of its own is tried for."""

_LONGEST_LOCAL_WAIT = 0.5
"""The longest wait while a server on this machine says nothing: its clients are back within a second of its start."""


def is_passing(error: OpenIntentError) -> bool:
    """Whether the same call may fare better in a moment."""
    if isinstance(error, UnavailableError):
        return error.reason not in (NOT_GRPC, TLS_FAILED)
    return isinstance(error, AbortedError) and not error.reason


def never_began(error: OpenIntentError) -> bool:
    """Whether the call certainly had no effect, so that even one that must not happen twice can be made again. A call whose
    time ran out may have had one: gRPC does not tell whether it was still waiting for a connection."""
    if not isinstance(error, UnavailableError):
        return False
    if error.reason:
        return error.reason != "OUTCOME_UNKNOWN"
    return error.unconnected


@dataclass(slots=True)
class Waits:
    """The waits between the attempts of one call: doubling from 100 ms to 5 s, each between half and the whole of that, and
    at least what the server asks for. Those for a server on this machine that says nothing end at 500 ms. `random` gives
    numbers from 0 to 1."""

    random: Callable[[], float]
    attempts: int = 0
    local: bool = False

    def after(self, error: OpenIntentError | None = None) -> float:
        """Returns the seconds to wait after one more failure."""
        longest = _LONGEST_LOCAL_WAIT if self.local and not (error and error.reason) else LONGEST_WAIT
        whole: float = min(longest, FIRST_WAIT * 2**self.attempts)
        self.attempts += whole < longest
        wait = whole * (0.5 + 0.5 * self.random())
        return max(wait, (error.retry_after if error else None) or 0.0)

    def succeeded(self) -> None:
        """Goes back to the short waits."""
        self.attempts = 0


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment by which a call is over, on a clock that only runs forward; None: never."""

    clock: Callable[[], float]
    at: float | None
    seconds: float | None

    @classmethod
    def within(cls, clock: Callable[[], float], seconds: float | None) -> Deadline:
        """Returns the deadline that many seconds from now."""
        return cls(clock, None if seconds is None else clock() + seconds, seconds)

    def connecting(self, seconds: float | None) -> Deadline:
        """Returns the moment by which a call without a connection is over: so many seconds after its begin, and not later
        than this."""
        if seconds is None or (self.seconds is not None and self.seconds <= seconds):
            return self
        begun = self.clock() if self.at is None or self.seconds is None else self.at - self.seconds
        return Deadline(self.clock, begun + seconds, seconds)

    @property
    def remaining(self) -> float | None:
        """The seconds that are left, 0 when there are none; None: for ever."""
        return None if self.at is None else max(0.0, self.at - self.clock())

    def allows(self, wait: float) -> bool:
        """Whether there is time left after a wait of that many seconds."""
        remaining = self.remaining
        return remaining is None or wait < remaining

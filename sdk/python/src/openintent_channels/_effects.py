"""What the rules of this package want done. The rules are generators that yield these and get their results, or have their
errors thrown in; a driver carries them out, by blocking or by awaiting. So each rule is written once, and tested without a
network or a clock.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from ._methods import Method

T = TypeVar("T")
Steps = Generator["Effect", Any, T]
"""A rule that ends with a T."""


class Stream(Protocol):
    """A stream of answers that a driver has opened."""

    def cancel(self) -> Any:
        """Ends it, without waiting."""


@dataclass(frozen=True, slots=True)
class Invoke:
    """Make one attempt of a call, within so many seconds (None: without bound). Results in the answer."""

    method: Method[Any, Any]
    request: Any
    timeout: float | None
    metadata: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Open:
    """Begin a streaming call. Results in a Stream, at once."""

    method: Method[Any, Any]
    request: Any


@dataclass(frozen=True, slots=True)
class Accepted:
    """Wait until the server accepts a stream or refuses it. Results in its header, as a dict; the next Receive has the
    refusal."""

    stream: Stream


@dataclass(frozen=True, slots=True)
class Receive:
    """Wait for the next answer of a stream. Results in it, or in None at the stream's end."""

    stream: Stream


@dataclass(frozen=True, slots=True)
class Emit:
    """Give a value to whoever iterates. Only rules that are iterated yield it."""

    value: Any


@dataclass(frozen=True, slots=True)
class Began:
    """Tell that the iteration has begun: what happens from now on will be given."""


Effect = Invoke | Pause | Open | Accepted | Receive | Emit | Began

"""What the rules of this package want done. A rule is a generator: it yields an effect, and a driver carries the effect out,
by blocking or by awaiting, and sends its result back or throws its error in. So each rule is written once, and tested
without a network or a clock.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from ._methods import Method

T = TypeVar("T")
Steps = Generator["Effect", Any, T]
"""A rule that returns a T."""


class Stream(Protocol):
    """A stream of answers that a driver has opened."""

    def cancel(self) -> Any:
        """Ends it, without waiting."""


@dataclass(slots=True)
class Invoke:
    """Make one attempt at a call, within `timeout` seconds (None: without a bound). The result is the answer."""

    method: Method[Any, Any]
    request: Any
    timeout: float | None
    metadata: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Pause:
    """Wait that many seconds."""

    seconds: float


@dataclass(slots=True)
class Open:
    """Begin a streaming call. The result is a Stream, at once."""

    method: Method[Any, Any]
    request: Any


@dataclass(slots=True)
class Accepted:
    """Wait until the server accepts a stream or refuses it. The result is the stream's header, as a dict; a refusal comes
    with the next Receive."""

    stream: Stream


@dataclass(slots=True)
class Receive:
    """Wait for the next answer of a stream. The result is that answer, or None at the end of the stream."""

    stream: Stream


@dataclass(slots=True)
class Emit:
    """Pass a value to whoever iterates. Only rules that are iterated yield this."""

    value: Any


@dataclass(slots=True)
class Began:
    """Say that the iteration has begun: it yields what happens from now on."""


Effect = Invoke | Pause | Open | Accepted | Receive | Emit | Began

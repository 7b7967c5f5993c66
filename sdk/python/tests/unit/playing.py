"""Plays rules without a server: a clock that moves only when a rule pauses, and answers from a script."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from openintent_channels._calls import Calls
from openintent_channels._effects import Accepted, Began, Effect, Emit, Invoke, Open, Pause, Receive, Steps
from openintent_channels.errors import OpenIntentError, UnavailableError

Outcome = Any
"""What an effect results in: a value, an error to be raised, or a callable that takes the effect and returns one."""


def away(reason: str = "", **facts: Any) -> UnavailableError:
    """Returns the error of a server that is away."""
    return UnavailableError("away", code="UNAVAILABLE", reason=reason, **facts)


def refused() -> UnavailableError:
    """Returns the error of an attempt that got no connection."""
    error = away()
    error.unconnected = True
    return error


@dataclass
class FakeStream:
    """A stream whose header and answers are scripted; an error among them is raised when its turn comes."""

    header: dict[str, str]
    answers: Iterator[Any]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


def stream(position: int | None, *answers: Any) -> FakeStream:
    """Returns a stream that was accepted at a position, or was not, with what comes over it."""
    header = {} if position is None else {"openintent-position": str(position)}
    return FakeStream(header, iter(answers))


@dataclass
class Player:
    """Carries out rules with scripted outcomes, and keeps what they did."""

    outcomes: Iterator[Outcome]
    now: float = 0.0
    invoked: list[Invoke] = field(default_factory=list)
    opened: list[Open] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    emitted: list[Any] = field(default_factory=list)
    began: int = 0

    @classmethod
    def of(cls, *outcomes: Outcome) -> Player:
        return cls(iter(outcomes))

    def calls(self, **said: Any) -> Calls:
        """Returns calls on this player's clock, with the longest waits and with counted keys."""
        keys = itertools.count()
        return Calls(clock=lambda: self.now, dice=lambda: 1.0, key=lambda: f"key-{next(keys)}", **said)

    def takes(self, seconds: float, outcome: Outcome) -> Callable[[Effect], Outcome]:
        """Returns an outcome that takes some time."""

        def later(_: Effect) -> Outcome:
            self.now += seconds
            return outcome

        return later

    def play(self, steps: Steps[Any]) -> Any:
        """Carries out a rule to its end."""
        value, error = None, None
        while True:
            try:
                effect = steps.throw(error) if error is not None else steps.send(value)
            except StopIteration as end:
                return end.value
            value, error = None, None
            try:
                value = self._perform(effect)
            except OpenIntentError as failure:
                error = failure

    def _perform(self, effect: Effect) -> Any:
        match effect:
            case Pause(seconds):
                self.pauses.append(seconds)
                self.now += seconds
            case Emit(value):
                self.emitted.append(value)
            case Began():
                self.began += 1
            case Accepted(stream):
                return stream.header  # type: ignore[attr-defined]
            case Receive(stream):
                return _given(next(stream.answers, None), effect)  # type: ignore[attr-defined]
            case Open():
                self.opened.append(effect)
                return _given(next(self.outcomes), effect)
            case Invoke():
                self.invoked.append(effect)
                return _given(next(self.outcomes), effect)
        return None


def _given(outcome: Outcome, effect: Effect) -> Any:
    if callable(outcome):
        outcome = outcome(effect)
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome

# Generated from _async_running.py by generate_blocking.py; edit that.
"""Carries out rules, for blocking programs."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

from ._blocking import Transport
from ._connections import advance
from ._effects import Began, Effect, Emit, Open, Steps, Stream
from .errors import OpenIntentError

T = TypeVar("T")


class Runner(Protocol):
    """What carries out rules: a connection, or what reaches one from elsewhere."""

    def run(self, steps: Steps[T]) -> T: ...


class Connection(Transport):
    """A connection for any number of threads."""

    def run(self, steps: Steps[T]) -> T:
        """Carries out a rule to its end."""
        try:
            effect = steps.send(None)
            while True:
                try:
                    value = self.perform(effect)
                except BaseException as failure:
                    effect = steps.throw(failure)
                else:
                    effect = steps.send(value)
        except StopIteration as end:
            result: T = end.value
            return result
        except OpenIntentError as error:
            raise error.with_traceback(None) from error.__cause__  # how the rule came to it is nothing to the caller


class Iteration(Generic[T]):
    """What a rule emits, one by one: an iterator and context manager, which ends it early.

    It begins at its first `next`, at `started()`, or on entering `with`. One thread at a time may wait for it, and
    another one may close it.
    """

    def __init__(self, connection: Connection, steps: Steps[None]) -> None:
        self._connection = connection
        self._steps = steps
        self._ready: list[T] = []
        self._stream: Stream | None = None
        self._value: Any = None
        self._began = self._ended = self._closed = False

    def started(self) -> None:
        """Waits until it has begun: it yields what happens from then on. Raises what the first `next` would raise."""
        while not self._began and not self._ended:
            self._step()

    def close(self) -> None:
        """Ends it, also for a thread that waits for its next value."""
        self._closed = True
        if self._stream is not None:
            self._stream.cancel()

    def _step(self) -> None:
        """Carries out the rule's next effect, unless it is closed."""
        if self._closed:
            self._ended = True
            self._steps.close()
            return
        try:
            effect = advance(self._steps, self._value, None)
            self._value = None
            while not self._noted(effect):
                try:
                    self._value = self._connection.perform(effect)
                    break
                except BaseException as failure:
                    effect = advance(self._steps, None, failure)
            if isinstance(effect, Open):
                self._stream = self._value
        except BaseException as failure:
            self._ended = True
            if not isinstance(failure, StopIteration) and not (self._closed and isinstance(failure, OpenIntentError)):
                raise

    def _noted(self, effect: Effect) -> bool:
        if isinstance(effect, Began):
            self._began = True
        elif isinstance(effect, Emit):
            self._began = True
            self._ready.append(effect.value)
        else:
            return False
        return True

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        while not self._ready:
            if self._ended:
                raise StopIteration
            self._step()
        return self._ready.pop(0)

    def __enter__(self) -> Iteration[T]:
        self.started()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

"""Carries out rules by blocking the thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Generic, TypeVar

import grpc

from ._connections import Stubs, advance, client_closed, dial, failed, secured
from ._effects import Accepted, Began, Effect, Emit, Invoke, Open, Pause, Receive, Steps, Stream
from ._settings import Settings
from .errors import OpenIntentError

T = TypeVar("T")


class BlockingConnection:
    """A connection that any number of threads may use at once."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._metadata = settings.metadata
        self._channel = dial(settings, grpc)
        self._stubs = Stubs(self._channel)
        self._closed = threading.Event()

    def close(self) -> None:
        """Ends all calls and streams, and refuses new ones from then on. Closing again does nothing."""
        self._closed.set()
        self._channel.close()

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

    def perform(self, effect: Effect) -> Any:
        """Carries out one effect. Raises OpenIntentError when the server refuses it."""
        if isinstance(effect, Pause):
            self._closed.wait(effect.seconds)
            return None
        if self._closed.is_set():
            raise client_closed()
        try:
            match effect:
                case Invoke():
                    return self._stubs.of(effect.method)(
                        effect.request, timeout=effect.timeout, metadata=self._metadata + effect.metadata
                    )
                case Open():
                    return self._stubs.of(effect.method)(effect.request, metadata=self._metadata)
                case Accepted(stream):
                    return dict(stream.initial_metadata() or ())  # type: ignore[attr-defined]
                case Receive(stream):
                    return next(stream, None)  # type: ignore[call-overload]
        except grpc.RpcError as failure:
            error = client_closed() if self._closed.is_set() else failed(failure, self._settings)
            raise secured(error, self._settings) from None
        raise AssertionError(f"{effect} is not an effect of a call")


class Iteration(Generic[T]):
    """What a rule emits, one by one: an iterator, and a context manager that ends it early.

    It begins at its first `next`, at `started()`, or on entering `with`. Another thread may close it.
    """

    def __init__(self, connection: BlockingConnection, steps: Steps[None]) -> None:
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
        """Carries out the rule's next effect."""
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
            if not isinstance(failure, StopIteration) and not self._closed:
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
            if self._closed and not self._ended:
                self._ended = True
                self._steps.close()
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

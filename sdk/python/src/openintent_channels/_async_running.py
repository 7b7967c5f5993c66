"""Carries out rules, for asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

from ._awaiting import Transport
from ._connections import advance
from ._effects import Began, Effect, Emit, Open, Steps, Stream
from .errors import OpenIntentError

T = TypeVar("T")


class AsyncRunner(Protocol):
    """What carries out rules: a connection, or what reaches one from elsewhere."""

    async def run(self, steps: Steps[T]) -> T: ...


class AsyncConnection(Transport):
    """A connection for the event loop in which it is first used."""

    async def run(self, steps: Steps[T]) -> T:
        """Carries out a rule to its end."""
        try:
            effect = steps.send(None)
            while True:
                try:
                    value = await self.perform(effect)
                except BaseException as failure:
                    effect = steps.throw(failure)
                else:
                    effect = steps.send(value)
        except StopIteration as end:
            result: T = end.value
            return result
        except OpenIntentError as error:
            raise error.with_traceback(None) from error.__cause__  # how the rule came to it is nothing to the caller


class AsyncIteration(Generic[T]):
    """What a rule emits, one by one: an async iterator and context manager, which ends it early.

    It begins at its first `anext`, at `started()`, or on entering `async with`. One task at a time may wait for it, and
    another one may close it. It ends when a wait for it is cancelled, for example by `asyncio.wait_for`.
    """

    def __init__(self, connection: AsyncConnection, steps: Steps[None]) -> None:
        self._connection = connection
        self._steps = steps
        self._ready: list[T] = []
        self._stream: Stream | None = None
        self._value: Any = None
        self._began = self._ended = self._closed = False

    async def started(self) -> None:
        """Waits until it has begun: it yields what happens from then on. Raises what the first `anext` would raise."""
        while not self._began and not self._ended:
            await self._step()

    async def aclose(self) -> None:
        """Ends it, also for a task that waits for its next value."""
        self._closed = True
        if self._stream is not None:
            self._stream.cancel()

    async def _step(self) -> None:
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
                    self._value = await self._connection.perform(effect)
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

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        while not self._ready:
            if self._ended:
                raise StopAsyncIteration
            await self._step()
        return self._ready.pop(0)

    async def __aenter__(self) -> AsyncIteration[T]:
        await self.started()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

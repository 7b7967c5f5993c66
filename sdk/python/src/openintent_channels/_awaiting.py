"""Carries out rules by awaiting."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Generic, TypeVar

import grpc
import grpc.aio

from ._connections import Stubs, advance, client_closed, dial, failed, secured
from ._effects import Accepted, Began, Effect, Emit, Invoke, Open, Pause, Receive, Steps
from ._securing import may_need_tls
from ._settings import Settings
from .errors import OpenIntentError

T = TypeVar("T")


def is_cancelled() -> bool:
    """Whether the current task itself is being cancelled, and not only something that it waits for. Python 3.10 cannot tell,
    so there it counts as cancelled."""
    if sys.version_info < (3, 11):
        return True
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class AwaitingConnection:
    """A connection of one event loop: the one in which it is first used."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._metadata = settings.metadata
        self._channel: Any = None
        self._made: Stubs | None = None
        self._closed = False

    @property
    def _stubs(self) -> Stubs:
        """The callables; the channel belongs to the running loop, so it is made at the first call."""
        if self._made is None:
            self._channel = dial(self._settings, grpc.aio)
            self._made = Stubs(self._channel)
        return self._made

    async def close(self) -> None:
        """Ends all calls and streams, and refuses new ones from then on. Closing again does nothing."""
        self._closed = True
        if self._channel is not None:
            await self._channel.close()

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

    async def perform(self, effect: Effect) -> Any:
        """Carries out one effect. Raises OpenIntentError when the server refuses it."""
        if isinstance(effect, Pause):
            await asyncio.sleep(effect.seconds)
            return None
        if self._closed:
            raise client_closed()
        try:
            match effect:  # the most frequent first
                case Invoke():
                    return await self._stubs.of(effect.method)(
                        effect.request, timeout=effect.timeout, metadata=self._metadata + effect.metadata
                    )
                case Receive():
                    answer = await effect.stream.read()  # type: ignore[attr-defined]
                    return None if answer is grpc.aio.EOF else answer
                case Open():
                    return self._stubs.of(effect.method)(effect.request, metadata=self._metadata)
                case Accepted(stream):
                    return dict(await stream.initial_metadata() or ())  # type: ignore[attr-defined]
        except grpc.aio.AioRpcError as failure:
            error = failed(failure, self._settings)
            if may_need_tls(error, self._settings):
                error = await asyncio.to_thread(secured, error, self._settings)
            raise error from None
        except asyncio.CancelledError:
            if not self._closed or is_cancelled():
                raise
            raise client_closed() from None
        raise AssertionError(f"{effect} is not an effect of a call")


class AsyncIteration(Generic[T]):
    """What a rule emits, one by one: an async iterator, and an async context manager that ends it early.

    It begins at its first `anext`, at `started()`, or on entering `async with`. One task at a time may wait for it. It
    ends when a wait for it is cancelled, for example by `asyncio.wait_for`, as any async generator does.
    """

    def __init__(self, connection: AwaitingConnection, steps: Steps[None]) -> None:
        self._connection = connection
        self._steps = steps
        self._ready: list[T] = []
        self._value: Any = None
        self._began = self._ended = False

    async def started(self) -> None:
        """Waits until it has begun: it yields what happens from then on. Raises what the first `anext` would raise."""
        while not self._began and not self._ended:
            await self._step()

    async def aclose(self) -> None:
        """Ends it. A task that waits for its next value must be cancelled instead."""
        self._ended = True
        self._steps.close()

    async def _step(self) -> None:
        """Carries out the rule's next effect."""
        try:
            effect = advance(self._steps, self._value, None)
            self._value = None
            while not self._noted(effect):
                try:
                    self._value = await self._connection.perform(effect)
                    break
                except BaseException as failure:
                    effect = advance(self._steps, None, failure)
        except BaseException as failure:
            self._ended = True
            if not isinstance(failure, StopIteration):
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

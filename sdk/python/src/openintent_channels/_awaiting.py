"""What only asyncio can do, for the modules named `async`: the connection's transport, and work beside a block."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import grpc
import grpc.aio

from . import _pace
from ._connections import Stubs, client_closed, dial, failed, refused, secured
from ._effects import Accepted, Effect, Invoke, Open, Pause, Receive
from ._exchange import Exchanges
from ._securing import may_need_tls
from ._settings import Settings


def is_cancelled() -> bool:
    """Whether the current task itself is being cancelled, and not only something that it waits for. Python 3.10 cannot tell,
    so there it counts as cancelled."""
    if sys.version_info < (3, 11):
        return True
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class Transport:
    """What carries out effects for one event loop: the one in which it is first used."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._metadata = settings.metadata
        self._channel: Any = None
        self._made: Stubs | None = None
        self._made_exchanges: Exchanges | None = None
        self._closed = False
        self._end: asyncio.Future[None] | None = None

    @property
    def _stubs(self) -> Stubs:
        """The callables; the channel belongs to the running loop, so it is made at the first call."""
        if self._made is None:
            self._channel = dial(self._settings, grpc.aio)
            self._made = Stubs(self._channel)
        return self._made

    @property
    def _exchanges(self) -> Exchanges:
        """What makes the calls; it belongs to the running loop, too."""
        if self._made_exchanges is None:
            settings = self._settings
            self._made_exchanges = Exchanges(
                self._alone, self._begin, lambda refusal: refused(refusal, settings), always=settings.exchanges
            )
        return self._made_exchanges

    def _alone(self, invoke: Invoke) -> Awaitable[Any]:
        """Makes a call on its own."""
        call: Awaitable[Any] = self._stubs.of(invoke.method)(
            invoke.request, timeout=invoke.timeout, metadata=self._metadata + invoke.metadata
        )
        return call

    def _begin(self) -> Any:
        """Begins an exchange."""
        return self._stubs.exchange()(metadata=self._metadata)

    async def close(self) -> None:
        """Ends all calls, pauses and streams, and refuses new ones from then on. Closing again does nothing."""
        self._closed = True
        if self._end is not None and not self._end.done():
            self._end.set_result(None)
        if self._made_exchanges is not None:
            await self._made_exchanges.close()
        if self._channel is not None:
            await self._channel.close()

    async def rest(self, seconds: float, until: asyncio.Future[Any]) -> None:
        """Waits for so long, or until something is done. Raises OpenIntentError when it is closed meanwhile."""
        await self._pause(seconds, until)
        if self._closed:
            raise client_closed()

    async def _pause(self, seconds: float, *ends: asyncio.Future[Any]) -> None:
        if self._end is None:
            self._end = asyncio.get_running_loop().create_future()
        await _pace.pause(seconds, self._end, *ends)

    async def perform(self, effect: Effect) -> Any:
        """Carries out one effect. Raises OpenIntentError when the server refuses it."""
        if isinstance(effect, Pause) and not self._closed:
            await self._pause(effect.seconds)
            if not self._closed:
                return None
        if self._closed:
            raise client_closed()
        try:
            match effect:  # the most frequent first
                case Invoke():
                    with _pace.calling(effect.method.name):
                        return await self._exchanges.invoke(effect)
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
            if is_cancelled():
                raise
            raise client_closed() from None
        raise AssertionError(f"{effect} is not an effect of a call")


Turn = asyncio.Lock
"""Lets one caller at a time into a block of `async with`."""


class Guard(contextlib.nullcontext[None]):
    """Keeps two threads out of a block of `with`. Tasks of one event loop need no such thing."""


class Signal:
    """Tells who waits that something has changed."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def give(self) -> None:
        """Tells it."""
        self._event.set()

    def clear(self) -> None:
        """Takes it back: who waits from now on waits for the next one."""
        self._event.clear()

    async def wait(self, seconds: float | None) -> bool:
        """Waits until it is told, at most for so long. Reports whether it was."""
        if seconds is None:
            return await self._event.wait()
        told = asyncio.ensure_future(self._event.wait())
        try:
            await _pace.pause(seconds, told, working=False)
        finally:
            told.cancel()
        return self._event.is_set()


class Beside:
    """Work that goes on beside a block of `async with`, in a task, and that may stop the block."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._working: asyncio.Task[None] | None = None
        self._block: asyncio.Task[object] | None = None
        self._cancelling = 0

    def begin(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Begins the work beside the block of the current task."""
        self._block = asyncio.current_task()
        if self._block is not None and sys.version_info >= (3, 11):
            self._cancelling = self._block.cancelling()
        self._working = asyncio.create_task(work(), name=self._name)
        _pace.begins(self._working)

    async def goes_on_after(self, seconds: float) -> bool:
        """Waits for so long. Reports whether the block has not ended; here its end cancels the work."""
        await _pace.pause(seconds)
        return True

    def stop_block(self) -> None:
        """Cancels the block."""
        if self._block is not None:
            self._block.cancel()

    async def end(self) -> None:
        """Ends the work, and waits until it has ended."""
        if self._working is not None:
            self._working.cancel()
            await asyncio.wait([self._working])

    def has_stopped_block(self, kind: type[BaseException] | None) -> bool:
        """Takes back that the block was stopped. Reports whether an exception of this kind ended it for only that
        reason. Python 3.10 cannot tell who else wants it to end, so there the work counts as the reason."""
        nobody_else = True
        if self._block is not None and sys.version_info >= (3, 11):
            nobody_else = self._block.uncancel() <= self._cancelling
        return nobody_else and kind is asyncio.CancelledError

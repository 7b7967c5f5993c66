"""Which calls of a client go on an exchange: many calls on one stream, which costs less than a call of its own for each.

A client that makes a call now and then makes it on its own. Calls look the same either way: the same answers and the same
errors.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from math import inf
from typing import Any

import grpc
from google.rpc import status_pb2

from ._connections import client_closed
from ._effects import Invoke
from ._exchange_stream import Begin, ExchangeStream
from ._exchanged import KINDS, Call, Kind, response_of
from .errors import OpenIntentError, UnavailableError

BUSY_CALLS, BUSY_TOGETHER = 10, 2
"""How many calls within a second make a client busy, and how many at a time."""

LARGEST_REQUEST = 16 << 10
"""The largest request that goes on a stream, in bytes. A larger one would keep the others waiting."""

IDLE_SECONDS = 30.0
"""How long a stream without calls stays."""

OLD_SECONDS = 600.0
"""For how long a stream takes calls. Then they go to another one, so that a load balancer sees new streams."""

REFUSED_SECONDS = 10.0
"""How long calls go on their own after a stream has ended before it brought an answer."""

TAKEN_UP_SECONDS = 0.01
"""How long after its begin an ask that goes elsewhere may not have been taken up by the server. It may wait for its answer
for minutes, and nothing says when it is stored."""

_NO_ROOM = "TOO_MANY_UNDER_WAY"


class Exchanges:
    """The exchanges of one client, for the running event loop. `alone` makes a call on its own, `begin` begins a stream, and
    `refused` makes the error of a refusal. `always` lets calls go on a stream from the first one on, for tests."""

    def __init__(
        self,
        alone: Callable[[Invoke], Awaitable[Any]],
        begin: Begin,
        refused: Callable[[status_pb2.Status], OpenIntentError],
        always: bool = False,
    ) -> None:
        self._alone = alone
        self._begin = begin
        self._refused = refused
        self._always = always
        self._loop = asyncio.get_running_loop()
        self._elsewhere = _Elsewhere(self._loop, self._add)
        self._stream: ExchangeStream | None = None
        self._streams: set[ExchangeStream] = set()
        self._calls: dict[Call, ExchangeStream | None] = {}
        self._alarm: asyncio.TimerHandle | None = None
        self._look: asyncio.TimerHandle | None = None
        # How many calls are on their own now, and how many were made since a moment.
        self._under_way = self._recent = 0
        self._since = self._refused_until = -inf
        self._closed = self._unknown = False

    async def invoke(self, invoke: Invoke) -> Any:
        """Makes one attempt at a call, on a stream or on its own."""
        kind = KINDS.get(invoke.method.path)
        if kind is None or invoke.metadata:
            return await self._alone(invoke)
        if self._is_busy():
            data = invoke.request.SerializeToString()
            if len(data) <= LARGEST_REQUEST:
                until = inf if invoke.timeout is None else self._loop.time() + invoke.timeout
                call = Call(kind, invoke.request, data, until, self._loop.create_future())
                response = await self._together(call)
                if response is not None:
                    return response
                if invoke.timeout is not None:
                    left = max(0.0, until - self._loop.time())
                    invoke = Invoke(invoke.method, invoke.request, left)
        return await self._by_itself(invoke, kind)

    async def close(self) -> None:
        """Ends the streams and the calls on them."""
        self._closed = True
        for timer in (self._alarm, self._look):
            if timer is not None:
                timer.cancel()
        streams = tuple(self._streams)
        for stream in streams:
            stream.cancel()
        for stream in streams:
            await stream.wait_closed()
        for call in self._calls:
            if not call.answer.done():
                call.answer.set_exception(client_closed())

    def _is_busy(self) -> bool:
        """Whether a call goes on a stream, which it opens if there is none."""
        now = self._loop.time()
        if now - self._since > 1:
            self._since, self._recent = now, 0
        self._recent += 1
        if self._stream is not None and now - self._stream.began > OLD_SECONDS:
            self._leave(self._stream)
        if self._stream is not None:
            return True
        busy = self._always or self._recent >= BUSY_CALLS or self._under_way + 1 >= BUSY_TOGETHER
        if not busy or self._closed or self._unknown or now < self._refused_until:
            return False
        self._open()
        return True

    def _open(self) -> None:
        self._stream = ExchangeStream(self._begin, self._ended)
        self._streams.add(self._stream)
        if self._look is None:
            self._look = self._loop.call_later(IDLE_SECONDS / 3, self._look_for_idle)

    def _leave(self, stream: ExchangeStream) -> None:
        """Lets further calls go to another stream. What is not answered yet comes before them."""
        self._stream = None
        for call in stream.unanswered:
            if call.channel is not None and not call.answer.done():
                call.answer.add_done_callback(_calling(self._elsewhere.begins(call.channel, call.kind)))
        stream.retire()

    def _look_for_idle(self) -> None:
        self._look = None
        stream = self._stream
        if stream is None:
            return
        if not stream.unanswered and self._loop.time() - stream.used > IDLE_SECONDS:
            self._leave(stream)
        else:
            self._look = self._loop.call_later(IDLE_SECONDS / 3, self._look_for_idle)

    async def _together(self, call: Call) -> Any:
        """Makes a call on a stream. Returns None if it has to be made on its own."""
        self._calls[call] = None
        self._wait_until(call.until)
        try:
            if call.channel is None or not self._elsewhere.holds(call):
                self._add(call)
            answer = await call.answer
        except asyncio.CancelledError:
            self._give_up(call)
            raise
        finally:
            del self._calls[call]
        if answer is None:
            return None
        if answer.HasField("refusal"):
            error = self._refused(answer.refusal)
            if error.reason == _NO_ROOM:
                return None
            raise error
        return response_of(call, answer)

    async def _by_itself(self, invoke: Invoke, kind: Kind) -> Any:
        self._under_way += 1
        over = self._elsewhere.begins(invoke.request.channel_id, kind) if kind.ordered else None
        try:
            return await self._alone(invoke)
        finally:
            self._under_way -= 1
            if over is not None:
                over()

    def _add(self, call: Call) -> None:
        """Puts a call on the stream; without one, it is made on its own."""
        if call.answer.done():
            return
        if self._stream is None:
            call.answer.set_result(None)
            return
        self._calls[call] = self._stream
        self._stream.add(call)

    def _give_up(self, call: Call) -> None:
        stream = self._calls[call]
        if stream is not None:
            stream.give_up(call)

    def _ended(self, stream: ExchangeStream, unanswered: list[Call], code: grpc.StatusCode | None) -> None:
        """Repeats the calls of a lost stream on another one, in their order. A call that has lost a second stream is made on
        its own, and so are all if the stream has brought no answer."""
        self._streams.discard(stream)
        if self._stream is stream:
            self._stream = None
        if self._closed:
            return
        self._unknown = self._unknown or code is grpc.StatusCode.UNIMPLEMENTED
        if not stream.heard:
            self._refused_until = self._loop.time() + REFUSED_SECONDS
        for call in unanswered:
            if not stream.heard or stream.cancelled or call.repeated:
                call.answer.set_result(None)
                continue
            if self._stream is None:
                self._open()
            call.repeated = True
            self._add(call)

    def _wait_until(self, until: float) -> None:
        """Sees to it that a call ends in time. Most have the same time, so the timer is seldom set."""
        if until < (inf if self._alarm is None else self._alarm.when()):
            if self._alarm is not None:
                self._alarm.cancel()
            self._alarm = self._loop.call_at(until, self._end_late)

    def _end_late(self) -> None:
        """Ends the calls whose time is over."""
        now, self._alarm = self._loop.time(), None
        for call in tuple(self._calls):
            if call.until <= now and not call.answer.done():
                call.answer.set_exception(UnavailableError("The server did not answer in time.", code="UNAVAILABLE"))
                self._give_up(call)
        self._wait_until(min((call.until for call in self._calls if not call.answer.done()), default=inf))


def _calling(function: Callable[[], None]) -> Callable[[object], None]:
    return lambda _: function()


class _Elsewhere:
    """Counts the calls to each channel that go another way than the stream and may not be stored yet. Until they are, what
    is for the stream is held, because it could overtake them."""

    def __init__(self, loop: asyncio.AbstractEventLoop, add: Callable[[Call], None]) -> None:
        self._loop = loop
        self._add = add
        self._counts: dict[str, int] = {}
        self._held: dict[str, list[Call]] = {}

    def begins(self, channel: str, kind: Kind) -> Callable[[], None]:
        """Counts a call. It counts until what this returns is called, and an ask not for long."""
        self._counts[channel] = self._counts.get(channel, 0) + 1
        counts = True

        def over() -> None:
            nonlocal counts
            if counts:
                counts = False
                self._ends(channel)

        if kind.asks:
            self._loop.call_later(TAKEN_UP_SECONDS, over)
        return over

    def _ends(self, channel: str) -> None:
        self._counts[channel] -= 1
        if not self._counts[channel]:
            del self._counts[channel]
            for call in self._held.pop(channel, ()):
                self._add(call)

    def holds(self, call: Call) -> bool:
        """Holds a call if others come before it. Reports whether it does."""
        channel: str = call.request.channel_id
        if channel not in self._counts:
            return False
        self._held.setdefault(channel, []).append(call)
        return True

"""One stream of an exchange: it sends what calls have added, and gives them their answers."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

import grpc
import grpc.aio

from ._exchanged import Call, frame_of
from ._generated import exchange_pb2

MOST_TOGETHER = 64
"""How many requests, and how many cancelled numbers, one frame has at most."""

MOST_UNSTORED = 192
"""How many requests that are no asks may be without an answer. Further ones wait here. The server takes 256, and counts asks
that it has not stored among them."""

QUIET_TURNS = 3
"""After so many turns of the event loop in which no call was added, a frame is sent. It takes these to read an answer that
is there, to give it to its caller, and to hear of the caller's next call."""

Begin = Callable[[], Any]
"""Begins the streaming call of grpc.aio."""


class ExchangeStream:
    """A stream for the running event loop. `ended` is called once with the calls that got no answer, in the order in which
    they were added, and with the status code; None for OK."""

    def __init__(self, begin: Begin, ended: Callable[[ExchangeStream, list[Call], grpc.StatusCode | None], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self.began = self.used = self._loop.time()
        self.heard = False
        """Whether an answer has come. A stream that ends before may end so each time, because of something in between."""
        self.cancelled = False
        """Whether it was ended from here, by `cancel` or with its event loop."""
        self._ended = ended
        self._retired = self._over = False
        self._queue: deque[Call] = deque()
        self._sent: dict[int, Call] = {}
        self._cancelled: list[int] = []
        self._last = self._unstored = 0
        self._some: asyncio.Future[None] | None = None
        self._stream = begin()
        self._tasks = [asyncio.ensure_future(self._send()), asyncio.ensure_future(self._receive())]

    @property
    def unanswered(self) -> list[Call]:
        """The calls without an answer, in order."""
        return [*self._sent.values(), *self._queue]

    def add(self, call: Call) -> None:
        """Adds a call, which is sent at the end of this turn of the event loop."""
        call.number, self.used = 0, self._loop.time()
        self._queue.append(call)
        self._wake()

    def give_up(self, call: Call) -> None:
        """Tells the server that nobody waits for a call that is under way here. One that was not sent never is."""
        if call.number in self._sent:
            self._take(call.number)
            self._cancelled.append(call.number)
            self._wake()

    def retire(self) -> None:
        """Ends the stream once everything that was added has its answer."""
        self._retired = True
        self._wake()

    def cancel(self) -> None:
        """Ends the stream at once."""
        self._stream.cancel()

    async def wait_closed(self) -> None:
        """Waits until it has ended."""
        await asyncio.wait(self._tasks)

    def _wake(self) -> None:
        if self._some is not None and not self._some.done():
            self._some.set_result(None)

    async def _send(self) -> None:
        """Sends what is there, until the stream ends."""
        try:
            while not self._over:
                await self._let_others_come()
                if frame := self._next_frame():
                    await self._stream.write(frame)
                elif self._retired and not self._sent and not self._queue:
                    await self._stream.done_writing()
                    return
                else:
                    self._some = self._loop.create_future()
                    await self._some
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError, asyncio.CancelledError):
            return  # _receive learns why

    async def _let_others_come(self) -> None:
        """While calls wait for answers, lets the event loop first take up the answers that are there already, because the
        calls that follow them fit in the same frame. It waits for nothing that is not there, and not at all for a call that
        is alone."""
        turns, queued = 0, len(self._queue)
        while self._sent and queued and turns < QUIET_TURNS and len(self._queue) < MOST_TOGETHER:
            await asyncio.sleep(0)
            turns = turns + 1 if len(self._queue) == queued else 0
            queued = len(self._queue)

    def _next_frame(self) -> bytes:
        """Takes what one frame sends; nothing if there is nothing to send, or no room for it."""
        calls: list[Call] = []
        while self._queue and len(calls) < MOST_TOGETHER:
            call = self._queue[0]
            if not call.answer.done():
                if not call.kind.asks and self._unstored == MOST_UNSTORED:
                    break
                self._unstored += not call.kind.asks
                self._last = call.number = self._last + 1
                self._sent[call.number] = call
                calls.append(call)
            self._queue.popleft()
        cancelled, self._cancelled = self._cancelled[:MOST_TOGETHER], self._cancelled[MOST_TOGETHER:]
        return frame_of(calls, cancelled)

    def _take(self, number: int) -> Call | None:
        """Takes out a call that was sent."""
        call = self._sent.pop(number, None)
        if call is not None and not call.kind.asks:
            if self._unstored == MOST_UNSTORED:
                self._wake()
            self._unstored -= 1
        return call

    async def _receive(self) -> None:
        """Gives answers to their calls until the stream ends."""
        code = None
        try:
            async for response in self._stream:
                self._answer(response)
        except grpc.aio.AioRpcError as failure:
            code = failure.code()
        except asyncio.CancelledError:
            self.cancelled = True
        finally:
            self._stream.cancel()
            self._over = True
            self._wake()
            self._ended(self, [call for call in self.unanswered if not call.answer.done()], code)

    def _answer(self, response: exchange_pb2.ExchangeResponse) -> None:
        self.heard = True
        for answer in response.answers:
            call = self._take(answer.number)
            if call is not None and not call.answer.done():
                call.answer.set_result(answer)
        if self._retired and not self._sent:
            self._wake()

"""When a stream of an exchange sends what calls have added."""

from __future__ import annotations

import asyncio
from typing import Any

from openintent_channels._exchange_stream import ExchangeStream
from openintent_channels._exchanged import KINDS, Call
from openintent_channels._generated import exchange_pb2
from openintent_channels._methods import ASK
from unit.fake_server import in_loop


class Wire:
    """The streaming call of grpc.aio: it keeps the frames, and brings the answers that are put into it."""

    def __init__(self) -> None:
        self.frames: list[exchange_pb2.ExchangeRequest] = []
        self.answers: asyncio.Queue[exchange_pb2.ExchangeResponse | None] = asyncio.Queue()

    async def write(self, frame: bytes) -> None:
        self.frames.append(exchange_pb2.ExchangeRequest.FromString(frame))

    async def done_writing(self) -> None:
        self.answers.put_nowait(None)

    def __aiter__(self) -> Wire:
        return self

    async def __anext__(self) -> exchange_pb2.ExchangeResponse:
        if (answer := await self.answers.get()) is None:
            raise StopAsyncIteration
        return answer

    def cancel(self) -> None:
        self.answers.put_nowait(None)

    def sent(self) -> list[list[int]]:
        """Returns the numbers in each frame."""
        return [[request.number for request in frame.requests] for frame in self.frames]


def call() -> Call:
    asked: Any = ASK.asked(channel_id="chan")
    kind = KINDS[ASK.path]
    return Call(kind, asked, asked.SerializeToString(), 0.0, asyncio.get_running_loop().create_future())


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@in_loop
async def test_a_call_that_is_alone_is_sent_at_once_and_others_let_each_other_come() -> None:
    wire = Wire()
    stream = ExchangeStream(lambda: wire, lambda *_: None)
    stream.add(call())
    await turns(1)
    assert wire.sent() == [[1]]
    await turns(1)
    stream.add(call())
    await turns(3)
    stream.add(call())
    await turns(3)
    assert wire.sent() == [[1]], "another one came, and perhaps one more does"
    await turns(2)
    assert wire.sent() == [[1], [2, 3]], "none came, so they are sent although the first has no answer"
    stream.cancel()
    await stream.wait_closed()


@in_loop
async def test_a_full_frame_waits_for_nothing() -> None:
    wire = Wire()
    stream = ExchangeStream(lambda: wire, lambda *_: None)
    stream.add(call())
    await turns(2)
    for _ in range(64):
        stream.add(call())
    await turns(2)
    assert wire.sent() == [[1], list(range(2, 66))]
    stream.cancel()
    await stream.wait_closed()

"""A stand-in for a server that knows sends, asks and exchanges, on a connection of grpc.aio."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import wraps
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf.message import Message as Wire
from google.rpc import code_pb2, error_details_pb2, status_pb2

from openintent_channels import AsyncOpenIntentClient
from openintent_channels._exchanged import EXCHANGE
from openintent_channels._generated import exchange_pb2, messages_pb2, reactions_pb2, subscriptions_pb2
from openintent_channels._methods import ACKNOWLEDGE_DELIVERIES, ADD_REACTION, ASK, REPLY_MESSAGE, SEND_MESSAGE, Method

ALONE, TOGETHER = "alone", "together"
"""The senders of the messages that answer calls of their own, and requests of an exchange."""

Answering = Callable[[exchange_pb2.NumberedRequest], Awaitable[exchange_pb2.NumberedAnswer | None]]


def stored(sender: str) -> messages_pb2.Message:
    """Returns a message that answers a call."""
    return messages_pb2.Message(
        id="m", sender=sender, message_type=messages_pb2.MESSAGE_TYPE_NOTIFY, status=messages_pb2.MESSAGE_STATUS_DELIVERED
    )


async def at_once(request: exchange_pb2.NumberedRequest) -> exchange_pb2.NumberedAnswer:
    """Answers a request of an exchange."""
    answer = exchange_pb2.NumberedAnswer(number=request.number)
    match request.WhichOneof("request"):
        case "react":
            answer.reactions.SetInParent()
        case "acknowledge":
            answer.subscription.SetInParent()
        case _:
            answer.message.CopyFrom(stored(TOGETHER))
    return answer


async def never(_: exchange_pb2.NumberedRequest) -> None:
    """Leaves a request without an answer."""


def refusing(code: int, reason: str, text: str = "no", **metadata: str) -> Answering:
    """Answers each request with a refusal."""

    async def refuse(request: exchange_pb2.NumberedRequest) -> exchange_pb2.NumberedAnswer:
        status = status_pb2.Status(code=code, message=text)
        info = error_details_pb2.ErrorInfo(reason=reason, domain="openintent", metadata=metadata)
        status.details.add().Pack(info)
        return exchange_pb2.NumberedAnswer(number=request.number, refusal=status)

    return refuse


NO_ROOM = refusing(code_pb2.RESOURCE_EXHAUSTED, "TOO_MANY_UNDER_WAY")


class Ends(Exception):
    """Ends a stream with a status."""

    def __init__(self, code: grpc.StatusCode = grpc.StatusCode.UNAVAILABLE) -> None:
        self.code = code


class StandIn:
    """Answers calls of their own at once, unless `hold` is there and not set, and requests of exchanges by `answer`. Keeps
    what it was told."""

    def __init__(self) -> None:
        self.alone: list[Any] = []
        self.frames: list[exchange_pb2.ExchangeRequest] = []
        self.streams = 0
        self.open = 0
        self.metadata: list[dict[str, Any]] = []
        self.hold: asyncio.Event | None = None
        self.answer: Answering = at_once
        self.refuses: grpc.StatusCode | None = None
        """The status with which each stream ends at once."""
        self.reads: asyncio.Event | None = None
        """If it is there, no frame is read before it is set."""
        self._happened = asyncio.Condition()

    @property
    def requests(self) -> list[exchange_pb2.NumberedRequest]:
        """The requests of all exchanges, in order."""
        return [request for frame in self.frames for request in frame.requests]

    @property
    def cancelled(self) -> list[int]:
        """The numbers that were cancelled."""
        return [number for frame in self.frames for number in frame.cancelled]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Waits until what the server was told meets a condition."""
        async with self._happened:
            await asyncio.wait_for(self._happened.wait_for(condition), 20)

    async def _notify(self) -> None:
        async with self._happened:
            self._happened.notify_all()

    def _unary(self, answer: Callable[[], Wire]) -> Callable[[Any, Any], Awaitable[Wire]]:
        async def call(request: Any, _: Any) -> Wire:
            self.alone.append(request)
            await self._notify()
            if self.hold is not None:
                await self.hold.wait()
            return answer()

        return call

    async def _exchange(self, frames: AsyncIterator[exchange_pb2.ExchangeRequest], context: Any) -> AsyncIterator[Any]:
        self.streams += 1
        self.open += 1
        self.metadata.append(dict(context.invocation_metadata()))
        try:
            if self.refuses is not None:
                await context.abort(self.refuses, "no stream")
            if self.reads is not None:
                await self.reads.wait()
            async for frame in frames:
                self.frames.append(frame)
                await self._notify()
                for request in frame.requests:
                    if (answer := await self.answer(request)) is not None:
                        yield exchange_pb2.ExchangeResponse(answers=[answer])
        except Ends as end:
            await context.abort(end.code, "lost")
        finally:
            self.open -= 1
            await self._notify()

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Serves, and yields the address."""
        server = grpc.aio.server()
        calls: dict[Method[Any, Any], Callable[[], Wire]] = {
            SEND_MESSAGE: lambda: stored(ALONE),
            REPLY_MESSAGE: lambda: stored(ALONE),
            ASK: lambda: stored(ALONE),
            ADD_REACTION: reactions_pb2.ListReactionsResponse,
            ACKNOWLEDGE_DELIVERIES: subscriptions_pb2.Subscription,
        }
        for method, answer in calls.items():
            handler = grpc.unary_unary_rpc_method_handler(
                self._unary(answer), method.asked.FromString, method.answer.SerializeToString
            )
            server.add_generic_rpc_handlers([_Only(method.path, handler)])
        exchange = grpc.stream_stream_rpc_method_handler(
            self._exchange, exchange_pb2.ExchangeRequest.FromString, exchange_pb2.ExchangeResponse.SerializeToString
        )
        server.add_generic_rpc_handlers([_Only(EXCHANGE, exchange)])
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        try:
            yield f"127.0.0.1:{port}"
        finally:
            await server.stop(None)

    @contextlib.asynccontextmanager
    async def client(self, always: bool = True, **options: Any) -> AsyncIterator[AsyncOpenIntentClient]:
        """Serves a client, which goes on exchanges from its first call on if `always`."""
        async with self.serving() as there:
            with pytest.MonkeyPatch.context() as environment:
                environment.setenv("OPENINTENT_TEST_EXCHANGES", "1" if always else "")
                client = AsyncOpenIntentClient(there, api_key="key", agent_id="me", **options)
            async with client:
                yield client


class _Only(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Handles one method."""

    def __init__(self, path: str, handler: Any) -> None:
        self._path, self._handler = path, handler

    def service(self, call: Any) -> Any:
        return self._handler if call.method == self._path else None


def in_jumping_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Runs a test in an event loop whose clock the test lets jump."""

    @wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        async def bounded() -> None:
            await asyncio.wait_for(test(*arguments, **named), 1_000_000)

        asyncio.run(bounded())

    return run


class Clock:
    """The clock of the running event loop, which jumps when a test wants it to."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._time, self._ahead = self._loop.time, 0.0
        self._loop.time = lambda: self._time() + self._ahead  # type: ignore[method-assign]

    async def jump(self, seconds: float) -> None:
        """Lets that many seconds pass, and what is due happen."""
        self._ahead += seconds
        for _ in range(3):
            await asyncio.sleep(0)

"""A busy client makes its calls on one stream. They mean what calls of their own mean."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import grpc
import pytest
from google.rpc import code_pb2

from openintent_channels import AsyncOpenIntentClient, ChannelClosedError, Message, OpenIntentError, UnavailableError
from openintent_channels import _exchange as exchange
from openintent_channels._generated import exchange_pb2
from openintent_channels._messages import Messages
from openintent_channels._structs import from_struct
from unit.fake_server import in_loop
from unit.standing_in import ALONE, NO_ROOM, TOGETHER, Clock, Ends, StandIn, at_once, in_jumping_loop, never, refusing

SAID = {"text": "hello"}


async def send(client: AsyncOpenIntentClient, channel: str = "chan", **said: Any) -> str:
    """Sends, and returns which way the message went."""
    return (await client.send_message(channel, SAID, **said)).sender


def numbered(request: exchange_pb2.NumberedRequest) -> object:
    """Returns the number that a send says."""
    return from_struct(request.send.payload)["n"]


def sending(client: AsyncOpenIntentClient, *channels: str) -> list[asyncio.Task[str]]:
    """Begins sends, one after the other."""
    return [asyncio.create_task(send(client, channel)) for channel in channels]


@in_jumping_loop
async def test_a_client_that_makes_a_call_now_and_then_opens_no_stream() -> None:
    server, clock = StandIn(), Clock()
    async with server.client(always=False) as client:
        for _ in range(30):
            assert await send(client) == ALONE
            await clock.jump(0.2)
        await clock.jump(2)
        for _ in range(9):
            assert await send(client) == ALONE
        assert server.streams == 0
        assert await send(client) == TOGETHER, "the tenth in a second"
        assert await send(client) == TOGETHER
        assert server.streams == 1
        assert server.metadata[0]["x-api-key"] == "key"
        assert server.metadata[0]["x-agent-id"] == "me"


@in_loop
async def test_two_calls_at_a_time_open_a_stream() -> None:
    server = StandIn()
    server.hold = asyncio.Event()
    async with server.client(always=False) as client:
        first = asyncio.create_task(send(client))
        await server.until(lambda: len(server.alone) == 1)
        assert await send(client, "another") == TOGETHER
        server.hold.set()
        assert await first == ALONE


@in_loop
async def test_a_send_goes_over_to_the_stream_after_those_to_its_channel_that_went_alone() -> None:
    server = StandIn()
    server.hold = asyncio.Event()
    async with server.client(always=False) as client:
        first = asyncio.create_task(send(client))
        await server.until(lambda: len(server.alone) == 1)
        held, other = asyncio.create_task(send(client)), asyncio.create_task(send(client, "another"))
        gone = asyncio.create_task(client.send_message("chan", {"text": "given up"}))
        await asyncio.sleep(0)
        assert await other == TOGETHER
        assert [request.send.channel_id for request in server.requests] == ["another"]
        gone.cancel()
        server.hold.set()
        assert [await first, await held] == [ALONE, TOGETHER]
        assert [request.send.channel_id for request in server.requests] == ["another", "chan"]


@in_jumping_loop
async def test_an_ask_that_went_alone_is_soon_taken_up() -> None:
    server, clock = StandIn(), Clock()
    server.hold = asyncio.Event()
    async with server.client(always=False) as client:
        first = asyncio.create_task(client.ask("chan", "bob", SAID))
        await server.until(lambda: len(server.alone) == 1)
        held = asyncio.create_task(send(client))
        await asyncio.sleep(0)
        await clock.jump(exchange.TAKEN_UP_SECONDS)
        assert await held == TOGETHER
        assert not first.done()
        server.hold.set()
        await first


@in_loop
async def test_requests_of_one_turn_go_in_one_frame_and_in_order() -> None:
    server = StandIn()
    async with server.client() as client:
        await send(client)
        await asyncio.gather(*(client.send_message("chan", {"n": n}) for n in range(150)))
        told = [numbered(request) for request in server.requests[1:]]
        assert told == list(range(150))
        assert [len(frame.requests) for frame in server.frames] == [1, 64, 64, 22]
        numbers = [request.number for request in server.requests]
        assert numbers == sorted(set(numbers))


@in_loop
async def test_each_kind_of_call_is_carried_and_has_what_it_sent() -> None:
    server = StandIn()
    async with server.client() as client:
        sent = await client.send_message("chan", SAID, metadata={"a": 1})
        replied = await client.reply_to("chan", "m", SAID)
        asked = await client.ask("chan", "bob", SAID)
        assert await client.add_reaction("chan", "m", "working") == []
        assert [request.WhichOneof("request") for request in server.requests] == ["send", "reply", "ask", "react"]
        assert (sent.payload, sent.metadata) == (SAID, {"a": 1})
        assert (replied.payload, replied.metadata) == (SAID, {})
        assert asked.payload == {}, "the answer is somebody else's"
        assert not server.alone


@in_loop
async def test_what_goes_alone() -> None:
    server = StandIn()
    async with server.client() as client:
        large = await client.send_message("chan", {"text": "x" * exchange.LARGEST_REQUEST})
        assert large.sender == ALONE
        trace: Any = type("Trace", (), {"headers": (("traceparent", "00-1-2-01"),), "metadata": {}})()
        messages = Messages(client._rules.calls, type("Tracing", (), {"asking": lambda *_: _Span(trace)})())
        traced: Message = await client._connection.run(
            messages.send("chan", SAID, None, "notify", None, None, None, None)
        )
        assert traced.sender == ALONE, "the headers of a stream are those of no call"


class _Span:
    def __init__(self, trace: Any) -> None:
        self._trace = trace

    def __enter__(self) -> Any:
        return self._trace

    def __exit__(self, *_: object) -> None: ...


@in_loop
async def test_an_edited_message_is_read_whole() -> None:
    server = StandIn()

    async def edited(request: exchange_pb2.NumberedRequest) -> exchange_pb2.NumberedAnswer:
        answer = await at_once(request)
        answer.message.revision = 2
        return answer

    server.answer = edited
    async with server.client() as client:
        assert await send(client, idempotency_key="again") == ALONE
        assert [request.idempotency_key for request in server.alone] == ["again"]


@in_loop
async def test_a_refusal_is_the_error_that_the_call_would_have_raised() -> None:
    server = StandIn()
    server.answer = refusing(code_pb2.FAILED_PRECONDITION, "CHANNEL_CLOSED", "It is closed.", channel_id="chan")
    async with server.client() as client:
        with pytest.raises(ChannelClosedError) as refused:
            await send(client)
        error = refused.value
        assert (error.code, error.message) == ("FAILED_PRECONDITION", "It is closed.")
        assert error.metadata == {"channel_id": "chan"}
        server.answer = refusing(code_pb2.UNAUTHENTICATED, "API_KEY_MISSING")
        with pytest.raises(OpenIntentError, match="needs an API key. Set OPENINTENT_API_KEY"):
            await send(client)


@in_loop
async def test_a_call_for_which_the_stream_has_no_room_goes_alone() -> None:
    server = StandIn()
    server.answer = NO_ROOM
    async with server.client() as client:
        assert await send(client) == ALONE
        assert server.streams == 1


@in_jumping_loop
async def test_sends_beyond_what_the_server_takes_wait() -> None:
    server, clock = StandIn(), Clock()
    server.answer = never
    async with server.client() as client:
        first = sending(client, *["chan"] * 250)
        await server.until(lambda: len(server.requests) == 192)
        asked = asyncio.create_task(client.add_reaction("chan", "m", "working"))
        await clock.jump(0)
        assert len(server.requests) == 192
        server.answer = at_once
        first[0].cancel()  # it gives its place to another one, whose answer gives it on
        await asyncio.wait(first[192:])
        await asked
        assert len(server.requests) == 251
        assert not server.alone
        for task in first:
            task.cancel()


@in_loop
async def test_a_lost_stream_is_repeated_in_order_under_the_same_keys() -> None:
    server, lost = StandIn(), []

    async def loses(request: exchange_pb2.NumberedRequest) -> exchange_pb2.NumberedAnswer | None:
        if server.streams == 1 and request.number > 1:
            lost.append(request)
            if request.number == 3:
                raise Ends
            return None
        return await at_once(request)

    server.answer = loses
    async with server.client() as client:
        await send(client)
        ways = await asyncio.gather(*(client.send_message("chan", {"n": n}) for n in range(5)))
        assert {message.sender for message in ways} == {TOGETHER}
        assert [message.payload["n"] for message in ways] == [0, 1, 2, 3, 4]
        again = server.frames[-1].requests
        assert [numbered(request) for request in again] == [0, 1, 2, 3, 4]
        assert [request.number for request in again] == [1, 2, 3, 4, 5]
        assert [request.send.idempotency_key for request in again[:2]] == [one.send.idempotency_key for one in lost]
        assert len({request.send.idempotency_key for request in again}) == 5
        assert (server.streams, len(server.alone)) == (2, 0)


@in_loop
async def test_a_call_that_loses_two_streams_goes_alone() -> None:
    server = StandIn()

    async def loses(request: exchange_pb2.NumberedRequest) -> exchange_pb2.NumberedAnswer | None:
        if request.send.channel_id == "bad":
            raise Ends(grpc.StatusCode.INTERNAL)
        return None if request.send.channel_id == "good" and server.streams == 1 else await at_once(request)

    server.answer = loses
    async with server.client() as client:
        assert await send(client) == TOGETHER
        good, bad = sending(client, "good", "bad")
        assert [await good, await bad] == [TOGETHER, ALONE]
        assert server.streams == 2


@in_jumping_loop
async def test_a_server_without_exchanges_is_asked_once() -> None:
    server, clock = StandIn(), Clock()
    server.refuses = grpc.StatusCode.UNIMPLEMENTED
    async with server.client() as client:
        for _ in range(3):
            assert await send(client) == ALONE
            await clock.jump(2 * exchange.REFUSED_SECONDS)
        assert server.streams == 1


@pytest.mark.parametrize("code", [grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL])
def test_a_stream_that_ends_before_its_first_answer_is_not_tried_again_for_a_while(code: grpc.StatusCode) -> None:
    @in_jumping_loop
    async def told() -> None:
        server, clock = StandIn(), Clock()
        server.refuses = code
        async with server.client() as client:
            assert await send(client) == ALONE
            await clock.jump(exchange.REFUSED_SECONDS - 1)
            assert await send(client) == ALONE
            assert server.streams == 1
            server.refuses = None
            await clock.jump(1)
            assert await send(client) == TOGETHER

    told()


@in_loop
async def test_the_server_hears_of_a_call_that_is_given_up() -> None:
    server = StandIn()
    server.answer = never
    async with server.client() as client:
        asking = asyncio.create_task(client.ask("chan", "bob", SAID))
        await server.until(lambda: len(server.requests) == 1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await server.until(lambda: server.cancelled == [1])
        server.answer = at_once
        assert await send(client) == TOGETHER


@in_loop
async def test_what_was_given_up_before_it_was_sent_is_not_sent() -> None:
    server = StandIn()
    async with server.client() as client:
        await send(client)
        gone, stays = sending(client, "gone", "stays")
        while not client._connection._exchanges._calls:
            await asyncio.sleep(0)
        gone.cancel()
        assert await stays == TOGETHER
        assert [request.send.channel_id for request in server.requests] == ["chan", "stays"]
        assert not server.cancelled


@in_jumping_loop
async def test_a_call_ends_at_its_deadline_although_the_server_does_not_read() -> None:
    server, clock = StandIn(), Clock()
    async with server.client(retry_patience=5) as client:
        client._rules.calls.clock = lambda: asyncio.get_running_loop().time()
        await send(client)
        server.answer = never
        late = sending(client, "chan")[0]
        await server.until(lambda: len(server.requests) == 2)
        await clock.jump(4)
        assert not late.done()
        await clock.jump(1.1)
        with pytest.raises(UnavailableError, match="did not answer within 5 s: The server did not answer in time"):
            await late
        await server.until(lambda: server.cancelled == [2])


@in_loop
async def test_a_server_that_reads_slowly_keeps_calls_waiting_and_loses_none() -> None:
    server = StandIn()
    server.reads = asyncio.Event()
    async with server.client() as client:
        text = {"text": "x" * 15_000}
        slow = [asyncio.create_task(client.send_message("chan", text)) for _ in range(100)]
        waiting = client._connection._exchanges._calls
        while len(waiting) < 100:
            await asyncio.sleep(0)
        assert not server.requests
        server.reads.set()
        assert {message.sender for message in await asyncio.gather(*slow)} == {TOGETHER}


@in_jumping_loop
async def test_an_idle_stream_is_closed_and_one_that_waits_is_not() -> None:
    server, clock = StandIn(), Clock()
    async with server.client(always=False) as client:
        for _ in range(10):
            await send(client)
        server.answer = never
        asking = asyncio.create_task(client.ask("chan", "bob", SAID, timeout=500))
        await server.until(lambda: len(server.requests) == 2)
        for _ in range(4):
            await clock.jump(exchange.IDLE_SECONDS / 2)
        server.answer = at_once
        assert await send(client) == TOGETHER
        assert (server.streams, server.open) == (1, 1)
        asking.cancel()
        for _ in range(4):
            await clock.jump(exchange.IDLE_SECONDS / 2)
        await server.until(lambda: server.open == 0)
        assert await send(client) == ALONE


@in_jumping_loop
async def test_calls_move_to_another_stream_in_time_and_in_order() -> None:
    server, clock = StandIn(), Clock()
    answers: asyncio.Queue[None] = asyncio.Queue()

    async def held(request: exchange_pb2.NumberedRequest) -> exchange_pb2.NumberedAnswer:
        if server.streams == 1:
            await answers.get()
        return await at_once(request)

    server.answer = held
    async with server.client(retry_patience=10_000) as client:
        before = sending(client, "chan")[0]
        await server.until(lambda: len(server.requests) == 1)
        await clock.jump(exchange.OLD_SECONDS + 1)
        after, other = sending(client, "chan", "other")
        assert await other == TOGETHER
        assert (server.streams, after.done()) == (2, False)
        answers.put_nowait(None)
        assert [await before, await after] == [TOGETHER, TOGETHER]
        assert [request.send.channel_id for request in server.requests] == ["chan", "other", "chan"]
        await server.until(lambda: server.open == 1)


@in_loop
async def test_when_the_key_ends_the_calls_say_so() -> None:
    server = StandIn()
    ended = refusing(code_pb2.UNAUTHENTICATED, "TOKEN_EXPIRED", "The token has expired.")

    async def ending(request: exchange_pb2.NumberedRequest) -> exchange_pb2.NumberedAnswer | None:
        if request.number == 1:
            return await at_once(request)
        if request.WhichOneof("request") == "ask":
            return await ended(request)
        raise Ends(grpc.StatusCode.UNAUTHENTICATED)

    server.answer = ending
    async with server.client() as client:
        await send(client)
        asking = asyncio.create_task(client.ask("chan", "bob", SAID))
        await server.until(lambda: len(server.requests) == 2)
        server.refuses = grpc.StatusCode.UNAUTHENTICATED
        assert await send(client) == ALONE, "a call of its own says why it is refused"
        with pytest.raises(OpenIntentError) as refused:
            await asking
        assert refused.value.reason == "TOKEN_EXPIRED"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 cannot tell whose cancellation it is")
@in_loop
async def test_closing_the_client_ends_the_stream_and_leaves_no_task() -> None:
    server = StandIn()
    server.answer = never
    async with server.serving() as there:
        before = asyncio.all_tasks()
        client = AsyncOpenIntentClient(there, api_key="key")
        client._connection._exchanges._always = True
        asking = asyncio.create_task(client.ask("chan", "bob", SAID))
        await server.until(lambda: len(server.requests) == 1)
        await client.close()
        with pytest.raises(OpenIntentError, match="The client is closed"):
            await asking
        await server.until(lambda: server.open == 0)
        for _ in range(10):
            await asyncio.sleep(0)
        names = {task.get_coro().__qualname__ for task in asyncio.all_tasks() - before}  # type: ignore[union-attr]
        assert not {name for name in names if "xchange" in name or "request_iterator" in name}


def test_each_event_loop_has_its_client_and_a_loop_that_ends_leaves_nothing() -> None:
    async def once() -> None:
        server = StandIn()
        async with server.serving() as there:
            client = AsyncOpenIntentClient(there, api_key="key")
            client._connection._exchanges._always = True
            assert await send(client) == TOGETHER

    for _ in range(2):
        asyncio.run(once())


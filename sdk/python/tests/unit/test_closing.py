"""A closed client ends the calls that are under way, and refuses later ones. A closed iteration ends by itself."""

import asyncio
import contextlib
import socket
import sys
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import grpc
import grpc.aio
import pytest

from openintent_channels import AsyncOpenIntentClient, Iteration, Message, OpenIntentClient, OpenIntentError
from openintent_channels._calls import Calls
from openintent_channels._effects import Effect, Pause
from openintent_channels._following import Following
from openintent_channels._methods import SUBSCRIBE
from unit.fake_server import in_loop


@pytest.fixture
def silent() -> socket.socket:
    """A server that takes connections and says nothing."""
    return socket.create_server(("127.0.0.1", 0))


def address(server: socket.socket) -> str:
    return f"127.0.0.1:{server.getsockname()[1]}"


def test_the_blocking_client(silent: socket.socket) -> None:
    client = OpenIntentClient(address(silent))

    def close_once_connected() -> None:
        with silent.accept()[0]:
            client.close()

    closing = threading.Thread(target=close_once_connected)
    closing.start()
    with pytest.raises(OpenIntentError) as under_way:
        client.get_channel("c")
    with pytest.raises(OpenIntentError) as after:
        client.get_channel("c")
    with pytest.raises(OpenIntentError) as followed:
        next(client.follow("c"))
    closing.join()
    silent.close()
    assert [e.value.code for e in (under_way, after, followed)] == ["CANCELLED"] * 3


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 cannot tell whose cancellation it is")
def test_the_asynchronous_client(silent: socket.socket) -> None:
    async def calls() -> None:
        client = AsyncOpenIntentClient(address(silent))
        under_way = asyncio.ensure_future(client.get_channel("c"))
        with (await asyncio.to_thread(silent.accept))[0]:
            await client.close()
        for call in (under_way, client.get_channel("c"), client.follow("c").__anext__()):
            with pytest.raises(OpenIntentError) as ended:
                await call
            assert ended.value.code == "CANCELLED"

    asyncio.run(calls())
    silent.close()


def test_a_blocking_client_that_is_closed_ends_its_pauses() -> None:
    with ThreadPoolExecutor() as threads:
        client = OpenIntentClient("127.0.0.1:1")
        pausing = threads.submit(client._connection.perform, Pause(3_600))
        client.close()
        with pytest.raises(OpenIntentError, match="The client is closed"):
            pausing.result()


@in_loop
async def test_an_asynchronous_client_that_is_closed_ends_its_pauses() -> None:
    client = AsyncOpenIntentClient("127.0.0.1:1")
    pausing = asyncio.ensure_future(client._connection.perform(Pause(3_600)))
    await asyncio.sleep(0)
    await client.close()
    for pause in (pausing, client._connection.perform(Pause(3_600))):
        with pytest.raises(OpenIntentError, match="The client is closed"):
            await pause


@contextlib.asynccontextmanager
async def accepting() -> AsyncIterator[str]:
    """The address of a server that accepts followers and has nothing for them."""

    async def follow(_: Any, context: Any) -> AsyncIterator[Any]:
        await context.send_initial_metadata((("openintent-position", "0"),))
        await asyncio.Event().wait()
        yield

    handler = grpc.unary_stream_rpc_method_handler(follow, SUBSCRIBE.asked.FromString, SUBSCRIBE.answer.SerializeToString)
    service = SUBSCRIBE.path.split("/")[1]
    server = grpc.aio.server()
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, {SUBSCRIBE.name: handler})])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(None)


@in_loop
async def test_another_thread_closes_an_iteration() -> None:
    async with accepting() as there:
        with OpenIntentClient(there) as client:
            following = client.follow("c")
            await asyncio.to_thread(following.started)
            waiting = asyncio.ensure_future(asyncio.to_thread(next, following, "nothing"))
            await asyncio.to_thread(following.close)
            assert await waiting == "nothing"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 cannot tell whose cancellation it is")
@in_loop
async def test_another_task_closes_an_iteration() -> None:
    async with accepting() as there, AsyncOpenIntentClient(there) as client:
        following = client.follow("c")
        await following.started()
        waiting = asyncio.ensure_future(following.__anext__())
        await asyncio.sleep(0)
        await following.aclose()
        with pytest.raises(StopAsyncIteration):
            await waiting


@in_loop
async def test_a_task_that_is_cancelled_ends_even_if_its_iteration_is_closed() -> None:
    async with accepting() as there, AsyncOpenIntentClient(there) as client:
        following = client.follow("c")
        await following.started()
        waiting = asyncio.ensure_future(following.__anext__())
        await asyncio.sleep(0)
        waiting.cancel()
        await following.aclose()
        with pytest.raises(asyncio.CancelledError):
            await waiting


def test_what_is_closed_before_it_began_does_nothing() -> None:
    performed: list[Effect] = []
    connection: Any = SimpleNamespace(perform=performed.append)
    following = Iteration[Message](connection, Following(Calls()).follow("c", None, True))
    following.close()
    following.started()
    assert (list(following), performed) == ([], [])

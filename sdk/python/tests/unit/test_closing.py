"""A closed client ends the calls that are under way, and refuses later ones."""

import asyncio
import socket
import sys
import threading

import pytest

from openintent_channels import AsyncOpenIntentClient, OpenIntentClient, OpenIntentError


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

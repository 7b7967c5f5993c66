"""What clients say of what they meet at an address: nobody, silence, another protocol, a server that refuses their key."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from google.protobuf.any_pb2 import Any as Packed
from google.rpc import error_details_pb2, status_pb2

from openintent_channels import AsyncOpenIntentClient, OpenIntentClient, OpenIntentError, UnavailableError
from openintent_channels._advice import advised
from openintent_channels._calls import Calls
from openintent_channels._generated import channels_pb2
from openintent_channels._settings import resolve

Meeting = Callable[..., OpenIntentError]


class Failures:
    """A time that passes only when an attempt fails, however long the attempt took."""

    def __init__(self, each: float) -> None:
        self.each = each
        self.passed = 0.0

    def pace(self, calls: Calls) -> None:
        """Makes this the time of the calls: they roll their dice once after each failure."""
        calls.clock, calls.dice = lambda: self.passed, self._roll

    def _roll(self) -> float:
        self.passed += self.each
        return 0.0


def blocking(server: str, time: Failures | None = None, **said: Any) -> OpenIntentError:
    """Returns the error of a call of the blocking client."""
    with OpenIntentClient(server, **said) as client, pytest.raises(OpenIntentError) as raised:
        if time is not None:
            time.pace(client._rules.calls)
        client.intents.create("Meet")
    return raised.value


def asynchronous(server: str, time: Failures | None = None, **said: Any) -> OpenIntentError:
    """Returns the error of a call of the asynchronous client."""

    async def meet() -> OpenIntentError:
        async with AsyncOpenIntentClient(server, **said) as client:
            if time is not None:
                time.pace(client._rules.calls)
            with pytest.raises(OpenIntentError) as raised:
                await client.intents.create("Meet")
        return raised.value

    return asyncio.run(meet())


clients = pytest.mark.parametrize("meet", [blocking, asynchronous])


@contextlib.contextmanager
def raw_server(answer: bytes) -> Iterator[str]:
    """A server that says the same to whoever connects."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):  # the listener was closed
            while True:
                connection, _ = listener.accept()
                with connection, contextlib.suppress(ConnectionError):
                    connection.recv(1 << 16)
                    connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


@contextlib.contextmanager
def server(answer: Callable[[Any, Any], Any]) -> Iterator[str]:
    """A server of gRPC whose methods all do the same."""

    class Everything(grpc.GenericRpcHandler):  # type: ignore[misc]
        def service(self, details: Any) -> Any:
            return grpc.unary_unary_rpc_method_handler(answer)

    with ThreadPoolExecutor(4) as threads:
        running = grpc.server(threads, handlers=[Everything()])
        port = running.add_insecure_port("127.0.0.1:0")
        running.start()
        try:
            yield f"127.0.0.1:{port}"
        finally:
            running.stop(None).wait()


@clients
def test_nobody_there(meet: Meeting) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # bound and not listening, so connections are refused
        address = f"127.0.0.1:{bound.getsockname()[1]}"
        time = Failures(each=200)
        error = meet(address, time, retry_patience=600, connect_timeout=600)
    assert type(error) is UnavailableError
    assert error.message.startswith(f"The server at {address} could not be reached within 600 s: ")
    assert "refused" in error.message
    assert time.passed == 600, "it was tried again while there was time"


@clients
def test_a_server_that_is_silent(meet: Meeting) -> None:
    done = threading.Event()
    with server(lambda request, context: done.wait()) as address:
        try:
            error = meet(address, retry_patience=0.3)
        finally:
            done.set()
    assert type(error) is UnavailableError
    assert error.message == (
        f"No answer came from the server at {address}, so the call may or may not have taken effect: "
        "The server did not answer in time."
    )


@clients
def test_the_rest_address(meet: Meeting) -> None:
    answer = b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n400 Bad Request"
    with raw_server(answer) as address:
        error = meet(address, retry_patience=600)
    assert (type(error), error.reason) == (UnavailableError, "NOT_GRPC")
    assert error.message == (
        f"{address} does not speak gRPC; it looks like the REST address. "
        "Give the gRPC address (127.0.0.1:50051 by default)."
    )


def test_the_rest_address_over_tls() -> None:
    met = OpenIntentError("Received http2 header with status: 404", code="UNIMPLEMENTED")
    assert advised(met, resolve({}, "host:9", None, None, True)).reason == "NOT_GRPC"


def test_a_server_behind_a_proxy_may_come_back() -> None:
    met = UnavailableError("Received http2 header with status: 503", code="UNAVAILABLE")
    assert advised(met, resolve({}, "host:9", None, None, None)) is met


def refusing(reason: str) -> Callable[[Any, Any], Any]:
    """Returns a method that refuses all keys for a reason."""

    def refuse(request: Any, context: Any) -> None:
        packed = Packed()
        packed.Pack(error_details_pb2.ErrorInfo(reason=reason, domain="openintent"))
        status = status_pb2.Status(code=16, message="refused", details=[packed])
        context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        context.abort(grpc.StatusCode.UNAUTHENTICATED, "refused")

    return refuse


@clients
@pytest.mark.parametrize(
    ("reason", "given", "text"),
    [
        ("API_KEY_MISSING", None, "needs an API key. Set OPENINTENT_API_KEY, or give the client an api_key."),
        ("API_KEY_UNKNOWN", None, "Set OPENINTENT_API_KEY, or give the client an api_key."),
        ("API_KEY_UNKNOWN", "mine", "refused"),
    ],
)
def test_a_refused_key(
    meet: Meeting, reason: str, given: str | None, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENINTENT_API_KEY", raising=False)
    with server(refusing(reason)) as address:
        error = meet(address, api_key=given)
    assert (error.code, error.reason) == ("UNAUTHENTICATED", reason)
    assert error.message.endswith(text)


def test_a_channel_is_got_by_its_id() -> None:
    asked = []

    def get(request: bytes, context: Any) -> bytes:
        asked.append(channels_pb2.GetChannelRequest.FromString(request).channel_id)
        return channels_pb2.Channel(id="chan_1", name="talk").SerializeToString()

    async def get_it(address: str) -> str:
        async with AsyncOpenIntentClient(address) as client:
            return repr(await client.channels.get("chan_1"))

    with server(get) as address, OpenIntentClient(address) as client:
        assert client.channels.get("chan_1").name == "talk"
        assert asyncio.run(get_it(address)) == "AsyncChannelHandle('talk', id='chan_1', status='unspecified')"
    assert asked == ["chan_1", "chan_1"]

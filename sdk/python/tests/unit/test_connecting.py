"""A client that gets no connection says so at once, and gives up when its time to connect is over."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from openintent_channels import (
    Agent,
    AsyncOpenIntentClient,
    Iteration,
    Message,
    NotFoundError,
    OpenIntentClient,
    UnavailableError,
)
from openintent_channels._advice import advised
from openintent_channels._agent_log import AgentLog
from openintent_channels._asking import Asking
from openintent_channels._calls import Calls, Outage, Starting
from openintent_channels._effects import Effect, Open
from openintent_channels._following import Following
from openintent_channels._methods import GET_CHANNEL
from openintent_channels._settings import resolve
from openintent_channels._tracing import Tracing
from openintent_channels.agents import AgentBase
from unit.fake_server import FakeServer, in_loop, runtime
from unit.playing import Player, away, refused, stream


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address of this machine that refuses connections. A connection begins at it, so that nobody else listens there."""
    with contextlib.ExitStack() as stack:
        peer = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        held = stack.enter_context(socket.socket())
        held.bind(("127.0.0.1", 0))
        held.connect(peer.getsockname())
        yield f"127.0.0.1:{held.getsockname()[1]}"


def test_a_client_says_once_that_nobody_listens_and_how_to_start_a_server(
    nobody: str, caplog: pytest.LogCaptureFixture
) -> None:
    says = f"Nobody listens at {nobody} (connection refused). Start a server with: openintent serve --grpc-addr {nobody}"
    with OpenIntentClient(nobody, connect_timeout=0.3) as client:
        following = Iteration[Message](client._connection, client._rules.following.follow("c", None, True))
        for call in (lambda: client.get_channel("c"), following.started):
            with pytest.raises(UnavailableError, match=r"could not be reached within 0\.3 s") as raised:
                call()
            assert says in raised.value.message
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", f"a client cannot reach the server at {nobody} and keeps trying: {says} (UNAVAILABLE)")
    ]


def test_a_client_names_the_program_as_it_is_installed(
    nobody: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "openintentd"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    says = f"Start a server with: openintentd serve --grpc-addr {nobody}"
    with OpenIntentClient(nobody, connect_timeout=0.3) as client, pytest.raises(UnavailableError, match=says):
        client.get_channel("c")


@in_loop
async def test_the_client_for_asyncio_does_the_same() -> None:
    async with AsyncOpenIntentClient("127.0.0.1:1", connect_timeout=0.3) as client:
        with pytest.raises(UnavailableError, match="within 0.3 s: Nobody listens at 127.0.0.1:1 "):
            await client.get_channel("c")


def test_a_warning_comes_again_after_a_success(caplog: pytest.LogCaptureFixture) -> None:
    player = Player.of(refused(), refused(), "answer", away(), refused(), "answer")
    calls = player.calls(outage=Outage(), address="host:9")
    for told in (1, 2):
        player.play(calls.call(GET_CHANNEL, GET_CHANNEL.asked()))
        assert [record.getMessage() for record in caplog.records] == [
            "a client cannot reach the server at host:9 and keeps trying: away (UNAVAILABLE)"
        ] * told


@pytest.mark.parametrize(
    "rule",
    [
        lambda calls: calls.call(GET_CHANNEL, GET_CHANNEL.asked()),
        lambda calls: Asking(calls, Tracing()).ask("c", "bob", {}, 30, None, None, None),
    ],
)
def test_a_time_to_connect_bounds_what_gets_no_connection(rule: Callable[[Calls], Any]) -> None:
    player = Player.of(*[refused()] * 50)
    with pytest.raises(UnavailableError, match="could not be reached within 3 s"):
        player.play(rule(player.calls(connect_timeout=3)))
    assert player.now <= 3
    player = Player.of(*[away()] * 50)
    with pytest.raises(UnavailableError, match="within 30 s"):
        player.play(rule(player.calls(connect_timeout=3)))


@pytest.mark.parametrize(
    "rule",
    [
        lambda calls: calls.call(GET_CHANNEL, GET_CHANNEL.asked()),
        lambda calls: Asking(calls, Tracing()).ask("c", "bob", {}, 30, None, None, None),
        lambda calls: Asking(calls, Tracing()).resume("c", "msg_1", 30),
        lambda calls: Following(calls).follow("c", None, True),
    ],
)
def test_nobody_starts_to_listen_on_this_machine_unless_somebody_was_there(rule: Callable[[Calls], Any]) -> None:
    def attempt(effect: Effect) -> Any:
        return stream(None, refused()) if isinstance(effect, Open) else refused()

    player = Player.of(*[attempt] * 100)
    with pytest.raises(UnavailableError, match="could not be reached within 5 s"):
        player.play(rule(player.calls(local=True)))
    for patient in ({}, {"local": True, "reached": True}, {"local": True, "connect_timeout": 60}):
        player = Player.of(*[attempt] * 100)
        with pytest.raises(UnavailableError, match="could not be reached within 30 s"):
            player.play(rule(player.calls(**patient)))


@pytest.mark.parametrize("answer", ["an answer", NotFoundError("no", code="NOT_FOUND", reason="CHANNEL_NOT_FOUND")])
def test_a_client_that_had_an_answer_waits_while_its_server_starts_again(answer: Any) -> None:
    player = Player.of(answer, *[refused()] * 100)
    calls = player.calls(local=True)
    with contextlib.suppress(NotFoundError):
        player.play(calls.call(GET_CHANNEL, GET_CHANNEL.asked()))
    with pytest.raises(UnavailableError, match="could not be reached within 30 s"):
        player.play(calls.call(GET_CHANNEL, GET_CHANNEL.asked()))


def agent(**options: Any) -> AgentBase:
    @Agent("me", **options)
    class Me(AgentBase): ...

    return Me()


@in_loop
async def test_an_agent_in_async_with_gives_up_on_a_server_that_refuses(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("openintent_channels._calls.LOCAL_CONNECT_SECONDS", 0.2)
    caplog.set_level(logging.INFO)
    says = "Nobody listens at 127.0.0.1:1 (connection refused). Start a server with: openintent serve"
    with pytest.raises(UnavailableError, match=r"within 0\.2 s: Nobody listens at 127.0.0.1:1 "):
        async with agent(server="127.0.0.1:1"):
            pass
    first = caplog.records[0].getMessage()
    assert first.startswith(f"agent me cannot reach the server at 127.0.0.1:1 and keeps trying: {says}")
    assert "agent me gives up: The server at 127.0.0.1:1 could not be reached within 0.2 s" in [
        record.getMessage() for record in caplog.records
    ]
    assert sum(says in record.getMessage() for record in caplog.records) == 1, "the log says it once"


@in_loop
async def test_serving_waits_for_ever_unless_it_has_a_time_to_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openintent_channels._calls.LOCAL_CONNECT_SECONDS", 0.0)
    tried, again = asyncio.Event(), AgentLog.failed

    def failed(log: AgentLog, error: object) -> None:
        again(log, error)
        tried.set()

    monkeypatch.setattr(AgentLog, "failed", failed)
    serving = asyncio.ensure_future(agent(server="127.0.0.1:1").serve())
    await tried.wait()
    tried.clear()
    await tried.wait()
    assert not serving.done()
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    with pytest.raises(UnavailableError, match="within 0.1 s"):
        await agent(server="127.0.0.1:1", connect_timeout=60).serve(connect_timeout=0.1)
    with pytest.raises(UnavailableError, match="within 0.1 s"):
        await agent(server="127.0.0.1:1", connect_timeout=0.1).serve()


@in_loop
async def test_an_agent_that_has_started_waits_for_ever() -> None:
    server = FakeServer()
    running = runtime(server)
    running._membership.starting = Starting(Calls(clock=server.clock).deadline(0))
    await running.start()
    server.failing["StreamDeliveries"] = [refused() for _ in range(20)]
    server.deliver(refused())
    await server.until_said("StreamDeliveries", 22)
    await running.drain()


def test_gRPC_tries_again_soon_on_this_machine() -> None:
    def longest(server: str) -> int | str:
        return dict(resolve({}, server, None, None, None).channel_options)["grpc.max_reconnect_backoff_ms"]

    assert (longest("localhost:9"), longest("example.org:9")) == (200, 2_000)


NO_CONNECTION = ["failed to connect to all addresses; last error: timeout", "DNS resolution failed for nowhere:1: C-ares"]


@pytest.mark.parametrize("text", NO_CONNECTION)
def test_what_got_no_connection_is_known_as_that(text: str) -> None:
    settings = resolve({}, "nowhere:1", None, None, None)
    said = advised(UnavailableError(text, code="UNAVAILABLE"), settings)
    assert isinstance(said, UnavailableError)
    assert (said.unconnected, said.message) == (True, text)

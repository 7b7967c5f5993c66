"""An agent's status note reaches the server with a heartbeat, which it brings forward."""

from __future__ import annotations

import asyncio
import threading

import pytest

from openintent_channels import Agent, AgentBase, InvalidArgumentError
from openintent_channels._generated import agents_pb2
from openintent_channels._status_note import LONGEST, StatusNote
from openintent_channels.errors import FailedPreconditionError, ResourceExhaustedError
from unit.fake_server import FakeServer, in_loop, runtime

pytestmark = pytest.mark.filterwarnings("error")


def notes(server: FakeServer) -> list[str | None]:
    return [beat.status_note if beat.HasField("status_note") else None for beat in server.said("Heartbeat")]


@in_loop
async def test_a_note_brings_a_heartbeat_forward_and_goes_with_one_only() -> None:
    server, note = FakeServer(), StatusNote()
    agent = runtime(server, note=note)
    await agent.start()
    thread = threading.Thread(target=note.set, args=("reading",))
    thread.start()
    await server.until_said("Heartbeat")
    thread.join()
    server.beat()
    await server.until_said("Heartbeat", 2)
    note.set("")
    await server.until_said("Heartbeat", 3)
    await agent.drain()
    assert notes(server) == ["reading", None, "", None]
    assert server.said("Heartbeat")[3].status == agents_pb2.AGENT_STATUS_DRAINING


@in_loop
async def test_a_note_from_before_the_run_and_the_last_of_several_reach_the_server() -> None:
    server, note = FakeServer(), StatusNote()
    note.set("first")
    note.set("second")
    agent = runtime(server, note=note)
    await agent.start()
    await server.until_said("Heartbeat")
    assert notes(server) == ["second"]
    await agent.drain()


@in_loop
async def test_an_agent_that_registers_anew_says_its_note_again() -> None:
    server, note = FakeServer(), StatusNote()
    agent = runtime(server, note=note)
    await agent.start()
    note.set("reading")
    await server.until_said("Heartbeat")
    server.failing["Heartbeat"] = [FailedPreconditionError("gone", code="FAILED_PRECONDITION", reason="AGENT_GONE")]
    server.beat()
    await server.until_said("Heartbeat", 3)
    assert notes(server) == ["reading", None, "reading"]
    await agent.drain()


@in_loop
async def test_a_note_that_the_server_refuses_does_not_end_the_agent() -> None:
    server, note = FakeServer(), StatusNote()
    server.failing["Heartbeat"] = [InvalidArgumentError("no", code="INVALID_ARGUMENT")]
    agent = runtime(server, note=note)
    await agent.start()
    note.set("reading")
    await server.until_said("Heartbeat", 2)
    assert notes(server) == ["reading", None]
    await agent.drain()


@in_loop
async def test_a_note_does_not_make_a_failing_heartbeat_come_sooner() -> None:
    server, note = FakeServer(), StatusNote()
    server.failing["Heartbeat"] = [ResourceExhaustedError("no", code="RESOURCE_EXHAUSTED")]
    agent = runtime(server, note=note)
    await agent.start()
    note.set("reading")
    await server.until_said("Heartbeat")
    for _ in range(10):
        await asyncio.sleep(0)
    assert notes(server) == ["reading"]
    server.beat()
    await server.until_said("Heartbeat", 2)
    assert notes(server) == ["reading", "reading"]
    await agent.drain()


def test_a_note_that_is_too_long_or_has_no_record_is_refused() -> None:
    note = StatusNote()
    note.set("\u00fc" * LONGEST)
    with pytest.raises(InvalidArgumentError, match="at most 200 characters, and this one has 201"):
        note.set("\u00fc" * (LONGEST + 1))

    @Agent("here", register=False)
    class Here(AgentBase): ...

    with pytest.raises(RuntimeError, match="does not register"):
        Here().set_status_note("here")


def test_a_note_may_be_set_when_the_loop_of_a_run_has_ended() -> None:
    note = StatusNote()
    note.set("one")
    asyncio.run(note.changed())
    note.set("two")
    assert note.next == "two"

"""Deliveries that are done with wait a little for others, so that one call acknowledges many."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from openintent_channels import AgentMessage
from openintent_channels._effects import Effect, Invoke, Pause
from openintent_channels._generated import messages_pb2
from openintent_channels._runtime import STREAM_FIRST
from openintent_channels.errors import AbortedError
from unit.fake_server import FakeServer, delivery, in_loop, message, runtime

pytestmark = pytest.mark.filterwarnings("error")


class Still(FakeServer):
    """A server for which no time passes: a wait never ends, but the one after which the rest of the inbox is read."""

    async def perform(self, effect: Effect) -> Any:
        if isinstance(effect, Pause) and effect.seconds != STREAM_FIRST:
            await asyncio.Event().wait()
        return await super().perform(effect)


async def silent(message: AgentMessage) -> None: ...


def test_many_are_acknowledged_without_delay_and_the_rest_when_the_agent_leaves() -> None:
    async def tell() -> None:
        last = asyncio.Event()

        async def handle(message: AgentMessage) -> None:
            if message.id == "m27":
                last.set()

        server = Still()
        agent = runtime(server, handle)
        await agent.start()
        server.deliver(*[delivery(n) for n in range(1, 26)])
        await server.until_acknowledged(*range(1, 26))
        assert len(server.said("AcknowledgeDeliveries")) == 1
        server.deliver(delivery(26), delivery(27))
        await last.wait()
        await agent.drain()
        assert [list(request.numbers) for request in server.said("AcknowledgeDeliveries")][1:] == [[26, 27]]

    asyncio.run(asyncio.wait_for(tell(), 60))


def test_few_are_acknowledged_together_after_a_while() -> None:
    async def tell() -> None:
        server = FakeServer()
        agent = runtime(server, silent)
        await agent.start()
        server.deliver(delivery(1), delivery(2))
        await server.until_acknowledged(1, 2)
        await agent.drain()

    asyncio.run(asyncio.wait_for(tell(), 60))


async def leaving_before_the_delivery(server: FakeServer, sent_at: int) -> tuple[asyncio.Task[None], list[str]]:
    """An agent that found m1, sent at that time, in its inbox, has handled it, and leaves."""
    handled: list[str] = []

    async def handle(message: AgentMessage) -> None:
        handled.append(message.id)

    server.subscribed_at = 5
    wire = message("m1")
    wire.created_at.FromSeconds(sent_at)
    server.inbox = [messages_pb2.InboxItem(message=wire, channel_name="talk")]
    agent = runtime(server, handle)
    await agent.start()
    await server.until_said("UpdateMessage")
    leaving = asyncio.ensure_future(agent.drain())
    await asyncio.sleep(0)
    return leaving, handled


@in_loop
async def test_an_agent_that_leaves_waits_for_the_delivery_of_what_it_found_in_the_inbox() -> None:
    server = Still()
    leaving, handled = await leaving_before_the_delivery(server, sent_at=6)
    server.deliver(delivery(2), delivery(1))
    await leaving
    assert (handled, server.acknowledged()) == (["m1"], [1]), "it begins nothing new"


@in_loop
async def test_it_does_not_wait_for_what_is_older_than_its_subscription_nor_for_long() -> None:
    leaving, _ = await leaving_before_the_delivery(Still(), sent_at=4)
    await leaving
    leaving, _ = await leaving_before_the_delivery(FakeServer(), sent_at=6)
    await leaving


class Slow(FakeServer):
    """A server that does not answer the first call which acknowledges."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def perform(self, effect: Effect) -> Any:
        first = not self.asked.is_set()
        if first and isinstance(effect, Invoke) and effect.method.name.endswith("AcknowledgeDeliveries"):
            self.asked.set()
            await asyncio.Event().wait()
        return await super().perform(effect)


def test_what_is_being_acknowledged_when_the_agent_leaves_is_acknowledged_again() -> None:
    async def tell() -> None:
        server = Slow()
        agent = runtime(server, silent)
        await agent.start()
        server.deliver(delivery(1), delivery(2))
        await server.asked.wait()
        await agent.drain()
        assert [list(request.numbers) for request in server.said("AcknowledgeDeliveries")] == [[1, 2]]

    asyncio.run(asyncio.wait_for(tell(), 60))


@in_loop
async def test_the_stream_stays_open_until_the_running_handlers_have_ended_and_are_acknowledged() -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def handle(_: AgentMessage) -> None:
        begun.set()
        await may_end.wait()

    class Watched(FakeServer):
        async def perform(self, effect: Effect) -> Any:
            if isinstance(effect, Invoke) and effect.method.name.endswith("AcknowledgeDeliveries"):
                assert not self.streams[-1].cancelled
            return await super().perform(effect)

    server = Watched()
    agent = runtime(server, handle)
    await agent.start()
    server.deliver(delivery(1))
    await begun.wait()
    leaving = asyncio.ensure_future(agent.drain())
    await server.until_said("Heartbeat")
    assert not server.streams[-1].cancelled
    may_end.set()
    await leaving
    assert (server.acknowledged(), server.streams[-1].cancelled) == ([1], True)


@in_loop
async def test_a_delivery_that_comes_again_is_left_out_and_the_others_are_acknowledged() -> None:
    server = Still()
    again = AbortedError("It comes again.", code="ABORTED", reason="DELIVERY_COMES_AGAIN", metadata={"number": "2"})
    server.failing["AcknowledgeDeliveries"] = [again]
    agent = runtime(server, silent)
    await agent.start()
    server.deliver(*[delivery(n) for n in range(1, 26)])
    await server.until_said("AcknowledgeDeliveries", 2)
    await agent.drain()
    assert [list(request.numbers) for request in server.said("AcknowledgeDeliveries")] == [
        list(range(1, 26)), [1, *range(3, 26)],
    ]

"""An agent confirms probes beside its messages, and a client says how an agent is reached."""

from __future__ import annotations

import asyncio
from datetime import datetime, timezone
from typing import Any

import pytest

from openintent_channels import AgentMessage, Reach, ReachPath, ReachWaiting
from openintent_channels._directory import Directory
from openintent_channels._effects import Invoke
from openintent_channels._generated import reach_pb2, subscriptions_pb2
from openintent_channels.errors import NotFoundError
from unit.fake_server import FakeServer, delivery, in_loop, runtime
from unit.playing import Player

pytestmark = pytest.mark.filterwarnings("error")


def at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc)


def probe(id: str) -> subscriptions_pb2.SubscriptionDelivery:
    return subscriptions_pb2.SubscriptionDelivery(probe_id=id)


async def fail(message: AgentMessage) -> None:
    raise AssertionError(f"a handler runs for {message.id}")


@in_loop
async def test_an_agent_asks_for_probes_and_confirms_them_without_a_handler() -> None:
    server = FakeServer()
    agent = runtime(server, fail)
    await agent.start()
    await server.until_said("GetInbox")
    assert server.said("StreamDeliveries")[0].probes
    server.deliver(probe("p1"), probe("p2"))
    await server.until_said("ConfirmProbe", 2)
    confirmed = [(request.agent_id, request.probe_id) for request in server.said("ConfirmProbe")]
    assert confirmed == [("me", "p1"), ("me", "p2")]
    await agent.drain()
    assert server.acknowledged() == []


@in_loop
async def test_a_probe_does_not_make_a_process_that_stands_by_the_active_one() -> None:
    server = FakeServer()
    server.stands_by = True
    agent = runtime(server, fail)
    await agent.start()
    server.deliver(probe("p1"))
    await server.until_said("ConfirmProbe")
    assert server.said("GetInbox") == []
    await agent.drain()
    assert server.said("GetInbox") == []


@in_loop
async def test_a_probe_that_cannot_be_confirmed_is_left_and_holds_up_nothing() -> None:
    server = FakeServer()
    refusal = NotFoundError("the probe is over", code="NOT_FOUND", reason="PROBE_NOT_FOUND")
    server.failing["ConfirmProbe"] = [refusal]
    agent = runtime(server)
    await agent.start()
    server.deliver(probe("p1"), delivery(1))
    await server.until_acknowledged(1)
    server.deliver(probe("p2"))
    await server.until_said("ConfirmProbe", 2)
    assert agent.is_at_work
    await agent.drain()


class Silent(FakeServer):
    """A server that does not answer a confirmation."""

    gave_up = False

    async def perform(self, effect: Any) -> Any:
        answer = await super().perform(effect)
        if isinstance(effect, Invoke) and effect.method.name == "ConfirmProbe":
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.gave_up = True
                raise
        return answer


@in_loop
async def test_an_agent_that_leaves_does_not_wait_for_a_confirmation_and_leaves_none_behind() -> None:
    server = Silent()
    agent = runtime(server)
    await agent.start()
    server.deliver(probe("p1"), delivery(1))
    await server.until_said("ConfirmProbe")
    await server.until_acknowledged(1)
    await agent.drain()
    assert server.gave_up


def test_the_reach_of_an_agent_is_read() -> None:
    wire = reach_pb2.Reach(agent_id="ann", level=reach_pb2.REACH_LEVEL_LIVE, surfaces_in_ms=0)
    stream = wire.paths.add(kind="stream")
    stream.since.FromSeconds(1)
    stream.proven_at.FromSeconds(2)
    wire.paths.add(kind="webhook").since.FromSeconds(3)
    wire.last_heard_at.FromSeconds(4)
    wire.last_offered_at.FromSeconds(5)
    wire.last_surfaced_at.FromSeconds(6)
    wire.waiting.count = 7
    wire.waiting.oldest_at.FromSeconds(8)
    player = Player.of(wire)
    assert player.play(Directory(player.calls()).reach("ann")) == Reach(
        agent_id="ann",
        level="live",
        paths=(ReachPath("stream", at(1), at(2)), ReachPath("webhook", at(3), None)),
        last_heard_at=at(4),
        last_offered_at=at(5),
        last_surfaced_at=at(6),
        surfaces_in_ms=0,
        waiting=ReachWaiting(7, at(8)),
    )
    asked: Any = player.invoked[0].request
    assert (player.invoked[0].method.name, asked.agent_id) == ("GetReach", "ann")


def test_what_is_not_known_of_an_agents_reach_is_none() -> None:
    player = Player.of(reach_pb2.Reach(agent_id="ann", level=reach_pb2.REACH_LEVEL_UNKNOWN))
    unknown = Reach("ann", "unknown", (), None, None, None, None, None)
    assert player.play(Directory(player.calls()).reach("ann")) == unknown

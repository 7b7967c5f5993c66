"""Time stands until a test moves it, for the server as for the clients and agents of the test."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from openintent_channels import (
    Agent,
    AgentBase,
    AgentMessage,
    AlreadyExistsError,
    ChannelHandle,
    Digest,
    Intent,
    Message,
    MessageTimeoutError,
    on_digest,
    on_message,
)
from openintent_channels.testing import Server

QUESTION = {"question": "which schema?"}


def test_a_question_expires(openintent_server: Server, intent: Intent, channel: ChannelHandle) -> None:
    silent = openintent_server.peer("data-agent").stays_silent()
    with ThreadPoolExecutor() as threads:
        asked = threads.submit(channel.ask, "data-agent", QUESTION, 30)
        silent.assert_heard(payload=QUESTION)
        before = openintent_server.now()
        openintent_server.advance(29)
        assert abs(openintent_server.now() - before - timedelta(seconds=29)) < timedelta(seconds=0.1)
        openintent_server.settle()
        assert not asked.done()
        openintent_server.advance(1)
        with pytest.raises(MessageTimeoutError):
            asked.result(10)


def test_a_lease_lives_with_its_holder(openintent_server: Server, intent: Intent) -> None:
    holder, other = openintent_server.client("holder"), openintent_server.client("other")
    with holder.lease(intent.id, "chapter 3", duration_seconds=30) as lease:
        openintent_server.advance(600)
        assert not lease.lost
        with pytest.raises(AlreadyExistsError), other.lease(intent.id, "chapter 3"):
            pass


async def _hold(server: Server, intent_id: str) -> bool:
    async with server.async_client("holder") as holder, holder.lease(intent_id, "chapter 3", duration_seconds=30) as lease:
        await server.aio.advance(600)
        return lease.lost


def test_a_lease_lives_with_its_holder_in_asyncio(openintent_server: Server, intent: Intent) -> None:
    assert asyncio.run(_hold(openintent_server, intent.id)) is False


def test_a_claim_lives_with_its_holder(openintent_server: Server, channel: ChannelHandle) -> None:
    task = channel.broadcast({"text": "Who repairs it?"})
    with channel.claim(task, ttl=60) as claim:
        openintent_server.advance(600)
        assert not claim.lost


def test_a_dead_holder_loses_its_claim(openintent_server: Server, intent: Intent, channel: ChannelHandle) -> None:
    dying = openintent_server.peer("first", role="builder").claims_and_dies()
    with ThreadPoolExecutor() as threads:
        asked = threads.submit(channel.ask, "role:builder", QUESTION, 600, collect="one")
        dying.assert_heard()
        openintent_server.peer("second", role="builder").answers({"answer": "from the second"})
        openintent_server.settle()
        assert not asked.done()
        openintent_server.advance(120)
        assert asked.result(10).sender == "second"


def test_agents_that_live_are_not_presumed_dead(openintent_server: Server, channel: ChannelHandle) -> None:
    openintent_server.peer("living").stays_silent()
    dying = openintent_server.peer("dying").claims_and_dies()
    channel.notify("dying", {"text": "Hello"})
    dying.assert_heard()
    openintent_server.advance(1200)
    status = {agent: openintent_server.call("GET", f"/v1/agents/{agent}")["status"] for agent in ("living", "dying")}
    assert status == {"living": "active", "dying": "dead"}


@Agent("lead", digest_seconds=600)
class Lead(AgentBase):
    def __init__(self) -> None:
        self.digests: list[Digest] = []

    @on_digest()
    async def summed(self, digest: Digest) -> None:
        self.digests.append(digest)


async def _digest(server: Server, channel: ChannelHandle) -> list[int]:
    lead = Lead()
    async with lead, server.async_client("builder") as builder:
        theirs = await builder.channels.get(channel.id)
        for step in range(3):
            await theirs.broadcast({"text": f"Step {step} has ended."}, kind="status")
        await server.aio.advance(590)
        await server.aio.settle()
        assert lead.digests == []
        await server.aio.advance(10)
        await server.aio.settle()
        return [digest.message_count for digest in lead.digests]


def test_a_digest_comes(openintent_server: Server, intent: Intent) -> None:
    planner = openintent_server.client("planner")
    channel = planner.channels.open("steps", intent.id, members=["lead", "builder"], member_policy="explicit")
    assert asyncio.run(_digest(openintent_server, channel)) == [3]


def test_an_obligation_returns(openintent_server: Server, channel: ChannelHandle) -> None:
    debtor = openintent_server.peer("debtor").stays_silent()
    channel.send(QUESTION, "debtor", "request", obligation="halted")
    for returns in range(3):
        openintent_server.settle()
        assert len(debtor.heard(sender="system")) == returns
        openintent_server.advance(600)
    openintent_server.advance(7200)
    openintent_server.settle()
    assert len(debtor.heard(sender="system")) == 3


def test_what_waits_for_a_mailbox_waits_for_time(openintent_server: Server, channel: ChannelHandle) -> None:
    taken: list[Any] = []
    with openintent_server.client("helper").mailbox("helper") as mailbox:
        waiting = threading.Thread(target=lambda: taken.append(mailbox.take(wait=60).messages))
        waiting.start()
        before = time.monotonic()
        while waiting.is_alive():  # it may not have begun to wait
            openintent_server.advance(60)
        assert [list(messages) for messages in taken] == [[]]
        assert time.monotonic() - before < 30


@pytest.mark.openintent(test_clock=False)
def test_time_may_flow(openintent_server: Server, channel: ChannelHandle) -> None:
    openintent_server.peer("data-agent").stays_silent()
    with pytest.raises(MessageTimeoutError):
        channel.ask("data-agent", QUESTION, 0.01)
    with pytest.raises(RuntimeError, match="test_clock=True"):
        openintent_server.advance(1)


@Agent("data-agent")
class DataAgent(AgentBase):
    @on_message(channel="test")
    async def clarify(self, message: AgentMessage) -> dict[str, Any]:
        return {"answer": "v2.3"}


async def _blocks(server: Server) -> None:
    async with DataAgent():
        await asyncio.sleep(0)
        while server._moved and not server._moved.belongs_to_this_thread():
            await asyncio.sleep(0)
        server.advance(1)


def test_an_advance_that_would_wait_for_itself_is_refused(openintent_server: Server) -> None:
    with pytest.raises(RuntimeError, match=r"await server.aio.advance"):
        asyncio.run(_blocks(openintent_server))


async def _asks(server: Server, channel: ChannelHandle) -> Message:
    async with DataAgent(), server.async_client("asker") as asker:
        return await (await asker.channels.get(channel.id)).ask("data-agent", QUESTION)


def test_agents_find_the_server_by_themselves(openintent_server: Server, channel: ChannelHandle) -> None:
    assert asyncio.run(_asks(openintent_server, channel)).payload == {"answer": "v2.3"}

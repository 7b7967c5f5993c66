"""What came with one delivery is handled in turn and acknowledged once; digests have handlers of their own."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from openintent_channels import Agent, AgentMessage, Digest, DigestCount, DigestSpan, DigestSubject, on_digest, on_mention
from openintent_channels._generated import attention_pb2, messages_pb2, subscriptions_pb2
from openintent_channels._handlers import handlers_of
from openintent_channels._membership import SUBSCRIPTION
from openintent_channels._waiting import Waiting
from openintent_channels.errors import NotFoundError, UnauthenticatedError
from unit.fake_server import FakeServer, delivery, in_loop, message, runtime

pytestmark = pytest.mark.filterwarnings("error")

NOTIFY = messages_pb2.MESSAGE_TYPE_NOTIFY
RESPONSE = messages_pb2.MESSAGE_TYPE_RESPONSE


def together(number: int, *ids: str) -> subscriptions_pb2.SubscriptionDelivery:
    """Makes a delivery of several messages, the last of which is its newest."""
    made = delivery(number, message(ids[-1], NOTIFY))
    made.attention.reason = f"of {ids[-1]}"
    for position, name in enumerate(ids[:-1], 1):
        earlier = made.earlier.add(intent_id="i", position=position, channel_name="talk", message=message(name, NOTIFY))
        earlier.attention.reason = f"of {name}"
    return made


def digested(
    number: int, made: subscriptions_pb2.SubscriptionDelivery | None = None
) -> subscriptions_pb2.SubscriptionDelivery:
    """Makes a delivery of a digest, with the messages of another delivery beside it."""
    if made is None:
        made = subscriptions_pb2.SubscriptionDelivery(subscription_id="sub_1", number=number, attempt=2, intent_id="i")
    made.digest.message_count, made.digest.left_out_count = 7, 1
    made.digest.counts.add(channel_id="c", channel_name="desk", sender="other", kind="status", count=6)
    made.digest.subjects.add(message_id="m", subject="Done")
    made.digest.spans.add(intent_id="i", first_position=2, last_position=9)
    return made


@in_loop
async def test_messages_that_come_together_are_handled_one_after_the_other_and_acknowledged_once() -> None:
    server, came, running = FakeServer(), list[AgentMessage](), [0]

    async def handle(taken: AgentMessage) -> None:
        running[0] += 1
        assert running[0] == 1
        assert not server.acknowledged()
        came.append(taken)
        await asyncio.sleep(0)
        running[0] -= 1
        if taken.id == "b":
            raise RuntimeError("a failure is logged, and the delivery goes on")

    agent = runtime(server, handle)
    await agent.start()
    server.deliver(together(4, "a", "b", "c"))
    await server.until_acknowledged(4)
    assert [(m.id, m.intent_id, m.channel_name, m.position, m.attempt) for m in came] == [
        ("a", "i", "talk", 1, 1), ("b", "i", "talk", 2, 1), ("c", "i", "talk", 4, 1),
    ]
    assert [m.attention and m.attention.reason for m in came] == ["of a", "of b", "of c"]
    assert {m.source_ids for m in came} == {("a", "b", "c")}
    server.deliver(together(4, "a", "b", "c"))
    await server.until_acknowledged(4, 4)
    assert len(came) == 3, "a repetition is only acknowledged"
    await agent.drain()


@in_loop
async def test_a_delivery_stays_unacknowledged_while_one_of_its_messages_is_not_handled() -> None:
    server, came = FakeServer(), list[str]()
    refused = UnauthenticatedError("no", code="UNAUTHENTICATED", reason="")
    server.failing["ReplyMessage"] = [refused]

    async def answer(taken: AgentMessage) -> dict[str, Any]:
        came.append(taken.id)
        return {}

    agent = runtime(server, answer)
    await agent.start()
    made = together(4, "a", "b", "c")
    made.earlier[1].message.message_type = messages_pb2.MESSAGE_TYPE_REQUEST
    server.deliver(made, delivery(5))
    await server.until_acknowledged(5)
    assert came == ["a", "b", "c", "m5"]
    server.deliver(made)
    await server.until_acknowledged(5, 4)
    assert came == ["a", "b", "c", "m5", "b"], "it leaves out what it has handled"
    await agent.drain()


@in_loop
async def test_what_is_not_for_handlers_is_passed_over() -> None:
    server = FakeServer()
    agent = runtime(server, channels=["talk"])
    await agent.start()
    made = together(4, "a", "b")
    made.earlier[0].message.sender, made.message.message_type = "me", RESPONSE
    server.deliver(made, together(5, "c", "d"), subscriptions_pb2.SubscriptionDelivery(subscription_id="sub_1", number=6))
    await server.until_acknowledged(4, 5, 6)
    await agent.drain()

    server, came = FakeServer(), list[tuple[str, ...]]()

    async def handle(taken: AgentMessage) -> None:
        came.append((taken.id, *taken.source_ids))

    agent = runtime(server, handle)
    await agent.start()
    made = together(4, "a", "b", "c")
    made.message.message_type = RESPONSE
    alone = together(5, "d", "e")
    alone.message.sender = "me"
    server.deliver(made, alone)
    await server.until_acknowledged(4, 5)
    assert came == [("a", "a", "b"), ("b", "a", "b"), ("d",)]
    await agent.drain()


@in_loop
async def test_a_digest_goes_to_its_handlers_after_the_messages_beside_it() -> None:
    server, came = FakeServer(), list[Any]()

    async def handle(taken: AgentMessage) -> None:
        came.append(taken.id)

    async def failing(taken: Digest) -> None:
        came.append("failing")
        raise RuntimeError("out of paper")

    def plain(taken: Digest) -> None:
        came.append(taken)

    agent = runtime(server, handle, digests=[failing, plain])
    await agent.start()
    server.deliver(digested(4, together(4, "a", "b")))
    await server.until_acknowledged(4)
    assert came[:3] == ["a", "b", "failing"]
    assert came[3].attention is None, "what is beside the digest is the newest message's"
    alone = digested(5)
    alone.attention.policy = attention_pb2.RESPONSE_POLICY_MUST_NOT_RESPOND
    server.deliver(alone)
    await server.until_acknowledged(4, 5)
    digest = came[-1]
    assert digest.attention.policy == "must_not_respond"
    assert digest == Digest(
        message_count=7,
        counts=(DigestCount("c", "desk", "other", "status", 6),),
        subjects=(DigestSubject("m", "Done"),),
        spans=(DigestSpan("i", 2, 9),),
        left_out_count=1,
        attention=digest.attention,
        attempt=2,
    )
    server.deliver(alone)
    await server.until_acknowledged(4, 5, 5)
    assert came[-1] is digest, "it has been handled"
    await agent.drain()


@in_loop
async def test_a_digest_without_a_handler_is_acknowledged_and_told_at_debug_level() -> None:
    told = list[tuple[int, str]]()
    handler = logging.Handler()
    handler.emit = lambda record: told.append((record.levelno, record.getMessage()))  # type: ignore[method-assign]
    log = logging.getLogger("openintent_channels")
    before = log.level
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    try:
        server = FakeServer()
        agent = runtime(server)
        await agent.start()
        server.deliver(digested(4))
        await server.until_acknowledged(4)
        await agent.drain()
    finally:
        log.removeHandler(handler)
        log.setLevel(before)
    assert (logging.DEBUG, "agent me has no handler for digests, and leaves out one of 7 messages") in told


def there(**said: Any) -> subscriptions_pb2.Subscription:
    """Makes the agent's subscription as the server has it."""
    return subscriptions_pb2.Subscription(id="old", name=SUBSCRIPTION, active=True, **said)


QUIET = {"compose": True, "digest_seconds": 60, "max_chars": 2_000}


@pytest.mark.parametrize(
    ("found", "wanted", "stays"),
    [
        ({}, Waiting(), True),
        (QUIET, Waiting(True, 60), True),
        (QUIET, Waiting(True, 60, 2_000), True),
        ({}, Waiting(compose=True), False),
        ({}, Waiting(digest_seconds=60), False),
        (QUIET, Waiting(), False),
        (QUIET, Waiting(True, 60, 900), False),
    ],
)
def test_an_agent_that_starts_replaces_a_subscription_that_lets_messages_wait_in_another_way(
    found: dict[str, Any], wanted: Waiting, stays: bool
) -> None:
    async def tell() -> None:
        server = FakeServer()
        server.there = there(**found)
        agent = runtime(server, waiting=wanted)
        await agent.start()
        await server.until_said("StreamDeliveries")
        assert server.said("StreamDeliveries")[0].subscription_id == ("old" if stays else "sub_1")
        asked = server.said("CreateSubscription")[-1]
        assert asked.compose == wanted.compose
        assert asked.HasField("compose") == wanted.compose
        assert (asked.digest_seconds, asked.max_chars) == (wanted.digest_seconds or 0, wanted.max_chars or 0)
        await agent.drain()

    asyncio.run(asyncio.wait_for(tell(), 60))


@in_loop
async def test_a_running_agent_takes_the_subscription_that_another_process_made() -> None:
    server = FakeServer()
    agent = runtime(server, waiting=Waiting(compose=True))
    await agent.start()
    server.there = there()
    server.deliver(NotFoundError("gone", code="NOT_FOUND", reason="SUBSCRIPTION_NOT_FOUND"))
    await server.until_said("StreamDeliveries", 2)
    assert server.said("StreamDeliveries")[1].subscription_id == "old"
    await agent.drain()


def test_a_handler_of_digests_asks_for_no_attention() -> None:
    class Desk:
        @on_digest()
        async def told(self, digest: Digest) -> None: ...

        @on_mention()
        async def mentioned(self, message: AgentMessage) -> None: ...

    mentioned, told = sorted(handlers_of(Desk()), key=lambda handler: handler.about, reverse=True)
    assert (mentioned.attends, told.attends) == (True, False)
    assert told.arguments("the digest") == ["the digest"]


@pytest.mark.parametrize("wrong", [{"digest_seconds": 0}, {"digest_seconds": 1.5}, {"max_chars": -1}])
def test_a_time_or_a_length_is_a_whole_number(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="is a whole number of 1 or more"):
        Agent("me", **wrong)

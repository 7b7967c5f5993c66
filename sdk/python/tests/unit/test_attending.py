"""An agent claims what takes exact numbers of answers, attends to messages if it wants to, and else costs nothing more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from openintent_channels import AgentMessage, BlockingAgentMessage
from openintent_channels._agent_log import AgentLog
from openintent_channels._answers import Answers
from openintent_channels._calls import Calls
from openintent_channels._conversation import Conversation
from openintent_channels._generated import attention_pb2, messages_pb2, subscriptions_pb2
from openintent_channels._handlers import Handler
from openintent_channels._handling import Handling
from openintent_channels._membership import Membership
from openintent_channels._message_options import say
from openintent_channels._received import Received
from openintent_channels._reporting import Reporting
from openintent_channels._runtime import Runtime
from openintent_channels._tracing import Tracing
from openintent_channels.errors import AlreadyExistsError, FailedPreconditionError, NotFoundError, OpenIntentError
from unit.fake_server import FakeServer, delivery, in_loop, message, runtime

pytestmark = pytest.mark.filterwarnings("error")

CLAIMED = AlreadyExistsError("claimed", code="ALREADY_EXISTS", reason="CLAIMED")
ANSWERED = FailedPreconditionError("answered", code="FAILED_PRECONDITION", reason="ANSWERED")
LOST = FailedPreconditionError("lost", code="FAILED_PRECONDITION", reason="CLAIM_LOST")
NOTIFY, BROADCAST = messages_pb2.MESSAGE_TYPE_NOTIFY, messages_pb2.MESSAGE_TYPE_BROADCAST


async def answer(message: AgentMessage) -> dict[str, Any]:
    return {"a": 1}


async def fail(message: AgentMessage) -> None:
    raise RuntimeError("oh no")


def exact(number: int = 1) -> subscriptions_pb2.SubscriptionDelivery:
    """Makes a delivery of a request to a role that takes one answer."""
    wire, said = message(f"m{number}"), messages_pb2.SendMessageRequest()
    say(said, {"collect": "one"})
    wire.to = "role:role"
    wire.collect.CopyFrom(said.collect)
    return delivery(number, wire)


def attended(number: int, reason: str, policy: str = "MAY_RESPOND", kind: Any = BROADCAST) -> Any:
    """Makes a delivery with attention."""
    made = delivery(number, message(f"m{number}", kind))
    made.attention.CopyFrom(
        attention_pb2.Attention(reason=reason, policy=getattr(attention_pb2, f"RESPONSE_POLICY_{policy}"))
    )
    return made


def attending(server: FakeServer, *handlers: Handler, skip_unaddressed: bool = False) -> Runtime:
    """Makes the runtime of an agent with attention."""
    connection: Any = server
    calls, tracing = Calls(sender="me", dice=lambda: 0.0), Tracing()
    log = AgentLog("me", "host:9", server.clock)
    membership = Membership(connection, calls, log, "me", "role", None, (), registers=True, attends=True)
    reports = Reporting(connection, Conversation(calls), "me")
    handling = Handling(handlers, Answers(connection, calls, tracing, log), tracing, 4, reports)
    return Runtime(membership, handling, 4, 20, reports, skip_unaddressed)


def noting(into: list[str], name: str) -> Callable[..., Any]:
    async def handle(message: AgentMessage) -> None:
        into.append(f"{name} {message.id}")

    return handle


def calls_after_start(server: FakeServer) -> list[str]:
    return [name for name, _ in server.told][4:]


def refusal(server: FakeServer, method: str, *errors: OpenIntentError) -> None:
    server.failing[method] = list(errors)


@in_loop
async def test_a_plain_request_costs_what_it_did() -> None:
    server = FakeServer()
    agent = runtime(server, answer)
    await agent.start()
    server.deliver(delivery(1))
    await server.until_acknowledged(1)
    assert calls_after_start(server) == ["ReplyMessage", "AcknowledgeDeliveries"]
    assert list(server.said("CreateSubscription")[0].include) == []
    assert list(server.said("GetInbox")[0].include) == []
    assert not server.said("ReplyMessage")[0].HasField("fence")
    await agent.drain()


@in_loop
async def test_a_request_that_takes_one_answer_is_claimed_and_answered_under_the_fence() -> None:
    class Fenced(FakeServer):
        async def _answer(self, effect: Any) -> Any:
            made = await super()._answer(effect)
            if effect.method.name == "ClaimMessage":
                made.fence = 7
            return made

    server = Fenced()
    agent = runtime(server, answer)
    await agent.start()
    server.deliver(exact())
    await server.until_acknowledged(1)
    assert calls_after_start(server) == ["ClaimMessage", "ReplyMessage", "AcknowledgeDeliveries"]
    assert server.said("ClaimMessage")[0].idempotency_key == "sdk-claim-m1"
    assert server.said("ReplyMessage")[0].fence == 7
    await agent.drain()


@in_loop
async def test_while_others_hold_the_claim_the_handler_is_not_called_and_the_agent_tries_again() -> None:
    server = FakeServer()
    refusal(server, "ClaimMessage", CLAIMED, CLAIMED)
    agent = runtime(server, answer)
    await agent.start()
    server.deliver(exact())
    await server.until_said("ReplyMessage")
    await server.until_acknowledged(1)
    assert len(server.said("ClaimMessage")) == 3
    await agent.drain()


@pytest.mark.parametrize("error", [ANSWERED, NotFoundError("gone", code="NOT_FOUND")])
def test_what_has_its_answer_is_done_with(error: OpenIntentError) -> None:
    @in_loop
    async def tell() -> None:
        server, called = FakeServer(), list[str]()
        refusal(server, "ClaimMessage", error)
        agent = runtime(server, noting(called, "plain"))
        await agent.start()
        server.deliver(exact())
        await server.until_acknowledged(1)
        assert (called, server.replies()) == ([], [])
        await agent.drain()

    tell()


@in_loop
async def test_failures_release_the_claim_and_only_the_last_one_answers() -> None:
    server = FakeServer()
    agent = runtime(server, fail)
    await agent.start()
    server.deliver(exact())
    await server.until_said("ReplyMessage")
    names = [n for n in calls_after_start(server) if n != "AcknowledgeDeliveries"]
    assert names == [*["ClaimMessage", "SetDisposition", "ReleaseClaim"] * 2, "ClaimMessage", "ReplyMessage"]
    assert {request.disposition for request in server.said("SetDisposition")} == {"failed"}
    assert server.replies()[0][2] == {"error": {"type": "RuntimeError", "message": "oh no"}}
    await agent.drain()


@in_loop
async def test_a_claimed_request_without_an_answer_is_released_and_read() -> None:
    server, called = FakeServer(), list[str]()
    agent = runtime(server, noting(called, "plain"))
    await agent.start()
    server.deliver(exact())
    await server.until_acknowledged(1)
    assert calls_after_start(server) == ["ClaimMessage", "UpdateMessage", "ReleaseClaim", "AcknowledgeDeliveries"]
    await agent.drain()


@in_loop
async def test_a_request_that_no_handler_takes_is_not_claimed() -> None:
    server = FakeServer()
    agent = runtime(server, answer, channels=("elsewhere",))
    await agent.start()
    server.deliver(exact())
    await server.until_acknowledged(1)
    assert "ClaimMessage" not in calls_after_start(server)
    await agent.drain()


@in_loop
async def test_a_handler_is_cancelled_when_its_claim_is_lost_and_another_turn_follows() -> None:
    running, turns = asyncio.Event(), list[bool]()

    async def handle(message: AgentMessage) -> dict[str, Any]:
        turns.append(True)
        if len(turns) == 1:
            running.set()
            await asyncio.Event().wait()
        return {"turn": len(turns)}

    server = FakeServer()
    agent = runtime(server, handle)
    await agent.start()
    server.deliver(exact())
    await running.wait()
    refusal(server, "ClaimMessage", LOST)
    server.beat()
    server.beat()
    await server.until_said("ReplyMessage")
    assert server.replies()[0][2] == {"turn": 2}
    await agent.drain()


@in_loop
async def test_a_reply_to_what_is_no_request_is_a_message_under_it() -> None:
    async def handle(message: AgentMessage) -> None:
        await message.reply({"thanks": True}, subject="ack")
        await message.react("working", note="soon")

    server = FakeServer()
    agent = runtime(server, handle)
    await agent.start()
    server.deliver(delivery(1, message("m1", BROADCAST)))
    await server.until_acknowledged(1)
    (sent,) = server.said("SendMessage")
    assert (sent.parent_id, sent.to, sent.message_type, sent.subject) == ("m1", "asker", NOTIFY, "ack")
    assert sent.idempotency_key == "sdk-reply-m1-1"
    (reaction,) = server.said("AddReaction")
    assert (reaction.message_id, reaction.signal, reaction.note) == ("m1", "working", "soon")
    assert server.replies() == []
    await agent.drain()


@in_loop
async def test_a_plain_handler_claims_and_replies_under_the_claim() -> None:
    def handle(message: BlockingAgentMessage) -> None:
        with message.claim(ttl=60):
            message.reply({"a": 1})
        message.react("done")
        message.thread()

    server = FakeServer()
    agent = runtime(server, handle)
    await agent.start()
    server.deliver(delivery(1))
    await server.until_acknowledged(1)
    assert calls_after_start(server)[:5] == ["ClaimMessage", "ReplyMessage", "ReleaseClaim", "AddReaction", "GetThread"]
    assert server.said("ReplyMessage")[0].HasField("fence")
    await agent.drain()


@in_loop
async def test_an_agent_with_attention_asks_for_it_and_tells_what_became_of_messages() -> None:
    async def handle(message: AgentMessage) -> dict[str, Any] | None:
        assert message.attention is not None
        return {"reason": message.attention.reason} if message.message_type == "request" else None

    server = FakeServer()
    agent = attending(server, Handler.of(None, handle))
    await agent.start()
    server.deliver(attended(1, "direct_request", kind=messages_pb2.MESSAGE_TYPE_REQUEST), attended(2, "ambient"))
    await server.until_said("SetDisposition")
    await agent.drain()
    assert list(server.said("CreateSubscription")[0].include) == ["attention"]
    assert list(server.said("GetInbox")[0].include) == ["attention"]
    assert server.replies()[0][2] == {"reason": "direct_request"}
    assert sorted(id for request in server.said("MarkSurfaced") for id in request.message_ids) == ["m1", "m2"]
    assert [(r.message_id, r.disposition) for r in server.said("SetDisposition")] == [("m2", "acknowledged")]


@in_loop
async def test_mentions_go_to_their_handlers_and_what_must_not_be_answered_is_left_out() -> None:
    server, called = FakeServer(), list[str]()
    handlers = [Handler.of(None, noting(called, "plain")), Handler.of("talk", noting(called, "mention"), "mention")]
    agent = attending(server, *handlers, skip_unaddressed=True)
    await agent.start()
    server.deliver(attended(1, "mention"), attended(2, "ambient", "MUST_NOT_RESPOND"), attended(3, "thread"))
    await server.until_said("SetDisposition", 3)
    await agent.drain()
    assert sorted(called) == ["mention m1", "plain m3"]
    told = {r.message_id: r.disposition for r in server.said("SetDisposition")}
    assert told == {"m1": "acknowledged", "m2": "ignored", "m3": "acknowledged"}
    assert sorted(server.acknowledged()) == [1, 2, 3]


@in_loop
async def test_a_claim_is_asked_for_even_if_others_hold_the_message_now() -> None:
    server, called = FakeServer(), list[str]()
    agent = attending(server, Handler.of(None, noting(called, "plain")), skip_unaddressed=True)
    await agent.start()
    held = exact()
    held.attention.CopyFrom(attended(1, "claimed_by_other", "MUST_NOT_RESPOND").attention)
    server.deliver(held)
    await server.until_said("ClaimMessage")
    await server.until_said("AcknowledgeDeliveries")
    await agent.drain()
    assert called == ["plain m1"]


@in_loop
async def test_a_page_with_a_message_that_is_gone_is_told_in_halves() -> None:
    server = FakeServer()
    gone = NotFoundError("gone", code="NOT_FOUND", reason="MESSAGE_NOT_FOUND")
    refusal(server, "MarkSurfaced", gone)
    connection: Any = server
    reports = Reporting(connection, Conversation(Calls()), "me")
    for number in (1, 2):
        reports.surfaced(_received(f"m{number}"))
    await reports.report()
    assert [list(r.message_ids) for r in server.said("MarkSurfaced")] == [["m1", "m2"], ["m1"], ["m2"]]


def _received(id: str) -> Any:
    return Received(message(id), "i", "talk", None, 1)


@in_loop
async def test_a_subscription_without_attention_is_replaced() -> None:
    class Taken(FakeServer):
        async def _answer(self, effect: Any) -> Any:
            made = await super()._answer(effect)
            if effect.method.name == "ListSubscriptions":
                made.subscriptions.add(id="old", name="sdk", active=True)
            return made

    server = Taken()
    refusal(server, "CreateSubscription", CLAIMED)
    agent = attending(server, Handler.of(None, answer))
    await agent.start()
    await agent.drain()
    assert server.said("DeleteSubscription")[0].subscription_id == "old"
    assert len(server.said("CreateSubscription")) == 2

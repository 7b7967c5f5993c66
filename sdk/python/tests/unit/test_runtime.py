"""An agent answers, acknowledges only what is done, bounds its work, and leaves in order."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import pytest

from openintent_channels import AgentMessage, BlockingAgentMessage
from openintent_channels._effects import Effect, Pause
from openintent_channels._generated import agents_pb2, messages_pb2, subscriptions_pb2
from openintent_channels._runtime import STREAM_FIRST
from openintent_channels.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    MessageExpiredError,
    OpenIntentError,
    PermissionDeniedError,
    ResourceExhaustedError,
)
from unit.fake_server import FakeServer, delivery, in_loop, message, runtime
from unit.playing import away

pytestmark = pytest.mark.filterwarnings("error")


async def echo(message: AgentMessage) -> dict[str, Any]:
    return {"echo": message.payload, "from": message.sender}


def refusal(kind: type[OpenIntentError], code: str, reason: str = "") -> OpenIntentError:
    return kind("refused", code=code, reason=reason)


@in_loop
async def test_a_request_is_answered_and_then_acknowledged() -> None:
    server = FakeServer()
    agent = runtime(server, echo)
    await agent.start()
    server.deliver(delivery(1, message("m1", n=1)))
    await server.until_acknowledged(1)
    assert server.replies() == [("m1", "sdk-reply-m1", {"echo": {"n": 1}, "from": "asker"})]
    names = [name for name, _ in server.told]
    assert names.index("ReplyMessage") < names.index("AcknowledgeDeliveries")
    await agent.drain()


@in_loop
async def test_the_start_registers_subscribes_and_takes_up_the_inbox() -> None:
    server = FakeServer()
    notify = message("told", messages_pb2.MESSAGE_TYPE_NOTIFY)
    server.inbox = [messages_pb2.InboxItem(message=m, channel_name="talk") for m in (notify, message("waiting"))]
    server.inbox.append(messages_pb2.InboxItem(message=message("left unanswered"), channel_name="talk", read=True))
    agent = runtime(server, echo)
    await agent.start()
    await server.until_said("ReplyMessage")
    names = [name for name, _ in server.told]
    assert names[:4] == ["UpsertAgent", "CreateSubscription", "StreamDeliveries", "GetInbox"]
    (subscription,) = server.said("CreateSubscription")
    assert (subscription.name, subscription.acknowledge_seconds, subscription.max_attempts) == ("sdk", 3600, 20)
    server.deliver(delivery(5, message("waiting")))
    await server.until_acknowledged(5)
    assert [id for id, _, _ in server.replies()] == ["waiting"]
    await agent.drain()


@in_loop
async def test_the_inbox_is_left_alone_until_another_process_ends_and_read_on_each_takeover() -> None:
    server = FakeServer()
    server.stands_by = True
    server.inbox = [messages_pb2.InboxItem(message=message("waiting"), channel_name="talk")]
    agent = runtime(server, echo)
    await agent.start()
    assert server.said("StreamDeliveries")[0].announce_active
    assert server.said("GetInbox") == []
    server.take_over()
    await server.until_said("ReplyMessage")
    server.inbox.append(messages_pb2.InboxItem(message=message("granted"), channel_name="talk"))
    server.stands_by = False
    server.deliver(None)
    await server.until_said("ReplyMessage", 2)
    assert [id for id, _, _ in server.replies()] == ["waiting", "granted"]
    assert server.acknowledged() == []
    await agent.drain()


class StreamFirst(FakeServer):
    """A server on which the time for the stream to come first is never over."""

    async def perform(self, effect: Effect) -> Any:
        if isinstance(effect, Pause) and effect.seconds == STREAM_FIRST:
            await asyncio.Event().wait()
        return await super().perform(effect)


@in_loop
async def test_what_the_subscription_has_too_comes_over_the_stream_which_knows_the_attempt() -> None:
    server, attempts = StreamFirst(), dict[str, int]()

    async def note(message: AgentMessage) -> dict[str, Any]:
        attempts[message.id] = message.attempt
        return {}

    server.subscribed_at = 5
    older, newer = message("older"), message("newer")
    older.created_at.FromSeconds(4)
    newer.created_at.FromSeconds(6)
    server.inbox = [messages_pb2.InboxItem(message=m, channel_name="talk") for m in (newer, older)]
    agent = runtime(server, note)
    await agent.start()
    await server.until_said("ReplyMessage")
    again = delivery(1, newer)
    again.attempt = 2
    server.deliver(again)
    await server.until_said("ReplyMessage", 2)
    assert attempts == {"older": 1, "newer": 2}
    await agent.drain()


@in_loop
async def test_a_process_that_takes_over_from_one_that_left_makes_the_agent_active() -> None:
    server = FakeServer()
    server.status = agents_pb2.AGENT_STATUS_DRAINING
    agent = runtime(server, echo)
    await agent.start()
    await server.until_said("GetInbox")
    server.beat()
    await server.until_said("UpsertAgent", 2)
    server.beat()
    await server.until_said("Heartbeat", 2)
    server.beat()
    await server.until_said("Heartbeat", 3)
    assert len(server.said("UpsertAgent")) == 2, "another's wish that it drains is left alone"
    await agent.drain()


@in_loop
async def test_a_request_that_handlers_do_not_answer_is_marked_as_read_before_it_is_acknowledged() -> None:
    async def silent(message: AgentMessage) -> None: ...

    server = FakeServer()
    server.failing["UpdateMessage"] = [away(), refusal(MessageExpiredError, "FAILED_PRECONDITION", "MESSAGE_EXPIRED")]
    agent = runtime(server, silent)
    await agent.start()
    server.deliver(delivery(1))
    await server.until_acknowledged(1)
    names = [name for name, _ in server.told if name in ("UpdateMessage", "AcknowledgeDeliveries")]
    assert names == ["UpdateMessage", "UpdateMessage", "AcknowledgeDeliveries"]
    marked = {(request.message_id, request.status) for request in server.said("UpdateMessage")}
    assert marked == {("m1", messages_pb2.MESSAGE_STATUS_READ)}
    server.deliver(delivery(2, message("told", messages_pb2.MESSAGE_TYPE_NOTIFY)))
    await server.until_acknowledged(1, 2)
    assert len(server.said("UpdateMessage")) == 2
    await agent.drain()


@in_loop
async def test_what_is_not_for_handlers_is_acknowledged() -> None:
    server = FakeServer()
    agent = runtime(server, echo)
    await agent.start()
    event = subscriptions_pb2.SubscriptionDelivery(subscription_id="sub_1", number=1)
    response = message("r", messages_pb2.MESSAGE_TYPE_RESPONSE)
    server.deliver(event, delivery(2, response), delivery(3, message("own", sender="me")))
    await server.until_acknowledged(1, 2, 3)
    assert server.replies() == []
    await agent.drain()


@in_loop
async def test_what_a_handler_returns_for_a_notify_is_ignored() -> None:
    server = FakeServer()
    agent = runtime(server, echo)
    await agent.start()
    server.deliver(delivery(1, message("m", messages_pb2.MESSAGE_TYPE_NOTIFY)))
    await server.until_acknowledged(1)
    assert server.replies() == []
    await agent.drain()


@in_loop
async def test_the_first_result_answers_and_failures_are_reported() -> None:
    async def silent(message: AgentMessage) -> None: ...

    def fails(message: BlockingAgentMessage) -> None:
        raise KeyError("table")

    server = FakeServer()
    agent = runtime(server, silent, fails, echo)
    await agent.start()
    server.deliver(delivery(1))
    await server.until_acknowledged(1)
    assert server.replies() == [("m1", "sdk-reply-m1", {"error": {"type": "KeyError", "message": "'table'"}})]
    (reply,) = server.said("ReplyMessage")
    assert reply.metadata.fields["openintent_error"].bool_value
    await agent.drain()


class Odd(BaseException):
    """An error that no handler should raise."""


async def waits_for_what_was_cancelled(message: AgentMessage) -> None:
    other = asyncio.ensure_future(asyncio.Event().wait())
    other.cancel()
    await other


async def raises_oddly(message: AgentMessage) -> None:
    raise Odd("odd")


def stops(message: BlockingAgentMessage) -> None:
    next(iter(()))


@pytest.mark.parametrize(
    ("handler", "type"),
    [
        pytest.param(
            waits_for_what_was_cancelled, "CancelledError",
            marks=pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 cannot tell whose cancellation it is"),
        ),
        (raises_oddly, "Odd"),
        (stops, "RuntimeError"),
    ],
)
def test_failures_of_every_kind_are_reported(handler: Callable[..., Any], type: str) -> None:
    @in_loop
    async def told() -> None:
        server = FakeServer()
        agent = runtime(server, handler)
        await agent.start()
        server.deliver(delivery(1))
        await server.until_acknowledged(1)
        ((_, _, payload),) = server.replies()
        assert payload["error"]["type"] == type
        await agent.drain()

    told()


@in_loop
async def test_early_and_further_answers_have_keys_of_their_own() -> None:
    async def chatty(message: AgentMessage) -> dict[str, Any]:
        await message.reply({"n": 1})
        await message.reply({"n": 2})
        return {"n": 3}

    def blocking(message: BlockingAgentMessage) -> None:
        message.reply({"n": 4})

    server = FakeServer()
    agent = runtime(server, chatty, blocking)
    await agent.start()
    server.deliver(delivery(1))
    await server.until_acknowledged(1)
    keys = {key: payload["n"] for _, key, payload in server.replies()}
    assert keys == {"sdk-reply-m1-1": 1, "sdk-reply-m1-2": 2, "sdk-reply-m1": 3, "sdk-reply-m1-3": 4}
    await agent.drain()


@in_loop
async def test_an_early_answer_that_was_different_before_a_crash_is_dropped() -> None:
    async def early(message: AgentMessage) -> dict[str, Any]:
        assert await message.reply({"n": 2}) is None
        return {"n": 3}

    server = FakeServer()
    server.failing["ReplyMessage"] = [refusal(AlreadyExistsError, "ALREADY_EXISTS", "IDEMPOTENCY_KEY_REUSED")]
    agent = runtime(server, early)
    await agent.start()
    server.deliver(delivery(1))
    await server.until_acknowledged(1)
    assert server.replies()[-1] == ("m1", "sdk-reply-m1", {"n": 3})
    await agent.drain()


@in_loop
async def test_an_answer_is_stored_however_long_the_server_is_away() -> None:
    server = FakeServer()
    server.failing["ReplyMessage"] = [away() for _ in range(100)]
    agent = runtime(server, echo)
    await agent.start()
    server.deliver(delivery(1))
    await server.until_acknowledged(1)
    assert {key for _, key, _ in server.replies()} == {"sdk-reply-m1"}
    assert len(server.replies()) == 101
    await agent.drain()


@in_loop
async def test_requests_answered_already_or_too_late_are_done_with() -> None:
    server = FakeServer()
    server.failing["ReplyMessage"] = [
        refusal(AlreadyExistsError, "ALREADY_EXISTS", "IDEMPOTENCY_KEY_REUSED"),
        refusal(MessageExpiredError, "FAILED_PRECONDITION", "MESSAGE_EXPIRED"),
    ]
    agent = runtime(server, echo)
    await agent.start()
    server.deliver(delivery(1), delivery(2))
    await server.until_acknowledged(1, 2)
    assert len(server.replies()) == 2
    await agent.drain()


@in_loop
async def test_an_answer_that_is_too_large_becomes_a_failure() -> None:
    server = FakeServer()
    server.failing["ReplyMessage"] = [refusal(ResourceExhaustedError, "RESOURCE_EXHAUSTED", "PAYLOAD_TOO_LARGE")]
    agent = runtime(server, echo)
    await agent.start()
    server.deliver(delivery(1))
    await server.until_acknowledged(1)
    assert server.replies()[1][2]["error"]["type"] == "ResourceExhaustedError"
    await agent.drain()


@in_loop
async def test_work_is_bounded_and_begins_in_order() -> None:
    begun: list[str] = []
    gate = asyncio.Event()
    second = asyncio.Event()

    async def slow(message: AgentMessage) -> None:
        begun.append(message.id)
        if len(begun) == 2:
            second.set()
        await gate.wait()

    server = FakeServer()
    agent = runtime(server, slow, concurrency=2)
    await agent.start()
    server.deliver(*[delivery(n) for n in range(1, 6)])
    await second.wait()
    assert begun == ["m1", "m2"]
    gate.set()
    await server.until_acknowledged(1, 2, 3, 4, 5)
    assert begun == ["m1", "m2", "m3", "m4", "m5"]
    await agent.drain()


@in_loop
async def test_a_repetition_is_handled_once_and_a_lost_stream_is_opened_again() -> None:
    calls: list[str] = []
    gate = asyncio.Event()

    async def slow(message: AgentMessage) -> dict[str, Any]:
        calls.append(message.id)
        await gate.wait()
        return {}

    server = FakeServer()
    agent = runtime(server, slow)
    await agent.start()
    server.deliver(delivery(1), away("SERVER_STOPPING"))
    await server.until_said("StreamDeliveries", 2)
    server.deliver(delivery(1), delivery(2))
    gate.set()
    await server.until(lambda: {1, 2} <= set(server.acknowledged()))
    assert sorted(calls) == ["m1", "m2"]
    await agent.drain()


@in_loop
async def test_an_ended_subscription_is_created_again() -> None:
    server = FakeServer()
    agent = runtime(server, echo)
    await agent.start()
    server.deliver(refusal(FailedPreconditionError, "FAILED_PRECONDITION", "SUBSCRIPTION_ENDED"))
    await server.until_said("StreamDeliveries", 2)
    assert server.said("StreamDeliveries")[-1].subscription_id == "sub_2"
    assert len(server.said("UpsertAgent")) == 2
    await agent.drain()


@in_loop
async def test_an_agent_that_was_taken_for_dead_registers_again() -> None:
    server = FakeServer()
    agent = runtime(server, echo)
    await agent.start()
    server.failing["Heartbeat"] = [refusal(FailedPreconditionError, "FAILED_PRECONDITION", "AGENT_GONE")]
    server.beat()
    await server.until_said("UpsertAgent", 2)
    server.beat()
    await server.until_said("Heartbeat", 2)
    await agent.drain()


@in_loop
async def test_lost_rights_end_the_agent_with_their_error() -> None:
    server = FakeServer()
    agent = runtime(server, echo)
    await agent.start()
    server.deliver(refusal(PermissionDeniedError, "PERMISSION_DENIED"))
    with pytest.raises(PermissionDeniedError):
        await agent.until_left()
    await agent.drain()


@in_loop
async def test_leaving_lets_running_handlers_finish_and_takes_nothing_new() -> None:
    running, gate = asyncio.Event(), asyncio.Event()

    async def slow(message: AgentMessage) -> dict[str, Any]:
        running.set()
        await gate.wait()
        return {"done": True}

    server = FakeServer()
    agent = runtime(server, slow, concurrency=1)
    await agent.start()
    server.deliver(delivery(1), delivery(2))
    await running.wait()
    agent.leave(False)
    await agent.until_left()
    leaving = asyncio.ensure_future(agent.drain())
    await server.until_said("Heartbeat")
    assert server.said("Heartbeat")[0].status == agents_pb2.AGENT_STATUS_DRAINING
    gate.set()
    await leaving
    assert server.acknowledged() == [1]
    assert [id for id, _, _ in server.replies()] == ["m1"]


@in_loop
async def test_what_does_not_finish_in_time_is_left_for_the_next_start() -> None:
    running, cancelled = asyncio.Event(), asyncio.Event()

    async def endless(message: AgentMessage) -> None:
        running.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    server = FakeServer()
    agent = runtime(server, endless, drain_seconds=0)
    await agent.start()
    server.deliver(delivery(1))
    await running.wait()
    agent.leave(True)
    await agent.drain()
    assert cancelled.is_set()
    assert server.acknowledged() == []
    assert server.said("UpdateAgentStatus")[0].status == agents_pb2.AGENT_STATUS_DEREGISTERED

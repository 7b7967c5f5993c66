"""A mailbox receives beside the program, says what waits, and lets go of nothing before it is settled."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from openintent_channels import _methods as methods
from openintent_channels._generated import attention_pb2, claims_pb2, messages_pb2, subscriptions_pb2
from openintent_channels._rules import Rules
from openintent_channels._settings import Settings
from openintent_channels._structs import to_struct
from openintent_channels.async_client import AsyncOpenIntentClient
from openintent_channels.async_mailbox import AsyncMailbox
from openintent_channels.errors import (
    AlreadyExistsError,
    InvalidArgumentError,
    MessageTimeoutError,
    NotFoundError,
    OpenIntentError,
    PermissionDeniedError,
    UnauthenticatedError,
)
from unit.fake_server import FakeServer, delivery, in_loop, message
from unit.playing import away

CAUGHT_UP = subscriptions_pb2.SubscriptionDelivery(caught_up=True)
STANDS_BY = subscriptions_pb2.SubscriptionDelivery(standing_by=True)


class Post(FakeServer):
    """A server for a mailbox, which reads the messages that it was told of."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: dict[str, messages_pb2.Message] = {}
        self.response: messages_pb2.Message | None = None
        self.holds = ""
        """The name of a method that is not answered."""

    async def _answer(self, effect: Any) -> Any:
        answer = await super()._answer(effect)
        if effect.method.name == self.holds:
            await asyncio.Event().wait()
        if effect.method is methods.ASK and self.response is not None:
            return self.response
        if effect.method is methods.GET_MESSAGE:
            if effect.request.message_id not in self.messages:
                raise NotFoundError("gone", code="NOT_FOUND")
            return self.messages[effect.request.message_id]
        return answer


async def opened(server: Post, *what: Any, caught_up: Any = CAUGHT_UP, **options: Any) -> AsyncMailbox:
    rules = Rules(Settings("host:1", False, None, "me"), None, None)
    for one in (rules.calls, rules.conversation.calls):
        one.clock = server.clock
    said = {"channels": None, "attention": True, "max_chars": 4_000, **options}
    connection: Any = server
    mailbox = AsyncMailbox(connection, rules, "me", **said)
    await mailbox.open()
    await server.until_said("StreamDeliveries")
    server.deliver(*what, caught_up)
    return mailbox


async def ids(mailbox: AsyncMailbox, wait: float = 0) -> list[str]:
    return [one.id for one in (await mailbox.take(wait)).messages]


@in_loop
async def test_what_was_taken_is_acknowledged_when_it_is_settled() -> None:
    server = Post()
    async with await opened(server, delivery(1), delivery(2)) as mailbox:
        batch = await mailbox.take()
        assert [(one.id, one.channel, one.intent_id, one.sender) for one in batch.messages] == [
            ("m1", "talk", "i", "asker"), ("m2", "talk", "i", "asker"),
        ]
        assert server.acknowledged() == [] and mailbox.waiting == 0
        assert await ids(mailbox) == []
        await batch.settle(except_=["m2"])
        assert server.acknowledged() == [1]
        assert [list(told.message_ids) for told in server.said("MarkSurfaced")] == [["m1"]]
        assert [list(told.message_ids) for told in server.said("MarkInboxRead")] == [["m1"]]
        again = await mailbox.take()
        assert [(one.id, one.attempt) for one in again.messages] == [("m2", 2)]
        await again.settle()
        await batch.settle()
        assert server.acknowledged() == [1, 2]
        with pytest.raises(InvalidArgumentError, match="except_ must be a list of ids of messages"):
            await batch.settle(except_="m1")
    with pytest.raises(RuntimeError, match="the mailbox is closed"):
        await mailbox.open()


@in_loop
async def test_what_could_not_be_settled_stays_taken() -> None:
    server = Post()
    async with await opened(server, delivery(1)) as mailbox:
        batch = await mailbox.take()
        server.failing["MarkSurfaced"] = [away("STOPPING") for _ in range(100)]
        mailbox._mailing.rules.calls.patience = 0.0
        with pytest.raises(OpenIntentError):
            await batch.settle()
        assert await ids(mailbox) == [] and server.acknowledged() == []
        server.failing.clear()
        server.failing["AcknowledgeDeliveries"] = [UnauthenticatedError("who?", code="UNAUTHENTICATED")]
        with pytest.raises(UnauthenticatedError):
            await batch.settle()
        await batch.settle()
        assert server.acknowledged() == [1, 1]


@in_loop
async def test_taking_waits_for_what_comes() -> None:
    server = Post()
    async with await opened(server) as mailbox:
        taking = asyncio.ensure_future(mailbox.take(wait=60))
        await asyncio.sleep(0)
        server.deliver(delivery(1))
        assert [one.id for one in (await taking).messages] == ["m1"]


@in_loop
async def test_what_is_not_for_the_mailbox_is_passed_over() -> None:
    server = Post()
    own, elsewhere = message("own", sender="me"), delivery(2)
    elsewhere.channel_name = "hall"
    deleted = message("deleted")
    deleted.deleted_at.FromSeconds(1)
    event = subscriptions_pb2.SubscriptionDelivery(subscription_id="sub_1", number=4)
    what = (delivery(1, own), elsewhere, delivery(3, deleted), event, delivery(5))
    async with await opened(server, *what, channels=["talk"]) as mailbox:
        batch = await mailbox.take()
        assert [one.id for one in batch.messages] == ["m5"]
        await batch.settle()
        assert server.acknowledged() == [1, 2, 3, 4, 5]
        server.deliver(*[delivery(number, message(f"o{number}", sender="me")) for number in range(6, 106)])
        await server.until_acknowledged(*range(1, 106))


@in_loop
async def test_requests_of_the_inbox_come_too_and_once() -> None:
    server = Post()
    server.inbox = [messages_pb2.InboxItem(message=message("m0"), intent_id="i", channel_name="talk")]
    server.inbox.append(messages_pb2.InboxItem(message=message("m1"), intent_id="i", channel_name="talk"))
    async with await opened(server, delivery(1)) as mailbox:
        batch = await mailbox.take()
        assert sorted(one.id for one in batch.messages) == ["m0", "m1"]
        await batch.settle()
        assert server.acknowledged() == [1]
        server.deliver(delivery(2, message("m0")))  # its delivery was on its way
        server.deliver(delivery(3))
        assert await ids(mailbox, 60) == ["m3"]


@in_loop
async def test_a_lost_stream_is_followed_by_another_and_nothing_is_shown_twice() -> None:
    server = Post()
    async with await opened(server, delivery(1), delivery(2)) as mailbox:
        batch = await mailbox.take()
        await batch.settle(except_=["m2"])
        taken = await mailbox.take()
        server.deliver(away("STOPPING"))
        await server.until_said("StreamDeliveries", 2)
        server.deliver(delivery(1), delivery(2), delivery(3), CAUGHT_UP)
        assert await ids(mailbox, 60) == ["m3"]
        await taken.settle()
        assert sorted(server.acknowledged()) == [1, 1, 2]


@in_loop
async def test_an_ended_subscription_is_replaced() -> None:
    server = Post()
    async with await opened(server) as mailbox:
        server.deliver(NotFoundError("gone", code="NOT_FOUND", reason="SUBSCRIPTION_NOT_FOUND"))
        await server.until_said("StreamDeliveries", 2)
        assert [told.subscription_id for told in server.said("StreamDeliveries")] == ["sub_1", "sub_2"]
        server.deliver(delivery(1), CAUGHT_UP)
        assert await ids(mailbox, 60) == ["m1"]


@in_loop
async def test_what_ends_the_mailbox_is_told_to_who_takes() -> None:
    server = Post()
    async with await opened(server) as mailbox:
        taking = asyncio.ensure_future(mailbox.take(wait=60))
        await asyncio.sleep(0)
        server.deliver(PermissionDeniedError("no more", code="PERMISSION_DENIED"))
        with pytest.raises(PermissionDeniedError):
            await taking
        with pytest.raises(PermissionDeniedError):
            await mailbox.take()


@in_loop
async def test_a_process_that_stands_by_has_nothing_and_takes_over() -> None:
    server = Post()
    async with await opened(server, caught_up=STANDS_BY) as mailbox:
        assert await ids(mailbox) == [] and server.said("GetInbox") == []
        server.deliver(delivery(1), CAUGHT_UP)
        assert await ids(mailbox, 60) == ["m1"]
        server.deliver(delivery(2), delivery(3))
        while mailbox.waiting < 2:
            await asyncio.sleep(0)
        server.deliver(STANDS_BY)
        while mailbox.waiting:
            await asyncio.sleep(0)
        assert await ids(mailbox) == []


@in_loop
async def test_a_callback_is_called_when_something_came(caplog: pytest.LogCaptureFixture) -> None:
    server = Post()
    async with await opened(server, delivery(1)) as mailbox:
        await mailbox._receiving.ready.wait(60)
        calls = list[str]()
        end = mailbox.wake(lambda: calls.append("called"))
        assert calls == ["called"], "something waits"

        def fails() -> None:
            raise LookupError("the callback's own")

        with caplog.at_level(logging.ERROR):
            mailbox.wake(fails)
        assert "mailbox of me: a callback failed" in caplog.text
        server.deliver(delivery(2))
        while mailbox.waiting < 2:
            await asyncio.sleep(0)
        assert calls == ["called"] * 2
        end()
        end()
        server.deliver(delivery(3))
        while mailbox.waiting < 3:
            await asyncio.sleep(0)
        assert calls == ["called"] * 2


@in_loop
async def test_a_probe_is_confirmed() -> None:
    server = Post()
    async with await opened(server):
        server.deliver(subscriptions_pb2.SubscriptionDelivery(probe_id="p"))
        await server.until_said("ConfirmProbe")
        assert server.said("ConfirmProbe")[0].probe_id == "p"


@in_loop
async def test_what_has_waited_for_long_is_read_again() -> None:
    server = Post()
    edited, deleted = message("m1", text="new"), message("m2")
    deleted.deleted_at.FromSeconds(1)
    server.messages = {"m1": edited, "m2": deleted}
    late = delivery(4)
    late.attention.CopyFrom(attention_pb2.Attention(deadline_ms=5_000))
    async with await opened(server, delivery(1), delivery(2), delivery(3), late) as mailbox:
        while mailbox.waiting < 4:
            await asyncio.sleep(0)
        server.now = 11.0
        server.messages["m4"] = message("m4")
        batch = await mailbox.take()
        read = [(one.id, one.message.payload, one.message.position) for one in batch.messages]
        assert read == [("m1", {"text": "new"}, 1)]
        await batch.settle()
        assert server.acknowledged() == [1, 2, 3, 4]


def to_a_role(number: int) -> subscriptions_pb2.SubscriptionDelivery:
    wire = message(f"m{number}")
    wire.to = "role:desk"
    wire.collect.string_value = "one"
    return delivery(number, wire)


@in_loop
async def test_what_others_hold_is_not_shown_until_it_is_free() -> None:
    server = Post()
    held = AlreadyExistsError("held", code="ALREADY_EXISTS", reason="CLAIMED")
    over = OpenIntentError("answered", code="FAILED_PRECONDITION", reason="ANSWERED")
    server.failing["ClaimMessage"] = [held, over]
    async with await opened(server, to_a_role(1), to_a_role(2), to_a_role(3)) as mailbox:
        assert await ids(mailbox) == ["m3"]
        assert [told.idempotency_key for told in server.said("ClaimMessage")] == [f"mailbox-claim-m{n}" for n in (1, 2, 3)]
        assert await ids(mailbox) == []
        server.now = 1.0
        assert await ids(mailbox) == ["m1"]
    assert sorted(told.message_id for told in server.said("ReleaseClaim")) == ["m1", "m3"]
    assert server.acknowledged() == [2]


@in_loop
async def test_a_take_that_is_cut_short_takes_nothing() -> None:
    server = Post()
    async with await opened(server, delivery(1), to_a_role(2)) as mailbox:
        server.holds = "ClaimMessage"
        taking = asyncio.ensure_future(mailbox.take())
        await server.until_said("ClaimMessage")
        taking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await taking
        server.holds = ""
        assert await ids(mailbox) == ["m1", "m2"]


@in_loop
async def test_a_claim_is_renewed_until_it_is_lost() -> None:
    server = Post()
    async with await opened(server, to_a_role(1)) as mailbox:
        server.failing["ClaimMessage"] = []
        batch = await mailbox.take()
        assert len(batch.messages) == 1
        keeping: Any = mailbox._keeping
        naps = asyncio.Queue[float]()

        async def goes_on_after(seconds: float) -> bool:
            await naps.put(seconds)
            return naps.qsize() < 3

        mailbox._mailing.claims["m1"].asked = -30.0
        keeping.goes_on_after = goes_on_after
        await mailbox._renew()
        assert server.said("ClaimMessage")[-1].HasField("fence")
        server.failing["ClaimMessage"] = [NotFoundError("lost", code="NOT_FOUND", reason="CLAIM_LOST")]
        mailbox._mailing.claims["m1"].asked = -30.0
        naps = asyncio.Queue()
        await mailbox._renew()
        assert mailbox._mailing.claims == {}
        assert await mailbox.claim("m1") == claims_pb2.Claim().fence


@in_loop
async def test_the_response_to_its_own_question_does_not_come_too() -> None:
    server = Post()
    async with await opened(server, delivery(1)) as mailbox:
        await mailbox.take()
        answer = message("r1", messages_pb2.MESSAGE_TYPE_RESPONSE, "bob", text="yes")
        answer.correlation_id = "q1"
        server.response = answer
        response = await mailbox.ask("talk", "bob", {"text": "Is it?"})
        assert response.payload == {"text": "yes"}
        server.deliver(delivery(2, answer), delivery(3))
        assert await ids(mailbox, 60) == ["m3"]


@in_loop
async def test_the_tools_say_what_came_of_it() -> None:
    server = Post()
    server.messages = {"m1": message("m1", text="Is it?"), "m9": message("m9")}
    server.messages["m9"].deleted_at.FromSeconds(1)
    mailbox = await opened(server)
    tools = {tool.__name__: tool for tool in mailbox.tools()}
    assert list(tools) == ["answer", "decline", "send", "ask", "react", "claim", "defer", "read"]
    assert all(tool.__doc__ and "str" in str(tool.__annotations__["return"]) for tool in tools.values())
    assert await tools["answer"]("m1", "yes") == "Your answer is stored."
    assert await tools["decline"]("m1", "no time") == "Your no is stored."
    assert (await tools["send"]("chan_1", "Hello", "bob")).startswith("Sent as ")
    assert (await tools["send"]("nowhere", "Hello")).startswith("Refused: channel 'nowhere' names no channel")
    assert await tools["react"]("m1", "seen") == "Your reaction to m1 is stored."
    assert await tools["claim"]("m1") == "You hold m1 until you have answered or declined it."
    assert await tools["defer"]("m1", "lunch", "2030-01-31T13:00:00Z") == "The sender of m1 knows that you will do it later."
    assert server.said("SetDisposition")[0].until.seconds == 1_896_094_800
    assert (await tools["defer"]("m1", "", "soon")).startswith("Refused: until must be a time")
    assert '"text":"Is it?"' in await tools["read"]("m1")
    assert (await tools["read"]("m1", "x")).startswith("Refused: cursor must be the number")
    assert await tools["read"]("m9") == "Refused: the message m9 was deleted"
    for name, given in {"answer": ("m0", "x"), "decline": ("m0",), "react": ("m0", "seen"), "claim": ("m0",)}.items():
        assert (await tools[name](*given)) == "Refused: gone"
    assert await tools["defer"]("m0") == "Refused: gone"
    server.failing["Ask"] = [MessageTimeoutError("late", code="DEADLINE_EXCEEDED", metadata={"message_id": "q1"})]
    said = await tools["ask"]("chan_1", "bob", "Is it?", 1)
    assert said == "Nobody has answered q1 in time. An answer that comes later comes as a message."
    assert (await tools["ask"]("nowhere", "bob", "Is it?")).startswith("Refused: ")
    await mailbox.close()


@in_loop
async def test_the_tools_say_what_was_answered_before() -> None:
    server = Post()
    server.messages = {"m1": message("m1", text="Is it?")}
    mailbox = await opened(server)
    tools = {tool.__name__: tool for tool in mailbox.tools()}
    first = messages_pb2.Message(id="a", sender="me", payload=to_struct({"text": "yes"}), metadata=to_struct({}))

    class Answered(Post):
        async def _answer(self, effect: Any) -> Any:
            if effect.method is methods.LIST_MESSAGES:
                return messages_pb2.ListMessagesResponse(messages=[first])
            return await super()._answer(effect)

    server.__class__ = Answered
    assert await tools["answer"]("m1", "no") == "You have answered: yes"
    assert await tools["decline"]("m1", "no") == "You have answered: yes"
    await mailbox.close()


@in_loop
async def test_a_client_that_acts_as_another_gets_a_connection_for_its_mailbox() -> None:
    async with AsyncOpenIntentClient("127.0.0.1:1", agent_id="me") as client:
        same, other = client.mailbox("me"), client.mailbox("you")
        assert same._connection is client._connection
        assert ("x-agent-id", "you") in other._connection._metadata
        assert other._mailing.rules.calls.sender == "you"
        await same.close()
        await other.close()
        with pytest.raises(InvalidArgumentError, match="agent is empty"):
            client.mailbox("")
        with pytest.raises(InvalidArgumentError, match="max_chars"):
            client.mailbox("me", max_chars=100)

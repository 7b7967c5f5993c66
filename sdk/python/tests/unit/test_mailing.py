"""An agent answers a message once, whatever it says the second time, and a mailbox has one subscription of its own."""

from __future__ import annotations

from typing import Any

import pytest

from openintent_channels._conversation import Held
from openintent_channels._generated import (
    attention_pb2,
    channels_pb2,
    claims_pb2,
    messages_pb2,
    reactions_pb2,
    subscriptions_pb2,
)
from openintent_channels._mailing import Mailing, channels_of, checked_chars
from openintent_channels._rules import Rules
from openintent_channels._settings import Settings
from openintent_channels._structs import from_struct, to_struct
from openintent_channels.errors import (
    AlreadyExistsError,
    AnsweredError,
    ClaimedError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    UnavailableError,
)
from unit.letters import message
from unit.playing import Player, away

REUSED = AlreadyExistsError("used", code="ALREADY_EXISTS", reason="IDEMPOTENCY_KEY_REUSED")
TAKEN = AlreadyExistsError("taken", code="ALREADY_EXISTS", reason="SUBSCRIPTION_NAME_TAKEN")
QUESTION = message(id="q", message_type="request", to="me")
TOLD = message(id="t")


def mailing(player: Player, channels: Any = None, intent_id: str | None = None) -> Mailing:
    rules = Rules(Settings("host:1", False, None, "me"), None, None)
    calls = player.calls(sender="me", intent_id=intent_id)
    for one in (rules.messages, rules.conversation, rules.channels):
        one.calls = calls
    rules.calls = calls
    return Mailing(rules, "me", channels_of(channels))


def said(text: str, sender: str = "me", **fields: Any) -> messages_pb2.Message:
    metadata = to_struct(fields.pop("metadata", {}))
    payload = to_struct({"text": text})
    return messages_pb2.Message(id=f"a-{text}", sender=sender, payload=payload, metadata=metadata, **fields)


def page(*messages: messages_pb2.Message, **fields: Any) -> messages_pb2.ListMessagesResponse:
    return messages_pb2.ListMessagesResponse(messages=messages, **fields)


def asked(player: Player) -> list[str]:
    return [effect.method.name for effect in player.invoked]


def test_an_answer_has_a_key_of_its_message_alone() -> None:
    player = Player.of(page(), said("yes"))
    answered = player.play(mailing(player).answer(QUESTION, {"text": "yes"}, False))
    assert answered.stored and answered.message.payload == {"text": "yes"}
    listed, replied = (effect.request for effect in player.invoked)
    assert (listed.channel_id, listed.since, listed.correlation_id) == ("chan_1", "q", "q")
    assert (replied.message_id, replied.idempotency_key, replied.HasField("fence")) == ("q", "mailbox-answer-q", False)


def test_an_answer_that_is_there_stands() -> None:
    player = Player.of(page(said("somebody else", "bob"), said("first"), said("second")))
    answered = player.play(mailing(player).answer(QUESTION, {"text": "third"}, False))
    assert (answered.stored, answered.message.payload) == (False, {"text": "first"})
    assert asked(player) == ["ListMessages"]


def test_the_answers_are_looked_at_to_the_end() -> None:
    player = Player.of(
        page(next_since="x", bounded=True),  # it has looked at many messages
        page(said("long", "bob"), next_since="y"),  # it has ended early, because its texts are long
        page(said("first")),
    )
    assert player.play(mailing(player).standing(QUESTION)).payload == {"text": "first"}
    assert asked(player) == ["ListMessages"] * 3
    assert player.invoked[-1].request.since == "y"


@pytest.mark.parametrize("refusal", [REUSED, AnsweredError("answered", code="FAILED_PRECONDITION", reason="ANSWERED")])
def test_an_answer_that_another_process_has_stored_meanwhile_stands(refusal: Exception) -> None:
    player = Player.of(page(), refusal, page(said("first")))
    answered = player.play(mailing(player).answer(QUESTION, {"text": "other"}, False))
    assert (answered.stored, answered.message.payload) == (False, {"text": "first"})
    player = Player.of(page(), refusal, page())
    with pytest.raises(type(refusal)):
        player.play(mailing(player).answer(QUESTION, {"text": "other"}, False))


def test_what_is_no_request_is_answered_by_a_message_below_it() -> None:
    player = Player.of(page(said("plain", metadata={"openintent_answer": "another"})), page(), said("thanks"))
    assert player.play(mailing(player).answer(TOLD, {"text": "thanks"}, False)).stored
    listed, _, sent = (effect.request for effect in player.invoked)
    assert (listed.thread_id, listed.HasField("correlation_id")) == ("t", False)
    assert (sent.to, sent.parent_id, sent.idempotency_key) == ("bob", "t", "mailbox-answer-t")
    assert from_struct(sent.metadata) == {"openintent_answer": "t"}
    player = Player.of(page(said("thanks", metadata={"openintent_answer": "t"})))
    assert not player.play(mailing(player).answer(TOLD, {"text": "thank you"}, False)).stored
    player = Player.of(page())
    player.play(mailing(player).standing(message(id="t", thread_id="root")))
    assert player.invoked[0].request.thread_id == "root"


def test_an_answer_under_a_claim_carries_its_fence() -> None:
    player = Player.of(page(), claims_pb2.Claim(fence=7), said("yes"))
    mine = mailing(player)
    assert player.play(mine.answer(QUESTION, {}, True)).stored
    claimed, replied = player.invoked[1].request, player.invoked[2].request
    assert (claimed.idempotency_key, claimed.HasField("fence"), replied.fence) == ("mailbox-claim-q", False, 7)
    assert mine.claims == {}, "the answer has ended it"
    player = Player.of(page(), said("yes"))
    mine = mailing(player)
    mine.claims["q"] = Held("chan_1", "q", 9, 90, 0.0, QUESTION.created_at)
    player.play(mine.answer(QUESTION, {}, True))
    assert player.invoked[1].request.fence == 9, "the claim that is held serves"


def test_an_answer_that_needs_no_claim_gives_one_back() -> None:
    player = Player.of(page(), said("yes"), away("STOPPING"), *[away("STOPPING")] * 100)
    mine = mailing(player)
    mine.claims["q"] = Held("chan_1", "q", 9, 90, 0.0, QUESTION.created_at)
    assert player.play(mine.answer(QUESTION, {}, False)).stored
    assert mine.claims == {} and "ReleaseClaim" in asked(player)


def test_what_others_hold_is_not_answered() -> None:
    player = Player.of(page(), ClaimedError("held", code="ALREADY_EXISTS", reason="CLAIMED"))
    with pytest.raises(ClaimedError):
        player.play(mailing(player).answer(QUESTION, {}, True))


def test_the_first_no_stands_and_gives_the_claim_back() -> None:
    reactions = reactions_pb2.ListReactionsResponse
    other = reactions_pb2.Reaction(agent_id="bob", signal="declined", note="his")
    seen = reactions_pb2.Reaction(agent_id="me", signal="seen")
    player = Player.of(page(), reactions(reactions=[other, seen]), reactions(), claims_pb2.Claim())
    mine = mailing(player)
    mine.claims["q"] = Held("chan_1", "q", 9, 90, 0.0, QUESTION.created_at)
    declined = player.play(mine.decline(QUESTION, "no time"))
    assert (declined.stored, declined.message, declined.declined) == (True, None, "no time")
    assert asked(player) == ["ListMessages", "ListReactions", "AddReaction", "ReleaseClaim"]
    mine_too = reactions_pb2.Reaction(agent_id="me", signal="declined", note="no time")
    player = Player.of(page(), reactions(reactions=[mine_too]))
    declined = player.play(mailing(player).decline(QUESTION, "never"))
    assert (declined.stored, declined.declined) == (False, "no time")
    player = Player.of(page(said("yes")))
    declined = player.play(mailing(player).decline(QUESTION, "never"))
    assert (declined.stored, declined.declined, declined.message.payload) == (False, None, {"text": "yes"})


def test_messages_are_marked_in_halves_when_one_of_them_is_gone() -> None:
    gone, marked = NotFoundError("gone", code="NOT_FOUND"), attention_pb2.MarkSurfacedResponse()
    player = Player.of(gone, marked, gone, gone, marked, messages_pb2.MarkInboxReadResponse())
    player.play(mailing(player).seen(["a", "b", "c", "d"], ["d"]))
    pages = [list(effect.request.message_ids) for effect in player.invoked]
    assert pages == [["a", "b", "c", "d"], ["a", "b"], ["c", "d"], ["c"], ["d"], ["d"]]
    player = Player.of()
    player.play(mailing(player).seen([], []))
    player = Player.of(*[away()] * 100)
    with pytest.raises(UnavailableError):
        player.play(mailing(player).seen(["a"], []))


def test_a_delivery_that_comes_again_does_not_keep_others_from_being_acknowledged() -> None:
    again = FailedPreconditionError("again", code="ABORTED", reason="DELIVERY_COMES_AGAIN", metadata={"number": "2"})
    player = Player.of(again, subscriptions_pb2.Subscription())
    player.play(mailing(player).acknowledge("s", [1, 2, 3]))
    assert [list(effect.request.numbers) for effect in player.invoked] == [[1, 2, 3], [1, 3]]
    player = Player.of(InvalidArgumentError("no", code="INVALID_ARGUMENT", reason="NOT_DELIVERED"))
    player.play(mailing(player).acknowledge("s", [1]))
    player = Player.of(again)
    player.play(mailing(player).acknowledge("s", [2]))
    several = FailedPreconditionError("again", code="ABORTED", reason="DELIVERY_COMES_AGAIN")
    several.metadata = {"number": "2", "through": "4"}
    player = Player.of(several, subscriptions_pb2.Subscription())
    player.play(mailing(player).acknowledge("s", [1, 2, 3, 4, 5]))
    assert list(player.invoked[1].request.numbers) == [1, 5]


def test_the_subscription_is_one_of_its_own() -> None:
    player = Player.of(subscriptions_pb2.Subscription(id="s"))
    assert player.play(mailing(player).subscribe()) == "s"
    made = player.invoked[0].request
    assert (made.name, made.subscriber_id, list(made.include)) == ("mailbox", "me", ["attention"])
    assert (made.acknowledge_seconds, made.max_attempts) == (3_600, 100)
    names = [mailing(player, channels).name for channels in (["a", "b"], ["b", "a"], ["a"])]
    assert names[0] == names[1] != names[2]
    assert names[0] == "mailbox-7e18f737311b2dc3"


def test_what_the_server_has_put_aside_is_delivered_again() -> None:
    there = subscriptions_pb2.Subscription(id="s", name="mailbox", active=True, dead_letter_count=2)
    other = subscriptions_pb2.Subscription(id="o", name="sdk", active=True)
    first = subscriptions_pb2.ListSubscriptionsResponse(subscriptions=[other], next_cursor="c")
    player = Player.of(TAKEN, first, subscriptions_pb2.ListSubscriptionsResponse(subscriptions=[there]), there)
    assert player.play(mailing(player).subscribe()) == "s"
    assert asked(player)[-1] == "RedriveDeadLetters"


def test_a_subscription_that_has_ended_is_replaced() -> None:
    ended = subscriptions_pb2.Subscription(id="e", name="mailbox")
    listed = subscriptions_pb2.ListSubscriptionsResponse(subscriptions=[ended])
    gone = NotFoundError("gone", code="NOT_FOUND")
    player = Player.of(TAKEN, listed, gone, subscriptions_pb2.Subscription(id="s"))
    assert player.play(mailing(player).subscribe()) == "s"


def test_the_inbox_has_requests_that_nobody_has_read() -> None:
    def item(name: str, kind: str, read: bool = False) -> messages_pb2.InboxItem:
        number: Any = messages_pb2.MessageType.Value(f"MESSAGE_TYPE_{kind}")
        return messages_pb2.InboxItem(message=messages_pb2.Message(id=name, message_type=number), read=read)

    items = [item("a", "REQUEST"), item("b", "NOTIFY"), item("c", "REQUEST", True)]
    player = Player.of(messages_pb2.Inbox(items=items, next_cursor="x"), messages_pb2.Inbox(items=[item("d", "REQUEST")]))
    assert [one.message.id for one in player.play(mailing(player).waiting_requests())] == ["a", "d"]
    assert [effect.request.cursor for effect in player.invoked] == ["x", "x"]


def test_a_channel_is_named_by_its_id_or_its_name() -> None:
    talk = channels_pb2.Channel(id="chan_2", name="talk", status=channels_pb2.CHANNEL_STATUS_OPEN)
    closed = channels_pb2.Channel(id="chan_1", name="talk", status=channels_pb2.CHANNEL_STATUS_CLOSED)
    player = Player.of(channels_pb2.ListChannelsResponse(channels=[closed, talk]))
    mine = mailing(player, intent_id="i")
    assert player.play(mine.channel_id("chan_9", {})) == "chan_9"
    assert player.play(mine.channel_id("desk", {"desk": "chan_3"})) == "chan_3"
    assert player.play(mine.channel_id("talk", {})) == "chan_2"
    with pytest.raises(InvalidArgumentError, match="'nowhere' names no channel that is known here; give a channel's id"):
        player.play(mailing(player).channel_id("nowhere", {}))


@pytest.mark.parametrize("wrong", ["desk", [], [""], [1]])
def test_channels_are_a_list_of_names(wrong: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="channels must be a list of one or more names or ids of channels"):
        channels_of(wrong)


@pytest.mark.parametrize("wrong", [1_999, True, 4e3])
def test_the_room_has_a_least_size(wrong: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="max_chars must be a whole number of 2000 or more"):
        checked_chars(wrong)


def test_a_mailbox_takes_messages_of_its_channels() -> None:
    player = Player.of()
    assert mailing(player).takes("chan_1", "desk")
    some = mailing(player, ["desk", "chan_2"])
    assert some.takes("chan_1", "desk") and some.takes("chan_2", "hall") and not some.takes("chan_3", "hall")

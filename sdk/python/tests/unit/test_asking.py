"""A question is one message, however often it is asked; its wait ends as it should."""

from typing import Any

import pytest

from openintent_channels._asking import GRACE, Asking
from openintent_channels._generated import channels_pb2, messages_pb2
from openintent_channels._structs import to_struct
from openintent_channels._tracing import Tracing
from openintent_channels.errors import (
    ChannelClosedError,
    DeclinedError,
    MessageDeletedError,
    MessageTimeoutError,
    PayloadError,
    PermissionDeniedError,
    RemoteError,
    RemotePayloadError,
    UnavailableError,
)
from unit.playing import Player, away


def response(payload: dict[str, Any], id: str = "msg_2", **metadata: Any) -> messages_pb2.Message:
    return messages_pb2.Message(
        id=id, channel_id="c", sender="b", message_type=messages_pb2.MESSAGE_TYPE_RESPONSE, correlation_id="msg_1",
        payload=to_struct(payload), metadata=to_struct(metadata),
    )


def responses(*ids: str) -> messages_pb2.AwaitResponsesResponse:
    return messages_pb2.AwaitResponsesResponse(responses=[response({"n": id}, id) for id in ids])


def asking(player: Player) -> Asking:
    return Asking(player.calls(), Tracing())


def ask(player: Player, timeout: float = 30.0) -> Any:
    return player.play(asking(player).ask("c", "b", {"q": 1}, timeout, None, None, None))


def iterate(player: Player, timeout: float = 30.0, min_responses: int | None = None, **options: Any) -> list[str]:
    player.play(asking(player).ask_all_iter("c", "b", {"q": 1}, timeout, min_responses, None, None, None, options))
    return [message.id for message in player.emitted]


def test_every_attempt_carries_the_same_key_and_question() -> None:
    player = Player.of(away(), away("SERVER_STOPPING"), response({"a": 1}))
    assert ask(player).payload == {"a": 1}
    first, second, third = (invoked.request for invoked in player.invoked)
    assert first == second == third
    assert first.idempotency_key == "key-0"
    assert first.timeout_seconds == 30
    assert [invoked.timeout for invoked in player.invoked] == pytest.approx([30 + GRACE, 29.9 + GRACE, 29.7 + GRACE])


def test_two_questions_have_two_keys() -> None:
    player = Player.of(response({}), response({}))
    rules = asking(player)
    for _ in range(2):
        player.play(rules.ask("c", "b", {}, 30, None, None, None))
    assert [invoked.request.idempotency_key for invoked in player.invoked] == ["key-0", "key-1"]


def test_a_server_that_stays_away_is_no_timeout_of_the_question() -> None:
    player = Player.of(*[away()] * 50)
    with pytest.raises(UnavailableError, match="127.0.0.1:50051 did not answer within 2 s: away") as raised:
        ask(player, timeout=2)
    assert (raised.value.code, raised.value.message_id) == ("UNAVAILABLE", None)
    assert player.now < 2


def test_the_error_names_the_question_that_the_server_stored_before_it_went_away() -> None:
    player = Player.of(away("SERVER_STOPPING", metadata={"message_id": "msg_1"}), *[away()] * 50)
    with pytest.raises(UnavailableError) as raised:
        ask(player, timeout=2)
    assert raised.value.message_id == "msg_1"


def test_a_wait_that_the_server_says_ran_out_is_a_timeout() -> None:
    late = MessageTimeoutError("late", code="DEADLINE_EXCEEDED", reason="MESSAGE_TIMEOUT")
    player = Player.of(away("SERVER_STOPPING", metadata={"message_id": "msg_1"}), late)
    with pytest.raises(MessageTimeoutError) as raised:
        ask(player)
    assert raised.value is late
    assert late.message_id == "msg_1"


def test_a_resumed_question_that_cannot_be_waited_for_is_named() -> None:
    for outcomes in [away()] * 50, [responses(), *[away()] * 50]:
        player = Player.of(*outcomes)
        with pytest.raises(UnavailableError, match="127.0.0.1:50051 did not answer") as raised:
            player.play(asking(player).resume("c", "msg_1", 2))
        assert raised.value.message_id == "msg_1"
        assert player.now < 2 + GRACE


def test_a_refusal_is_not_asked_again() -> None:
    player = Player.of(PermissionDeniedError("no", code="PERMISSION_DENIED", metadata={"message_id": "msg_1"}))
    with pytest.raises(PermissionDeniedError) as raised:
        ask(player)
    assert raised.value.message_id == "msg_1"
    assert player.pauses == []


def test_a_handlers_failure_is_raised() -> None:
    told = {"error": {"type": "ValueError", "message": "no such table"}}
    player = Player.of(response(told, openintent_error=True))
    with pytest.raises(RemoteError) as raised:
        ask(player)
    error = raised.value
    assert (error.message, error.type, error.reason, error.code) == (
        "no such table", "ValueError", "HANDLER_FAILED", "UNKNOWN",
    )
    assert error.message_id == "msg_1"
    assert error.response.is_error


def test_a_payload_that_the_asked_agent_found_unfit_is_an_error_of_its_own() -> None:
    told = {"error": {"type": "PayloadError", "message": "payload.table is missing (message msg_1 from asker)"}}
    with pytest.raises(RemotePayloadError) as raised:
        ask(Player.of(response(told, openintent_error=True)))
    error = raised.value
    assert isinstance(error, RemoteError)
    assert isinstance(error, PayloadError)
    assert (error.agent, error.type, error.reason, error.message_id) == (
        error.response.sender, "PayloadError", "HANDLER_FAILED", "msg_1",
    )
    assert error.message.startswith("payload.table is missing")


def test_an_answer_that_only_looks_like_a_failure_is_an_answer() -> None:
    told = {"error": {"type": "ValueError", "message": "data"}}
    assert ask(Player.of(response(told))).payload == told


def test_responses_are_emitted_as_they_come() -> None:
    player = Player.of(responses("r1"), responses("r1", "r2", "r3"), responses("r1", "r2", "r3"))
    assert iterate(player) == ["r1", "r2", "r3"]
    first, *more = (invoked.request for invoked in player.invoked)
    assert first.min_responses == 1
    assert [(m.message_id, m.min_responses) for m in more] == [("msg_1", 2), ("msg_1", 4)]


def test_enough_responses_end_the_iteration() -> None:
    player = Player.of(responses("r1"), responses("r1", "r2", "r3"))
    assert iterate(player, min_responses=2) == ["r1", "r2"]


@pytest.mark.parametrize(
    ("collect", "least", "ids"),
    [("one", None, ["r1"]), ({"quorum": 2}, None, ["r1", "r2"]), ({"quorum": 2}, 1, ["r1"])],
)
def test_the_exact_number_of_responses_ends_the_iteration(collect: Any, least: int | None, ids: list[str]) -> None:
    assert iterate(Player.of(responses("r1", "r2")), min_responses=least, collect=collect) == ids


def test_no_response_is_an_empty_iteration() -> None:
    assert iterate(Player.of(responses())) == []


def test_an_iteration_goes_on_after_a_lost_connection() -> None:
    player = Player.of(away(), responses("r1"), away(), responses("r1", "r2"))
    assert iterate(player, min_responses=2) == ["r1", "r2"]
    keys = {i.request.idempotency_key for i in player.invoked if hasattr(i.request, "idempotency_key")}
    assert keys == {"key-0"}


def test_waiting_on_takes_only_the_time_that_is_left() -> None:
    player = Player(iter([]))
    player.outcomes = iter([player.takes(4, responses("r1")), responses("r1")])
    iterate(player, timeout=10)
    assert player.invoked[1].request.wait_seconds == 6


def test_a_resumed_question_returns_its_answer() -> None:
    player = Player.of(away(), responses("r1"))
    assert player.play(asking(player).resume("c", "msg_1", 30)).id == "r1"


@pytest.mark.parametrize(
    ("status", "kind"),
    [(channels_pb2.CHANNEL_STATUS_OPEN, MessageTimeoutError), (channels_pb2.CHANNEL_STATUS_CLOSED, ChannelClosedError)],
)
def test_a_resumed_question_without_answer(status: channels_pb2.ChannelStatus, kind: type[Exception]) -> None:
    player = Player.of(responses(), channels_pb2.Channel(status=status))
    with pytest.raises(kind) as raised:
        player.play(asking(player).resume("c", "msg_1", 30))
    assert raised.value.message_id == "msg_1"  # type: ignore[attr-defined]


@pytest.mark.parametrize(("said", "note"), [("I only write", "I only write"), ("", None)])
def test_a_resumed_question_that_was_declined(said: str, note: str | None) -> None:
    no = messages_pb2.AwaitResponsesResponse(cause="DECLINED", explanation="b has declined.", note=said or None)
    player = Player.of(no)
    with pytest.raises(DeclinedError, match="b has declined") as raised:
        player.play(asking(player).resume("c", "msg_1", 30))
    error = raised.value
    assert (error.code, error.reason, error.message_id, error.note) == ("FAILED_PRECONDITION", "DECLINED", "msg_1", note)
    assert player.invoked[0].request.explain


def test_a_resumed_question_that_was_withdrawn() -> None:
    player = Player.of(messages_pb2.AwaitResponsesResponse(cause="WITHDRAWN", explanation="It was withdrawn."))
    with pytest.raises(MessageDeletedError, match="It was withdrawn") as raised:
        player.play(asking(player).resume("c", "msg_1", 30))
    assert (raised.value.reason, raised.value.message_id) == ("MESSAGE_DELETED", "msg_1")


def test_a_no_does_not_end_a_wait_for_several() -> None:
    player = Player.of(responses("r1"), responses("r1"))
    assert iterate(player) == ["r1"]
    assert not player.invoked[1].request.explain


def test_a_resumed_question_is_waited_for_longer_than_one_call_may_take() -> None:
    player = Player(iter([]))
    player.outcomes = iter([player.takes(600, responses()), responses("r1")])
    assert player.play(asking(player).resume("c", "msg_1", 900)).id == "r1"
    assert [invoked.request.wait_seconds for invoked in player.invoked] == [600, 300]


@pytest.mark.parametrize("timeout", [1e12, float("inf")])
def test_the_server_refuses_an_impossible_time(timeout: float) -> None:
    player = Player.of(response({}))
    ask(player, timeout)
    assert [(i.request.timeout_seconds, i.timeout) for i in player.invoked] == [(timeout, 600 + GRACE)]

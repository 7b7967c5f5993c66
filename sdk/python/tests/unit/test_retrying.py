"""Waits, deadlines, and what is worth another attempt."""

import pytest

from openintent_channels._methods import CREATE_INTENT, GET_CHANNEL
from openintent_channels._retrying import Deadline, Waits, is_passing, never_began
from openintent_channels.errors import AbortedError, MessageTimeoutError, NotFoundError, OpenIntentError, UnavailableError
from unit.playing import Player, away, refused

ABSENT = NotFoundError("absent", code="NOT_FOUND")


def test_waits_double_up_to_five_seconds() -> None:
    longest = Waits(random=lambda: 1.0)
    assert [longest.after() for _ in range(8)] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    shortest = Waits(random=lambda: 0.0)
    assert [shortest.after() for _ in range(8)] == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.5, 2.5]


def test_a_wait_is_at_least_what_the_server_asks_for() -> None:
    waits = Waits(random=lambda: 0.0)
    assert waits.after(away(retry_after=3.0)) == 3.0
    assert waits.after(away(retry_after=0.01)) == 0.1


def test_waits_for_a_silent_server_on_this_machine_end_at_half_a_second() -> None:
    waits = Waits(random=lambda: 1.0, local=True)
    assert [waits.after(away()) for _ in range(6)] == [0.1, 0.2, 0.4, 0.5, 0.5, 0.5]
    assert waits.after(away("WRITE_QUEUE_FULL")) == 0.8
    assert waits.after(away("WRITE_QUEUE_FULL")) == 1.6
    assert waits.after(away()) == 0.5


def test_waits_are_short_again_after_a_success() -> None:
    waits = Waits(random=lambda: 1.0)
    waits.after()
    waits.after()
    waits.succeeded()
    assert waits.after() == 0.1


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (away(), True),
        (away("SERVER_STOPPING"), True),
        (away("NOT_GRPC"), False),
        (AbortedError("lost a race"), True),
        (AbortedError("stale", reason="VERSION_MISMATCH"), False),
        (MessageTimeoutError("late"), False),
        (ABSENT, False),
    ],
)
def test_what_is_passing(error: OpenIntentError, passes: bool) -> None:
    assert is_passing(error) is passes


@pytest.mark.parametrize(
    ("error", "surely"),
    [
        (away("SERVER_STOPPING"), True),
        (away("OUTCOME_UNKNOWN"), False),
        (away(), False),
        (refused(), True),
        (ABSENT, False),
    ],
)
def test_what_certainly_had_no_effect(error: OpenIntentError, surely: bool) -> None:
    assert never_began(error) is surely


def test_a_deadline_counts_down_and_never_below_zero() -> None:
    now = [10.0]
    deadline = Deadline.within(lambda: now[0], 5)
    assert deadline.seconds == 5
    assert deadline.remaining == 5
    assert deadline.allows(4.9)
    assert not deadline.allows(5)
    now[0] = 20
    assert deadline.remaining == 0
    assert Deadline.within(lambda: now[0], None).remaining is None


def test_a_call_is_made_again_until_it_succeeds() -> None:
    player = Player.of(away(), away("SERVER_STOPPING", retry_after=1.0), "answer")
    assert player.play(player.calls().call(GET_CHANNEL, GET_CHANNEL.asked())) == "answer"
    assert player.pauses == [0.1, 1.0]
    assert [invoked.timeout for invoked in player.invoked] == [30.0, 29.9, 28.9]


def test_a_call_that_failed_for_good_is_not_made_again() -> None:
    player = Player.of(ABSENT)
    with pytest.raises(NotFoundError):
        player.play(player.calls().call(GET_CHANNEL, GET_CHANNEL.asked()))
    assert player.pauses == []


def test_patience_bounds_a_call() -> None:
    player = Player.of(*[away()] * 100)
    with pytest.raises(UnavailableError, match="The server at host:9 did not answer within 2 s: away"):
        player.play(player.calls(patience=2, address="host:9").call(GET_CHANNEL, GET_CHANNEL.asked()))
    assert sum(player.pauses) < 2
    assert player.pauses == [0.1, 0.2, 0.4, 0.8]


def test_an_effect_that_may_not_happen_twice_is_not_repeated_blindly() -> None:
    player = Player.of(away())
    with pytest.raises(UnavailableError, match="No answer came from the server at host:9, so the call may or may not"):
        player.play(player.calls(address="host:9").call(CREATE_INTENT, CREATE_INTENT.asked(), retried=never_began))
    assert len(player.invoked) == 1


def test_a_call_for_ever_outlasts_silence() -> None:
    player = Player.of(*[away()] * 50, away("NOT_GRPC"), "answer")
    calls, told = player.calls(), list[OpenIntentError]()
    assert player.play(calls.call_for_ever(GET_CHANNEL, GET_CHANNEL.asked(), told.append)) == "answer"
    assert sum(player.pauses) > 200
    assert len(told) == 51


def test_what_does_not_speak_grpc_is_not_called_again() -> None:
    player = Player.of(away("NOT_GRPC"))
    with pytest.raises(UnavailableError):
        player.play(player.calls().call(GET_CHANNEL, GET_CHANNEL.asked()))
    assert player.pauses == []


def test_the_last_failure_says_why_the_server_was_not_available() -> None:
    player = Player.of(*[away("WRITE_QUEUE_FULL", metadata={"message_id": "m"}, retry_after=20)] * 3)
    with pytest.raises(UnavailableError) as raised:
        player.play(player.calls().call(GET_CHANNEL, GET_CHANNEL.asked()))
    assert (raised.value.reason, raised.value.message_id, raised.value.retry_after) == ("WRITE_QUEUE_FULL", "m", 20)
    assert raised.value.message == "The server at 127.0.0.1:50051 was unavailable for 30 s: away"
    assert raised.value.__cause__ is None and raised.value.__suppress_context__, "one traceback says all"


def test_lost_races_until_the_deadline_are_a_server_that_was_not_available() -> None:
    player = Player.of(*[AbortedError("lost a race")] * 50)
    with pytest.raises(UnavailableError, match="lost a race"):
        player.play(player.calls().call(GET_CHANNEL, GET_CHANNEL.asked()))

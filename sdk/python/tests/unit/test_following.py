"""Following yields each message once, in order, whatever happens to the connection."""

from typing import Any

import pytest

from openintent_channels._following import Following, Memory
from openintent_channels._generated import messages_pb2
from openintent_channels.errors import ChannelClosedError, PermissionDeniedError, UnavailableError
from unit.playing import Player, away, stream

CLOSED = ChannelClosedError("closed", code="FAILED_PRECONDITION", reason="CHANNEL_CLOSED")


def said(position: int, sender: str = "somebody", **facts: Any) -> messages_pb2.SubscribeResponse:
    message = messages_pb2.Message(id=facts.pop("id", f"msg_{position}"), sender=sender)
    return messages_pb2.SubscribeResponse(position=position, message=message, **facts)


def follow(player: Player, after: int | None = None, include_own: bool = True, **calls: Any) -> list[str]:
    player.play(Following(player.calls(**calls)).follow("c", after, include_own))
    return [message.id for message in player.emitted]


def test_it_goes_on_after_the_last_message_received() -> None:
    player = Player.of(stream(7, said(8), said(9), away()), away_stream(), stream(9, said(10), CLOSED))
    assert follow(player) == ["msg_8", "msg_9", "msg_10"]
    assert [opened.request.after_position for opened in player.opened] == [0, 9, 9]
    assert not player.opened[0].request.HasField("after_position")
    assert player.began == 1


def away_stream() -> Any:
    return stream(None, away())


def test_a_connection_lost_before_the_first_message_resumes_where_it_was_accepted() -> None:
    player = Player.of(stream(7, away()), stream(7, said(8), CLOSED))
    assert follow(player) == ["msg_8"]
    assert player.opened[1].request.after_position == 7


def test_marks_and_events_only_move_the_cursor() -> None:
    mark = messages_pb2.SubscribeResponse(position=9, caught_up=True)
    player = Player.of(stream(7, said(8), mark, away()), stream(9, CLOSED))
    assert follow(player) == ["msg_8"]
    assert player.opened[1].request.after_position == 9


def test_an_open_request_from_before_the_cursor_comes_once() -> None:
    behind = said(8, id="old", backfill=True)
    again = said(8, backfill=True)
    player = Player.of(stream(7, said(8), behind, away()), stream(8, behind, again, CLOSED))
    assert follow(player) == ["msg_8", "old"]
    assert player.opened[1].request.after_position == 8


def test_it_can_leave_out_its_own() -> None:
    player = Player.of(stream(0, said(1, "me"), said(2), CLOSED))
    assert follow(player, include_own=False, sender="me") == ["msg_2"]


def test_lost_access_ends_it_with_the_error() -> None:
    player = Player.of(stream(0, said(1), PermissionDeniedError("no")))
    with pytest.raises(PermissionDeniedError):
        follow(player)


def test_the_beginning_has_the_patience_of_a_call() -> None:
    player = Player.of(*[away_stream() for _ in range(50)])
    with pytest.raises(UnavailableError, match="127.0.0.1:50051 did not answer within 30 s"):
        follow(player)
    assert player.now < 30


def test_once_begun_it_outlasts_any_absence() -> None:
    player = Player.of(stream(3), *[away_stream() for _ in range(50)], stream(3, said(4), CLOSED))
    assert follow(player) == ["msg_4"]
    assert player.now > 200


def test_it_lets_go_of_each_stream() -> None:
    streams = [stream(0, away()), stream(0, CLOSED)]
    follow(Player.of(*streams))
    assert all(s.cancelled for s in streams)


def test_a_given_position_is_where_it_begins() -> None:
    player = Player.of(stream(5, CLOSED))
    follow(player, after=5)
    assert player.opened[0].request.after_position == 5


def test_the_memory_forgets_the_oldest() -> None:
    memory = Memory(2)
    assert [memory.add(id) for id in ("a", "b", "a", "c", "a")] == [True, True, False, True, True]
    assert "c" in memory


def test_annotations_and_attention_come_with_the_messages_that_they_are_about() -> None:
    said = messages_pb2.SubscribeResponse(position=1, message=messages_pb2.Message(id="m1"))
    said.attention.reason = "mention"
    done = messages_pb2.SubscribeResponse(
        position=2, annotation=messages_pb2.Annotation(type="message_reaction", message_id="m1", signal="done")
    )
    player = Player.of(stream(0, said, done, ChannelClosedError("closed", code="FAILED_PRECONDITION")))
    player.play(Following(player.calls()).follow("chan", None, True, ["attention", "annotations"]))
    message, annotation = player.emitted
    assert message.attention.reason == "mention"
    assert (annotation.type, annotation.message_id, annotation.signal, annotation.note) == (
        "message_reaction", "m1", "done", None,
    )  # fmt: skip
    assert list(player.opened[0].request.include) == ["attention", "annotations"]

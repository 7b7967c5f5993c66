"""A client says what needs somebody."""

from datetime import datetime, timezone
from typing import Any

import pytest

from openintent_channels import Concern, ConcernPage, InvalidArgumentError
from openintent_channels._directory import Directory
from openintent_channels._generated import concern_pb2
from unit.playing import Player


def directory(player: Player) -> Directory:
    return Directory(player.calls())


def test_a_page_of_concerns_is_read() -> None:
    wire = concern_pb2.ListConcernsResponse(next_cursor="on")
    question = wire.concerns.add(
        id="con_1", kind=concern_pb2.CONCERN_KIND_QUESTION, intent_id="i", channel_id="c", message_id="m", agent_id="ann",
        summary="ann asks.", actions=[concern_pb2.CONCERN_ACTION_ANSWER, concern_pb2.CONCERN_ACTION_DECLINE],
    )
    question.since.FromSeconds(1)
    letters = wire.concerns.add(id="con_2", kind=concern_pb2.CONCERN_KIND_DEAD_LETTERS, subscription_id="s", summary="Dead.")
    letters.since.FromSeconds(2)
    lost = wire.concerns.add(
        id="con_3", kind=concern_pb2.CONCERN_KIND_HOLDER_LOST, intent_id="i", agent_id="bob", task_id="t", summary="Lost.",
        actions=[concern_pb2.CONCERN_ACTION_REASSIGN],
    )
    lost.since.FromSeconds(3)
    player = Player.of(wire)
    at = [datetime.fromtimestamp(seconds, timezone.utc) for seconds in (1, 2, 3)]
    assert player.play(directory(player).concerns("question", "i", "ann", 2, "from")) == ConcernPage(
        concerns=(
            Concern("con_1", "question", at[0], "i", "c", "m", "ann", None, None, "ann asks.", ("answer", "decline")),
            Concern("con_2", "dead_letters", at[1], None, None, None, None, "s", None, "Dead.", ()),
            Concern("con_3", "holder_lost", at[2], "i", None, None, "bob", None, "t", "Lost.", ("reassign",)),
        ),
        next_cursor="on",
    )
    asked: Any = player.invoked[0].request
    assert asked == concern_pb2.ListConcernsRequest(
        kind=concern_pb2.CONCERN_KIND_QUESTION, intent_id="i", agent_id="ann", limit=2, cursor="from"
    )


def test_nothing_narrows_a_list_unless_it_is_said() -> None:
    player = Player.of(concern_pb2.ListConcernsResponse())
    assert player.play(directory(player).concerns(None, None, None, None, None)) == ConcernPage((), None)
    assert player.invoked[0].request == concern_pb2.ListConcernsRequest()


def test_a_kind_that_does_not_exist_is_refused() -> None:
    player = Player.of()
    with pytest.raises(InvalidArgumentError, match="kind"):
        player.play(directory(player).concerns("worry", None, None, None, None))
    assert player.invoked == []

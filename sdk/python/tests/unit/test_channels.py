"""Channels are opened once, whoever comes first, and a lost creation is found again."""

from typing import Any

import pytest

from openintent_channels._channels import Channels
from openintent_channels._generated import channels_pb2
from openintent_channels.errors import ChannelNameTakenError, InvalidArgumentError
from unit.playing import Player, away

TAKEN = ChannelNameTakenError("taken", code="ALREADY_EXISTS", reason="CHANNEL_NAME_TAKEN")


def wire(created_by: str = "operator", name: str = "talk") -> channels_pb2.Channel:
    return channels_pb2.Channel(id=f"chan_{created_by}", name=name, created_by=created_by)


def listed(*channels: channels_pb2.Channel) -> channels_pb2.ListChannelsResponse:
    return channels_pb2.ListChannelsResponse(channels=channels)


def create(player: Player, options: Any = None) -> Any:
    return player.play(Channels(player.calls()).create("i", "talk", [], "intent", options, None))


def open_channel(player: Player) -> Any:
    return player.play(Channels(player.calls()).open("talk", "i", ["a"], "explicit", None))


def test_a_taken_name_is_refused() -> None:
    with pytest.raises(ChannelNameTakenError):
        create(Player.of(TAKEN))


def test_a_creation_whose_answer_was_lost_is_found() -> None:
    assert create(Player.of(away(), TAKEN, listed(wire()))).id == "chan_operator"


def test_after_a_lost_answer_a_strangers_channel_is_still_a_taken_name() -> None:
    with pytest.raises(ChannelNameTakenError):
        create(Player.of(away(), TAKEN, listed(wire("stranger"))))


def test_a_refusal_for_the_moment_leaves_no_doubt() -> None:
    with pytest.raises(ChannelNameTakenError):
        create(Player.of(away("SERVER_STOPPING"), TAKEN))


def test_an_open_channel_is_taken() -> None:
    player = Player.of(listed(wire(name="other"), wire("somebody")))
    assert open_channel(player).id == "chan_somebody"
    assert len(player.invoked) == 1


def test_a_missing_channel_is_created() -> None:
    player = Player.of(listed(), wire())
    assert open_channel(player).id == "chan_operator"
    request = player.invoked[1].request
    assert list(request.members) == ["a"]
    assert request.member_policy == channels_pb2.MEMBER_POLICY_EXPLICIT


def test_of_two_that_open_at_once_the_second_gets_the_firsts() -> None:
    assert open_channel(Player.of(listed(), TAKEN, listed(wire("first")))).id == "chan_first"


def test_unknown_words_are_refused_before_the_wire() -> None:
    player = Player.of()
    with pytest.raises(InvalidArgumentError, match="options.audti: there is no such option"):
        create(player, {"audti": True})
    with pytest.raises(InvalidArgumentError, match="member_policy: it must be one of explicit, intent"):
        player.play(Channels(player.calls()).create("i", "talk", [], "everyone", None, None))

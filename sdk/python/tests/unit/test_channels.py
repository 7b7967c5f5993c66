"""Channels are opened once, whoever comes first; a lost creation or change of status is found again."""

from typing import Any

import pytest

from openintent_channels._channels import Channels, Intents
from openintent_channels._generated import channels_pb2, intents_pb2
from openintent_channels.errors import AbortedError, ChannelNameTakenError, InvalidArgumentError, UnavailableError
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


def test_a_channel_is_found_when_the_answer_to_its_creation_was_lost() -> None:
    assert create(Player.of(away(), TAKEN, listed(wire()))).id == "chan_operator"


def test_after_a_lost_answer_a_strangers_channel_is_still_a_taken_name() -> None:
    with pytest.raises(ChannelNameTakenError):
        create(Player.of(away(), TAKEN, listed(wire("stranger"))))


def test_a_passing_refusal_leaves_no_doubt() -> None:
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


def test_a_dictatable_channel_has_an_address() -> None:
    made = wire()
    made.address = "VK47"
    player = Player.of(made)
    created = player.play(Channels(player.calls()).create("i", "talk", [], "intent", None, None, dictatable=True))
    assert player.invoked[0].request.dictatable
    assert created.address == "VK47"
    assert create(Player.of(wire())).address is None


def test_when_two_open_at_once_the_second_gets_the_channel_of_the_first() -> None:
    assert open_channel(Player.of(listed(), TAKEN, listed(wire("first")))).id == "chan_first"


@pytest.mark.parametrize(
    "steps",
    [
        lambda rules, intents: rules.create("i", "talk", [], "intent", None, None),
        lambda rules, intents: rules.open("talk", "i", [], "intent", None),
        lambda rules, intents: rules.list("i"),
        lambda rules, intents: rules.get("c"),
        lambda rules, intents: rules.close("c"),
        lambda rules, intents: intents.create("t", None, None, None, None, None, [], None),
        lambda rules, intents: intents.open("t", None, None),
        lambda rules, intents: intents.get("i"),
        lambda rules, intents: intents.set_status("i", "active", None),
    ],
)
def test_a_server_that_stays_away_is_named_when_the_deadline_passes(steps: Any) -> None:
    refused = UnavailableError("refused", code="UNAVAILABLE")
    refused.unconnected = True
    player = Player.of(*[refused] * 50)
    calls = player.calls(address="host:9")
    with pytest.raises(UnavailableError, match="The server at host:9 could not be reached within 30 s: refused"):
        player.play(steps(Channels(calls), Intents(calls)))
    assert 20 < player.now < 30


def test_opening_has_one_deadline_for_all_its_calls() -> None:
    player = Player(iter([]))
    player.outcomes = iter([player.takes(20, listed()), player.takes(5, TAKEN), *[away()] * 50])
    with pytest.raises(UnavailableError, match="within 30 s"):
        open_channel(player)
    assert [invoked.timeout for invoked in player.invoked[:3]] == [30, 10, 5]
    assert player.now < 30


def test_setting_a_status_has_one_deadline_for_all_its_calls() -> None:
    player = Player(iter([]))
    player.outcomes = iter([player.takes(20, intent(3)), player.takes(5, MISMATCH), *[away()] * 50])
    with pytest.raises(UnavailableError, match="within 30 s"):
        set_status(player)
    assert player.now < 30


def test_unknown_words_are_refused_before_the_wire() -> None:
    player = Player.of()
    with pytest.raises(InvalidArgumentError, match="options.audti: there is no such option"):
        create(player, {"audti": True})
    with pytest.raises(InvalidArgumentError, match="member_policy must be one of explicit, intent"):
        player.play(Channels(player.calls()).create("i", "talk", [], "everyone", None, None))


MISMATCH = AbortedError("stale", code="ABORTED", reason="VERSION_MISMATCH")
REFUSED = InvalidArgumentError("no such transition", code="INVALID_ARGUMENT", reason="INVALID_TRANSITION")


def intent(version: int, status: intents_pb2.IntentStatus = intents_pb2.INTENT_STATUS_DRAFT) -> intents_pb2.Intent:
    return intents_pb2.Intent(id="i", version=version, status=status)


ACTIVE = intents_pb2.INTENT_STATUS_ACTIVE


def set_status(player: Player) -> Any:
    return player.play(Intents(player.calls()).set_status("i", "active", None))


def test_a_status_is_set_from_the_current_version() -> None:
    player = Player.of(intent(3), MISMATCH, intent(4), intent(5, ACTIVE))
    assert set_status(player).version == 5
    assert [i.request.expected_version for i in player.invoked if hasattr(i.request, "expected_version")] == [3, 4]


@pytest.mark.parametrize("second", [MISMATCH, REFUSED])
def test_a_status_is_found_when_the_answer_to_setting_it_was_lost(second: Exception) -> None:
    assert set_status(Player.of(intent(3), away(), second, intent(4, ACTIVE))).version == 4


def test_a_refused_status_is_refused() -> None:
    with pytest.raises(InvalidArgumentError):
        set_status(Player.of(intent(3, ACTIVE), REFUSED))
    with pytest.raises(InvalidArgumentError):
        set_status(Player.of(intent(3), away(), REFUSED, intent(3)))


def test_an_intent_is_not_created_twice() -> None:
    player = Player.of(away("SERVER_STOPPING"), away())
    with pytest.raises(UnavailableError):
        player.play(Intents(player.calls()).create("t", None, None, None, None, None, [], None))
    assert len(player.invoked) == 2

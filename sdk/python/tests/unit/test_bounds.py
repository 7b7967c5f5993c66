"""Names and sizes are refused before anything is sent."""

from __future__ import annotations

from typing import Any

import pytest

from openintent_channels import Agent, InvalidArgumentError, OpenIntentClient
from openintent_channels._asking import Asking
from openintent_channels._bounds import check
from openintent_channels._channels import Channels, Intents
from openintent_channels._generated import messages_pb2
from openintent_channels._messages import Messages
from openintent_channels._settings import resolve
from openintent_channels._tracing import Tracing
from unit.playing import Player


def send(calls: Any, **said: Any) -> Any:
    to = said.pop("to", None)
    return Messages(calls, Tracing()).send("c", {}, to, "notify", None, None, None, None, said)


def ask(calls: Any, **said: Any) -> Any:
    return Asking(calls, Tracing()).ask("c", "bob", {}, 30, None, None, None, said)


def create(calls: Any, title: str) -> Any:
    return Intents(calls).create(title, None, None, None, None, None, (), None)


def named(calls: Any, name: str) -> Any:
    return Channels(calls).open(name, "i", (), "intent", None)


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (lambda calls: send(calls, subject="ä" * 201), "subject has 201 characters; use 1 to 200."),
        (lambda calls: send(calls, subject=""), "subject has 0 characters; use 1 to 200."),
        (lambda calls: send(calls, to="a" * 262), "to has 262 characters; use 0 to 261."),
        (lambda calls: ask(calls, kind="k" * 65), "kind has 65 characters; use 1 to 64."),
        (lambda calls: create(calls, "t" * 1025), "title has 1025 characters; use 1 to 1024."),
        (lambda calls: named(calls, "a/b"), "name may not contain a slash."),
        (lambda calls: named(calls, " "), "name must hold at least one character that is not white space."),
        (lambda calls: named(calls, "a\nb"), "name may not contain control characters."),
        (lambda calls: named(calls, "_system"), "name is that of the server's own channel; choose another name."),
    ],
)
def test_what_is_out_of_bounds_is_not_sent(rule: Any, says: str) -> None:
    player = Player.of()
    with pytest.raises(InvalidArgumentError) as raised:
        player.play(rule(player.calls()))
    assert (raised.value.message, raised.value.reason) == (says, "INVALID_FIELD")
    assert raised.value.violations[0].field == says.partition(" ")[0]
    assert player.invoked == []


def test_an_argument_of_another_type_is_refused_by_its_name() -> None:
    player = Player.of()
    says = "intent_id.* must be the id of an intent, such as intent.id, and no object"
    with pytest.raises(InvalidArgumentError, match=says):
        player.play(Channels(player.calls()).open("x", object(), (), "intent", None))  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="timeout.* must be a number of seconds, not '30s'"):
        player.play(Asking(player.calls(), Tracing()).ask("c", "bob", {}, "30s", None, None, None))  # type: ignore[arg-type]
    for wrong, near in {"time_out": "timeout", "failfast": "fail_fast", "meta_data": "metadata"}.items():
        with pytest.raises(TypeError, match=f"there is no option '{wrong}' for this call; did you mean {near}?"):
            player.play(ask(player.calls(), **{wrong: 3}))
    with pytest.raises(TypeError, match="there is no option 'document' for this call$"):
        player.play(ask(player.calls(), document=True))
    assert player.invoked == []


def test_what_just_fits_is_sent() -> None:
    check(messages_pb2.SendMessageRequest(subject="ä" * 200, to="a" * 261, kind="k"))
    check(messages_pb2.SendMessageRequest())


@pytest.mark.parametrize(
    ("agent_id", "says"),
    [
        ("a/b", "may not contain a slash"),
        ("ä", "must consist of printable ASCII characters"),
        ("a\nb", "must consist of printable ASCII characters"),
        ("a" * 257, "has 257 characters; use 1 to 256"),
        ("operator", "'operator' is reserved"),
        ("role:data", "'role:data' is reserved"),
    ],
)
def test_an_agents_id_is_checked_when_the_client_is_made(agent_id: str, says: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"^agent_id {says}"):
        OpenIntentClient("host:9", agent_id=agent_id)
    with pytest.raises(InvalidArgumentError, match=f"^agent_id {says}"):
        Agent(agent_id)
    with pytest.raises(InvalidArgumentError, match=f"^OPENINTENT_AGENT_ID {says}"):
        resolve({"OPENINTENT_AGENT_ID": agent_id}, "host:9", None, None, None)
    assert resolve({}, "host:9", None, "a" * 256, None).agent_id == "a" * 256

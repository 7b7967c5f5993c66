"""Finding intents, agents and roles, and the intent of a client."""

from __future__ import annotations

from typing import Any

import pytest

from openintent_channels import InvalidArgumentError, OpenIntentClient, Role
from openintent_channels._channels import Channels, Intents
from openintent_channels._directory import Directory
from openintent_channels._generated import agents_pb2, channels_pb2, intents_pb2
from openintent_channels._settings import resolve
from unit.playing import Player

ACTIVE = agents_pb2.AGENT_STATUS_ACTIVE


def agents(*held: tuple[str, str], cursor: str | None = None) -> agents_pb2.ListAgentsResponse:
    """A page of agents with their roles."""
    made = [agents_pb2.Agent(agent_id=id, role_id=role, status=ACTIVE) for id, role in held]
    return agents_pb2.ListAgentsResponse(agents=made, total=7, next_cursor=cursor)


def test_intents_are_listed_by_page() -> None:
    page = intents_pb2.ListIntentsResponse(intents=[intents_pb2.Intent(id="i", title="t")], total=3, next_cursor="on")
    player = Player.of(page, intents_pb2.ListIntentsResponse())
    listed = player.play(Intents(player.calls()).list("active", "desc", 1, "from"))
    assert ([intent.id for intent in listed.intents], listed.total, listed.next_cursor) == (["i"], 3, "on")
    asked: Any = player.invoked[0].request
    assert asked.status == intents_pb2.INTENT_STATUS_ACTIVE
    assert (asked.order, asked.limit, asked.cursor) == ("desc", 1, "from")
    last = player.play(Intents(player.calls()).list(None, None, None, None))
    assert (last.intents, last.next_cursor) == ((), None)
    bare: Any = player.invoked[1].request
    assert not bare.HasField("status")


def test_agents_are_listed_by_page() -> None:
    record = agents_pb2.Agent(agent_id="ann", status_note="busy")
    player = Player.of(agents(("ann", "data"), ("bob", ""), cursor="on"), record)
    listed = player.play(Directory(player.calls()).agents("data", "draining", ("sql",), 2, "from"))
    found = [(agent.id, agent.role, agent.status) for agent in listed.agents]
    assert found == [("ann", "data", "active"), ("bob", None, "active")]
    assert (listed.total, listed.next_cursor) == (7, "on")
    asked: Any = player.invoked[0].request
    assert (asked.role_id, asked.limit, asked.cursor, list(asked.capabilities)) == ("data", 2, "from", ["sql"])
    assert asked.status == agents_pb2.AGENT_STATUS_DRAINING
    assert player.play(Directory(player.calls()).agent("ann")).status_note == "busy"


def test_roles_are_gathered_from_all_pages() -> None:
    player = Player.of(agents(("ann", "data"), ("bob", ""), cursor="on"), agents(("cid", "data"), ("dan", "audit")))
    roles = player.play(Directory(player.calls()).roles())
    assert roles == (Role("audit", ("dan",)), Role("data", ("ann", "cid")))
    last: Any = player.invoked[1].request
    assert last.cursor == "on"


def test_calls_without_an_intent_are_about_the_clients_own() -> None:
    channel = channels_pb2.Channel(id="c", name="desk", status=channels_pb2.CHANNEL_STATUS_OPEN)
    page = channels_pb2.ListChannelsResponse(channels=[channel])
    player = Player.of(page, page, page, intents_pb2.Intent(id="mine"))
    calls = player.calls(intent_id="mine")
    player.play(Channels(calls).open("desk", None, (), "intent", None))
    player.play(Channels(calls).open("desk", "other", (), "intent", None))
    player.play(Channels(calls).list(None))
    player.play(Intents(calls).get(None))
    requests: list[Any] = [invoked.request for invoked in player.invoked]
    assert [request.intent_id for request in requests] == ["mine", "other", "mine", "mine"]


def test_a_client_without_an_intent_says_how_to_give_one() -> None:
    says = "channels.open needs an intent: give intent_id, or set OPENINTENT_INTENT_ID"
    with OpenIntentClient("host:9") as client, pytest.raises(InvalidArgumentError, match=says):
        client.channels.open("desk")


def test_the_intent_comes_from_the_argument_or_the_environment() -> None:
    found = {"OPENINTENT_INTENT_ID": "env"}
    assert resolve(found, "host:9", None, None, None).intent_id == "env"
    assert resolve(found, "host:9", None, None, None, intent_id="given").intent_id == "given"
    assert resolve({"OPENINTENT_INTENT_ID": ""}, "host:9", None, None, None).intent_id is None
    with pytest.raises(InvalidArgumentError, match="^intent_id is empty: give the intent's id"):
        resolve(found, "host:9", None, None, None, intent_id="")

"""Stories: a conversation from the record, played again with one of its agents."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from ..agents import AgentBase
from ..client import OpenIntentClient
from ..models import Intent
from ._calm import Calm, Wire, pause_since
from ._record import Said
from ._server import Server, run_server

Line = dict[str, Any]
"""A message of a story, as `openintent export INTENT --story` writes it."""

Matches = Callable[[dict[str, Any], dict[str, Any]], bool]
"""Whether a payload will do in place of the one in the record: `matches(recorded, said)`."""

_VERSION = 1
_WITHIN = 5.0
_PASSED_ON = {**{name: name for name in ("subject", "kind", "priority", "mentions", "collect")}, "blocks": "obligation"}
"""The options of sending, by the names that they have in a line."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is otherwise than in the record. `kind` is `said` (the agent said something else, or something more),
    `not_said` or `woken`. `recorded` is the line of the story that it is about, and `said` what the agent said."""

    kind: str
    text: str
    recorded: Line | None = field(default=None, hash=False)
    said: Said | None = None

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


@dataclass(slots=True)
class Report:
    """What came of a story. `left_out` are lines that could not be played, because they answer what was not said."""

    agent_id: str
    differences: list[Difference] = field(default_factory=list)
    left_out: list[Line] = field(default_factory=list)

    def __str__(self) -> str:
        if not self.differences:
            return f"{self.agent_id} does as in the record"
        named = [f"  {difference}" for difference in self.differences]
        return "\n".join([f"{self.agent_id} does otherwise than in the record:", *named])

    def assert_same(self) -> None:
        """Raises AssertionError with the differences, if there are any."""
        if self.differences:
            raise AssertionError(str(self))


def load_story(story: str | os.PathLike[str] | Iterable[Mapping[str, Any]]) -> tuple[Line, list[Line]]:
    """Reads a story from a file, or takes its lines. Raises ValueError for what is none."""
    if isinstance(story, (str, os.PathLike)):
        lines = [json.loads(line) for line in Path(story).read_text(encoding="utf-8").splitlines() if line.strip()]
    else:
        lines = [dict(line) for line in story]
    if not lines or lines[0].get("story") != _VERSION:
        form = f"a story begins with a line that has story: {_VERSION}"
        raise ValueError(f"{form}; write one with: openintent export INTENT --story")
    return lines[0], lines[1:]


def play(
    story: str | os.PathLike[str] | Iterable[Mapping[str, Any]],
    *,
    agent: AgentBase,
    server: Server | None = None,
    matches: Matches | None = None,
    within: float = _WITHIN,
) -> Report:
    """Plays a story with an agent: the test says what all others said, in the record's order and after the record's times by
    the test's clock, and the agent does what it does. Returns what was otherwise than in the record.

    `server` is the one to play on; without it a server of its own is started. Payloads must be equal, unless `matches` says
    what will do. While the agent is at work, the story waits for what it should say, at most `within` seconds at a time."""
    head, lines = load_story(story)
    with contextlib.ExitStack() as stack:
        on = stack.enter_context(run_server()) if server is None else server
        return _Play(on, head, lines, agent, matches or _equal, within).run()


def _equal(recorded: dict[str, Any], said: dict[str, Any]) -> bool:
    return recorded == said


class _Play:
    """One playing of a story."""

    def __init__(
        self, server: Server, head: Line, lines: list[Line], agent: AgentBase, matches: Matches, within: float
    ) -> None:
        self._server, self._head, self._lines, self._agent = server, head, lines, agent
        self._matches, self._within = matches, within
        self._id = agent._options.agent_id
        self._report = Report(self._id)
        self._passed = 0.0
        self._channels: dict[str, str] = {}
        self._ids: dict[str, tuple[str, str]] = {}
        """By the id in the record, the message that stands for it here: its channel's id and its own."""
        self._seen: set[str] = set()
        """The messages of the agent that stand for lines of the record."""
        self._clients: dict[str, OpenIntentClient] = {}
        self._intent: Intent

    def run(self) -> Report:
        """Plays the story to its end."""
        self._prepare()
        with self._server.running(self._agent):
            for line in self._lines:
                if line["sender"] == self._id:
                    self._expect(line)
                else:
                    self._say(line)
            self._wait_until_calm()
        self._note_more()
        self._note_woken()
        return self._report

    def _prepare(self) -> None:
        """Makes the intent and the channels, and lets the others join."""
        roles = {agent["id"]: agent.get("role") for agent in self._head["agents"]}
        operator = self._server.client()
        self._intent = operator.intents.create(self._head["title"], status="active")
        for agent_id, role in roles.items():
            if agent_id not in (self._id, "operator"):
                self._server.peer(agent_id, role).stays_silent()
        for channel in self._head["channels"]:
            made = operator.channels.open(
                channel["name"], self._intent.id, channel.get("members", ()), channel["member_policy"]
            )
            self._channels[channel["name"]] = made.id

    def _say(self, line: Line) -> None:
        """Says what one of the others said."""
        self._pass(line)
        channel_id, client = self._channels[line["channel"]], self._client(line["sender"])
        options = {_PASSED_ON[name]: line[name] for name in _PASSED_ON if line.get(name)}
        answered = line.get("answers")
        if any(line.get(name, "") not in ("", *self._ids) for name in ("answers", "parent")):
            self._report.left_out.append(line)
            return
        if answered:
            asked = self._ids[answered][1]
            with contextlib.ExitStack() as stack:
                if self._takes_claims(answered):
                    options["fence"] = stack.enter_context(client.claim(channel_id, asked)).fence
                said = client.reply_to(channel_id, asked, line["payload"], line.get("metadata"), **options)
        else:
            if line.get("parent"):
                options["parent"] = self._ids[line["parent"]][1]
            seconds = line.get("seconds")
            expires_at = self._server.now() + timedelta(seconds=seconds) if seconds else None
            said = client.send_message(
                channel_id, line["payload"], line.get("to"), line["message_type"], expires_at, line.get("metadata"),
                **options,
            )
        self._ids[line["id"]] = channel_id, said.id

    def _expect(self, line: Line) -> None:
        """Waits for what the agent says in place of a line of the record, and notes how it differs."""
        found = self._wait_until_calm(line)
        if found is None and self._is_later(line):
            self._pass(line)
            found = self._wait_until_calm(line)
        if found is not None:
            self._take(line, found)
            return
        for said in self._own():
            if said.id not in self._seen and self._stands_for(said, line):
                self._take(line, said)
                text = f"{self._id} said {said.payload} instead of {line['payload']} {_where(line)}"
                self._report.differences.append(Difference("said", text, line, said))
                return
        text = f"{self._id} did not say {line['payload']} {_where(line)}"
        self._report.differences.append(Difference("not_said", text, line))

    def _wait_until_calm(self, line: Line | None = None) -> Said | None:
        """Waits until the agent is calm, but no longer than for what it should say: that of a line, which is returned."""
        begun, calm = time.monotonic(), Calm(self._id, time_may_pass=line is None or self._is_later(line))
        while time.monotonic() - begun <= self._within:
            now, read = self._server.now(), self._server._messages(self._intent)
            found = None if line is None else self._found(line, read)
            messages = [message for _, message in read]
            if found or calm.is_reached(time.monotonic(), self._server.at_work(self._id), messages, now):
                return found
            pause_since(begun)
        return None

    def _found(self, line: Line, read: list[tuple[str, Wire]]) -> Said | None:
        """Returns what the agent has said as a line of the record says it; None for nothing."""
        for channel, message in read:
            if message["sender"] == self._id and message["id"] not in self._seen:
                said = self._server._said(channel, message, dispositions=False)
                if self._stands_for(said, line) and self._matches(line["payload"], said.payload):
                    return said
        return None

    def _pass(self, line: Line) -> None:
        """Lets time pass until a line of the record, once the agent has done what it has to do before."""
        if self._is_later(line):
            self._wait_until_calm()
            self._server.advance(line["after_seconds"] - self._passed)
            self._passed = line["after_seconds"]

    def _is_later(self, line: Line) -> bool:
        return bool(line["after_seconds"] > self._passed)

    def _own(self) -> list[Said]:
        return [said for said in self._server._read(self._intent, dispositions=False) if said.sender == self._id]

    def _take(self, line: Line, said: Said) -> None:
        self._seen.add(said.id)
        self._ids[line["id"]] = said.channel_id, said.id

    def _stands_for(self, said: Said, line: Line) -> bool:
        """Whether a message has the place of a line: the same channel, addressee and type, and it answers the same."""
        answered = self._ids.get(line.get("answers", ""), ("", None))[1]
        return (
            said.channel == line["channel"]
            and said.message_type == line["message_type"]
            and said.correlation_id == answered
            and said.to == _addressee(line)
        )

    def _takes_claims(self, recorded: str) -> bool:
        asked = next(line for line in self._lines if line["id"] == recorded)
        return asked.get("to", "").startswith("role:") and asked.get("collect", "any") not in ("any", "all")

    def _client(self, agent_id: str) -> OpenIntentClient:
        if agent_id not in self._clients:
            self._clients[agent_id] = self._server.client(None if agent_id == "operator" else agent_id)
        return self._clients[agent_id]

    def _note_more(self) -> None:
        """Notes what the agent said more than in the record."""
        for said in self._own():
            if said.id not in self._seen:
                text = f"{self._id} said {said.payload} to {said.to or 'everyone'} on {said.channel}, as the record does not"
                self._report.differences.append(Difference("said", text, None, said))

    def _note_woken(self) -> None:
        """Notes which messages woke the agent here and not in the record, or the other way round."""
        for line in self._lines:
            if line["sender"] == self._id or line["id"] not in self._ids:
                continue
            then, now = self._id in line.get("woken", ()), self._id in self._server.woken(*self._ids[line["id"]])
            if then != now:
                which = f"{line['payload']} of {line['sender']} on {line['channel']}"
                text = f"{self._id} was woken by {which}, and not in the record"
                if then:
                    text = f"{self._id} was not woken by {which}, as it was in the record"
                self._report.differences.append(Difference("woken", text, line))


def _addressee(line: Line) -> str | None:
    to: str | None = line.get("to")
    return None if to in ("", "*") else to


def _where(line: Line) -> str:
    return f"to {_addressee(line) or 'everyone'} on {line['channel']}"

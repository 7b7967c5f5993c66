"""Stories from the record, played against the same agent and against others."""

from __future__ import annotations

import asyncio
import json
import math
import os
import subprocess
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from openintent_channels import Agent, AgentBase, AgentMessage, on_message
from openintent_channels.testing import find_program, load_story, play, run_server


@Agent("data-agent")
class DataAgent(AgentBase):
    """Answers, and asks the archive for what it does not know."""

    def __init__(self, version: str = "v2.3", chatty: bool = False, silent: bool = False) -> None:
        self.version, self.chatty, self.silent = version, chatty, silent

    @on_message(channel="clarification")
    async def clarify(self, message: AgentMessage) -> dict[str, Any] | None:
        if message.message_type != "request" or self.silent:
            return None
        if self.chatty:
            channel = await self.channels.get(message.channel_id)
            await channel.broadcast({"text": "I was asked something!"})
        if message.payload["question"] == "which schema?":
            return {"answer": self.version}
        channel = await self.channels.get(message.channel_id)
        found = await channel.ask("role:archive", {"find": message.payload["question"]}, timeout=600)
        return {"answer": found.payload["found"]}


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A story that the program has written of a conversation."""
    file = tmp_path_factory.mktemp("stories") / "story.jsonl"
    with run_server() as server:
        intent = server.client().intents.open("Choose a schema")
        archive = server.peer("archivist", role="archive").answers_after(45, {"found": "in 2019"})
        with server.running(DataAgent()):
            channel = server.client("asker").channels.open("clarification", intent.id)
            assert channel.ask("data-agent", {"question": "which schema?"}).payload == {"answer": "v2.3"}
            server.advance(30)
            asked = channel.send({"question": "since when?"}, "data-agent", "request")
            archive.assert_heard()
            server.advance(45)
            server.assert_said(intent, correlation_id=asked.id)
            channel.broadcast({"text": "Thank you"})
            server.settle()
        environment = {**os.environ, **server.environment}
        command = [find_program(), "export", intent.id, "--story"]
        written = subprocess.run(command, check=True, env=environment, capture_output=True, text=True)
    file.write_text(written.stdout)
    return file


def test_what_a_story_says(story: Path) -> None:
    head, lines = load_story(story)
    assert head["title"] == "Choose a schema"
    assert head["channels"] == [{"name": "clarification", "member_policy": "intent"}]
    assert {"id": "archivist", "role": "archive"} in head["agents"]
    assert [(line["sender"], line.get("to"), round(line["after_seconds"])) for line in lines] == [
        ("asker", "data-agent", 0),
        ("data-agent", "asker", 0),
        ("asker", "data-agent", 30),
        ("data-agent", "role:archive", 30),
        ("archivist", "data-agent", 75),
        ("data-agent", "asker", 75),
        ("asker", "*", 75),
    ]
    assert lines[1]["answers"] == lines[0]["id"]
    assert lines[0]["woken"] == ["data-agent"]


def test_the_same_agent_does_the_same(story: Path) -> None:
    report = play(story, agent=DataAgent())
    assert str(report) == "data-agent does as in the record"
    assert report.differences == []
    assert report.left_out == []


def test_time_passes_while_the_agent_awaits_an_answer(story: Path) -> None:
    """Without that, the player would look until `within` is over, and here that is never."""
    looks = 0
    with run_server() as server:
        at_work = server.at_work

        def counted(agent_id: str) -> bool:
            nonlocal looks
            looks += 1
            assert looks < 500, "the player waits for an agent that awaits an answer"
            return at_work(agent_id)

        with patch.object(server, "at_work", counted):
            report = play(story, agent=DataAgent(), server=server, within=math.inf)
    assert report.differences == []


@Agent("data-agent")
class Busy(AgentBase):
    """Asks the archive, and answers after a while without what it was told."""

    @on_message(channel="clarification")
    async def clarify(self, message: AgentMessage) -> dict[str, Any]:
        channel = await self.channels.get(message.channel_id)
        asking = asyncio.create_task(channel.ask("role:archive", {"find": "a schema"}, timeout=600))
        await asyncio.sleep(1)
        asking.cancel()
        return {"answer": "v2.3"}


def test_what_it_should_say_now_is_waited_for_though_it_awaits_an_answer(story: Path) -> None:
    head, lines = load_story(story)
    asks = {**lines[3], "after_seconds": 0, "payload": {"find": "a schema"}}
    differences = play([head, lines[0], asks, {**lines[1], "after_seconds": 0}], agent=Busy()).differences
    assert [str(difference) for difference in differences] == []


def test_another_answer_is_named(story: Path) -> None:
    report = play(story, agent=DataAgent(version="v2.4"))
    [difference] = report.differences
    assert difference.kind == "said"
    assert difference.recorded is not None
    assert difference.recorded["payload"] == {"answer": "v2.3"}
    assert difference.said is not None
    assert difference.said.payload == {"answer": "v2.4"}
    with pytest.raises(AssertionError, match="said {'answer': 'v2.4'} instead of {'answer': 'v2.3'} to asker"):
        report.assert_same()


def test_a_function_says_which_payload_will_do(story: Path) -> None:
    report = play(story, agent=DataAgent(version="v2.4"), matches=lambda recorded, said: recorded.keys() == said.keys())
    assert report.differences == []


def test_an_agent_that_talks_too_much(story: Path) -> None:
    differences = play(story, agent=DataAgent(chatty=True)).differences
    assert [difference.kind for difference in differences] == ["said", "said"]
    assert "said {'text': 'I was asked something!'} to everyone" in str(differences[0])


def test_an_agent_that_says_nothing(story: Path) -> None:
    report = play(story, agent=DataAgent(silent=True))
    assert [difference.kind for difference in report.differences] == ["not_said"] * 3
    assert [line["sender"] for line in report.left_out] == ["archivist"]


def test_an_agent_that_is_not_woken(story: Path) -> None:
    head, lines = load_story(story)
    changed = [dict(line) for line in lines]
    changed[0]["woken"] = []
    report = play([head, *changed], agent=DataAgent())
    [difference] = report.differences
    assert difference.kind == "woken"
    assert "data-agent was woken by {'question': 'which schema?'} of asker" in str(difference)


def test_a_file_that_is_no_story(tmp_path: Path) -> None:
    file = tmp_path / "other.jsonl"
    file.write_text(json.dumps({"sender": "asker"}) + "\n")
    with pytest.raises(ValueError, match="openintent export INTENT --story"):
        load_story(file)

"""Workflow files are read, and the handlers that they name are bound or reported as missing."""

import sys
from pathlib import Path
from typing import Any

import pytest

from openintent_channels import Agent, ChannelOptions, Workflow, WorkflowError, load_workflow

FILE = """
version: "1.0"
intent: {title: Research}
channels:
  data-clarification: {members: [research-agent, data-agent], member_policy: explicit, audit: true}
  progress: {ttl_seconds: 60, max_messages: 10, turn_budget: 0, conversation_budget: 30, task_id: task_1}
  plain:
agents:
  research-agent:
    on_message:
      - {channel: progress, handler: log_progress}
      - {handler: rest}
  data-agent:
    on_message: [{channel: data-clarification, handler: answer}]
  silent-agent: {}
"""
OTHER_HEADER = """
openintent: "1.0"
info: {name: research}
workflow: {fetch: {assign: data-agent}}
agents: [{id: data-agent, on_message: [{channel: c, handler: answer}]}]
"""


def load(tmp_path: Path, text: str) -> Workflow:
    path = tmp_path / "workflow.yaml"
    path.write_text(text, encoding="utf-8")
    return load_workflow(path)


def test_channels_and_bindings_are_read(tmp_path: Path) -> None:
    workflow = load(tmp_path, FILE)
    channel = workflow.channels["data-clarification"]
    assert (channel.members, channel.member_policy) == (("research-agent", "data-agent"), "explicit")
    assert channel.options == ChannelOptions(audit=True)
    assert workflow.channels["progress"].options == ChannelOptions(
        ttl_seconds=60, max_messages=10, turn_budget=0, conversation_budget=30
    )
    assert workflow.channels["progress"].task_id == "task_1"
    assert workflow.channels["plain"].member_policy == "intent"
    bindings = [(b.channel, b.handler) for b in workflow.on_message["research-agent"]]
    assert bindings == [("progress", "log_progress"), (None, "rest")]
    assert workflow.on_message["silent-agent"] == ()


def test_the_other_header_is_read(tmp_path: Path) -> None:
    workflow = load(tmp_path, OTHER_HEADER)
    assert workflow.channels == {}
    assert workflow.on_message["data-agent"][0].handler == "answer"


class Handlers:
    async def log_progress(self, message: Any) -> None: ...

    async def rest(self, message: Any) -> None: ...


def test_an_agent_is_bound_to_an_object_or_a_mapping(tmp_path: Path) -> None:
    load(tmp_path, FILE)
    path, handlers = tmp_path / "workflow.yaml", Handlers()
    mapping = {"log_progress": handlers.log_progress, "rest": handlers.rest}
    for given in (handlers, mapping):
        agent = Agent.from_workflow(path, "research-agent", given, role="research")
        assert [h.channel for h in agent._own_handlers()] == ["progress", None]
        assert (agent._options.agent_id, agent._options.role) == ("research-agent", "research")


@pytest.mark.parametrize("handlers", [object(), {}, {"answer": "no callable"}])
def test_a_missing_handler_is_named(tmp_path: Path, handlers: object) -> None:
    load(tmp_path, FILE)
    with pytest.raises(WorkflowError, match="'answer'"):
        Agent.from_workflow(tmp_path / "workflow.yaml", "data-agent", handlers)


def test_a_missing_agent_is_named(tmp_path: Path) -> None:
    load(tmp_path, FILE)
    with pytest.raises(WorkflowError, match=r"agents\.nobody is not in the workflow"):
        Agent.from_workflow(tmp_path / "workflow.yaml", "nobody", {})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[1]", "the document must be an object"),
        ("channels: {c: {colour: red}}", r"channels\.c\.colour is unknown"),
        ("channels: {c: {members: x}}", r"channels\.c\.members must be a list"),
        ("channels: {c: {member_policy: all}}", "must be intent or explicit"),
        ("channels: {c: {audit: 1}}", "must be true or false"),
        ("channels: {c: {ttl_seconds: true}}", "must be a whole number"),
        ("agents: {a: {on_message: {}}}", r"agents\.a\.on_message must be a list"),
        ("agents: {a: {on_message: [{channel: c}]}}", r"on_message\[0\]\.handler must name a handler"),
        ("agents: {a: {on_message: [{channel: 1, handler: h}]}}", "must name a channel"),
        ("a: [", "line"),
    ],
)
def test_errors_say_what_is_wrong(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(WorkflowError, match=problem) as raised:
        load(tmp_path, text)
    assert "workflow.yaml" in str(raised.value)


def test_without_pyyaml_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(RuntimeError, match=r"openintent-channels\[workflow\]"):
        load(tmp_path, FILE)

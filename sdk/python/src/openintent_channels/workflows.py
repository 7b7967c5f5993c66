"""Workflow files, as far as messages go: the channels of a workflow, and which handlers take an agent's messages.

Reading one needs PyYAML: `pip install 'openintent-channels[workflow]'`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .models import ChannelOptions


class WorkflowError(ValueError):
    """A workflow file that cannot be read, or that names something that is missing. Its text says where."""


@dataclass(frozen=True, slots=True)
class WorkflowChannel:
    """A channel of a workflow."""

    name: str
    members: tuple[str, ...] = ()
    member_policy: str = "intent"
    options: ChannelOptions = field(default_factory=ChannelOptions)
    task_id: str | None = None


@dataclass(frozen=True, slots=True)
class Binding:
    """Which handler takes the messages of a channel. With None as channel, it takes those that no other handler takes."""

    channel: str | None
    handler: str


@dataclass(frozen=True, slots=True)
class Workflow:
    """What a workflow file says about messages: its channels by name, and the bindings of its agents by their ids."""

    channels: Mapping[str, WorkflowChannel]
    on_message: Mapping[str, tuple[Binding, ...]]


def load_workflow(path: str | os.PathLike[str]) -> Workflow:
    """Reads a workflow file, with either form of header. Raises WorkflowError when it is not one, and RuntimeError without
    PyYAML."""
    try:
        import yaml
    except ImportError as error:
        raise RuntimeError("workflow files need PyYAML: pip install 'openintent-channels[workflow]'") from error
    name = os.fspath(path)
    with open(path, encoding="utf-8") as file:
        try:
            document = yaml.safe_load(file)
        except yaml.YAMLError as error:
            raise WorkflowError(f"{name}: {error}") from error
    try:
        return _read(document)
    except WorkflowError as error:
        raise WorkflowError(f"{name}: {error}") from None


def bind(
    workflow: Workflow, agent_id: str, handlers: object | Mapping[str, Callable[..., Any]]
) -> list[tuple[str | None, Callable[..., Any]]]:
    """Finds the handlers that an agent's bindings name. Raises WorkflowError, which says what is missing, when the agent or
    a handler is."""
    if agent_id not in workflow.on_message:
        raise WorkflowError(f"agents.{agent_id} is not in the workflow; it has {_listed(workflow.on_message)}")
    bound = []
    for binding in workflow.on_message[agent_id]:
        if isinstance(handlers, Mapping):
            function = handlers.get(binding.handler)
        else:
            function = getattr(handlers, binding.handler, None)
        if not callable(function):
            raise WorkflowError(f"the handler {binding.handler!r} that agents.{agent_id}.on_message names is missing")
        bound.append((binding.channel, function))
    return bound


def _read(document: Any) -> Workflow:
    members = _object(document, "the document")
    channels = {
        name: _channel(str(name), said) for name, said in _object(members.get("channels"), "channels").items()
    }
    agents = {
        str(agent_id): tuple(_bindings(said, f"agents.{agent_id}.on_message"))
        for agent_id, said in _agents(members.get("agents"))
    }
    return Workflow(channels, agents)


def _agents(said: Any) -> Iterator[tuple[str, Any]]:
    """Yields agents with their on_message. Some forms of the file have a list of agents, which names them by their ids."""
    if isinstance(said, list):
        for i, entry in enumerate(said):
            members = _object(entry, f"agents[{i}]")
            if "id" in members:
                yield members["id"], members.get("on_message")
        return
    for agent_id, entry in _object(said, "agents").items():
        yield agent_id, _object(entry, f"agents.{agent_id}").get("on_message")


def _channel(name: str, said: Any) -> WorkflowChannel:
    path = f"channels.{name}"
    members = _object(said, path)
    known = (
        "members", "member_policy", "audit", "ttl_seconds", "max_messages", "history", "turn_budget", "conversation_budget",
        "task_id",
    )
    for key in members:
        if key not in known:
            raise WorkflowError(f"{path}.{key} is unknown; a channel has {', '.join(known)}")
    listed = members.get("members") or []
    if not isinstance(listed, list) or not all(isinstance(member, str) for member in listed):
        raise WorkflowError(f"{path}.members must be a list of agents")
    policy = members.get("member_policy") or "intent"
    if policy not in ("intent", "explicit"):
        raise WorkflowError(f"{path}.member_policy must be intent or explicit, not {policy!r}")
    history = members.get("history") or "all"
    if history not in ("all", "from_join"):
        raise WorkflowError(f"{path}.history must be all or from_join, not {history!r}")
    return WorkflowChannel(
        name, tuple(listed), policy,
        ChannelOptions(
            audit=_typed(members.get("audit"), bool, f"{path}.audit") or False,
            ttl_seconds=_typed(members.get("ttl_seconds"), int, f"{path}.ttl_seconds"),
            max_messages=_typed(members.get("max_messages"), int, f"{path}.max_messages"),
            history=history,
            turn_budget=_typed(members.get("turn_budget"), int, f"{path}.turn_budget"),
            conversation_budget=_typed(members.get("conversation_budget"), int, f"{path}.conversation_budget"),
        ),
        _typed(members.get("task_id"), str, f"{path}.task_id"),
    )


def _bindings(said: Any, path: str) -> Iterator[Binding]:
    if said is None:
        return
    if not isinstance(said, list):
        raise WorkflowError(f"{path} must be a list")
    for i, entry in enumerate(said):
        members = _object(entry, f"{path}[{i}]")
        handler, channel = members.get("handler"), members.get("channel")
        if not isinstance(handler, str) or not handler:
            raise WorkflowError(f"{path}[{i}].handler must name a handler")
        if channel is not None and not isinstance(channel, str):
            raise WorkflowError(f"{path}[{i}].channel must name a channel")
        yield Binding(channel, handler)


def _object(said: Any, path: str) -> Mapping[str, Any]:
    if said is None:
        return {}
    if not isinstance(said, Mapping):
        raise WorkflowError(f"{path} must be an object")
    return said


_KINDS = {bool: "true or false", int: "a whole number", str: "text"}


def _typed(said: Any, kind: type, path: str) -> Any:
    if said is not None and (not isinstance(said, kind) or kind is int and isinstance(said, bool)):
        raise WorkflowError(f"{path} must be {_KINDS[kind]}")
    return said


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(names) or "no agents"

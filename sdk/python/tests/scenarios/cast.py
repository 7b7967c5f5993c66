"""The agents of scenarios: what their handlers do, and how often they were called."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

from openintent_channels import (
    Agent,
    AgentBase,
    AgentMessage,
    BlockingAgentMessage,
    Digest,
    OpenIntentClient,
    on_digest,
    on_mention,
    on_message,
    on_obligation,
)
from openintent_channels.agents import ReceivedMessage
from scenarios.handled import Calls
from scenarios.references import Names
from scenarios.stage import Stage


class Gates:
    """Gates at which handlers wait until a step opens them."""

    def __init__(self) -> None:
        self._gates: dict[str, threading.Event] = {}
        self._lock = threading.Lock()

    def of(self, name: str) -> threading.Event:
        """Returns the gate of that name."""
        with self._lock:
            return self._gates.setdefault(name, threading.Event())

    def open_all(self) -> None:
        """Opens all gates, so that no handler waits any longer."""
        for gate in self._gates.values():
            gate.set()


class Cast:
    """Makes agents as scenario files describe them: with async handlers, or with plain ones, which run in threads."""

    def __init__(self, stage: Stage, names: Names, gates: Gates, threads: Executor, blocking: bool) -> None:
        self._stage = stage
        self._names = names
        self._gates = gates
        self._threads = threads
        self._blocking = blocking
        self.calls: dict[str, Calls] = {}

    def make(self, said: dict[str, Any]) -> AgentBase:
        """Makes an agent. Its count of calls goes on from that of an earlier agent of its name."""
        calls = self.calls.setdefault(said.get("process", said["id"]), Calls())
        make = self._plain if self._blocking else self._async
        members: dict[str, Any] = {
            f"handler_{i}": _marked(handler)((self._digests if handler.get("digest") else make)(handler, calls))
            for i, handler in enumerate(said.get("handlers", []))
        }
        decorate = Agent(
            self._names.unique(said["id"]),
            role=self._names.unique(said.get("role")),
            concurrency=said.get("concurrency", 16),
            attention=said.get("attention", False),
            skip_unaddressed=said.get("skip_unaddressed", False),
            drain_seconds=said.get("drain", 10),
            compose=said.get("compose", False),
            digest_seconds=said.get("digest_seconds"),
            max_chars=said.get("max_chars"),
            server=self._stage.server,
            api_key=self._stage.api_key,
        )
        agent: AgentBase = decorate(type("ScenarioAgent", (AgentBase,), members))()
        return agent

    def _digests(self, _: dict[str, Any], calls: Calls) -> Callable[..., Any]:
        def plain(_: AgentBase, digest: Digest) -> None:
            calls.note_digest(digest)

        async def handle(_: AgentBase, digest: Digest) -> None:
            calls.note_digest(digest)

        return plain if self._blocking else handle

    def _async(self, does: dict[str, Any], calls: Calls) -> Callable[..., Any]:
        async def handle(agent: AgentBase, message: AgentMessage) -> Any:
            calls.note(message)
            if "gate" in does:
                await asyncio.get_running_loop().run_in_executor(self._threads, self._gates.of(does["gate"]).wait)
            if "note" in does:
                agent.set_status_note(does["note"])
            if "message_reply" in does:
                await message.reply(does["message_reply"])
            if "ask" not in does:
                return _result(does, message)
            channel = await agent.channels.open(does["ask"]["channel"], message.intent_id)
            answer = await channel.ask(self._names.unique(does["ask"]["to"]), does["ask"]["payload"], timeout=20)
            return answer.payload

        return handle

    def _plain(self, does: dict[str, Any], calls: Calls) -> Callable[..., Any]:
        def handle(agent: AgentBase, message: BlockingAgentMessage) -> Any:
            calls.note(message)
            if "gate" in does:
                self._gates.of(does["gate"]).wait()
            if "note" in does:
                agent.set_status_note(does["note"])
            if "message_reply" in does:
                message.reply(does["message_reply"])
            if "ask" not in does:
                return _result(does, message)
            with OpenIntentClient(
                self._stage.server, api_key=self._stage.api_key, agent_id=agent.client.agent_id
            ) as client:
                channel = client.channels.open(does["ask"]["channel"], message.intent_id)
                to = self._names.unique(does["ask"]["to"])
                return channel.ask(to, does["ask"]["payload"], timeout=20).payload

        return handle


def _marked(does: dict[str, Any]) -> Callable[..., Any]:
    if does.get("digest"):
        return on_digest()
    if does.get("obligation"):
        return on_obligation()
    return on_mention() if does.get("mention") else on_message(does.get("channel"))


def _result(does: dict[str, Any], message: ReceivedMessage) -> Any:
    if "fail" in does:
        raise RuntimeError(does["fail"])
    if does.get("attempt"):
        return {"attempt": message.attempt}
    if does.get("echo"):
        return {"echo": message.payload}
    return does.get("reply")

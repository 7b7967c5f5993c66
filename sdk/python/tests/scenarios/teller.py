"""Tells one scenario: its agents on stage, its steps one after the other."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from typing import Any

from openintent_channels import AgentBase, Channel, OpenIntentError
from scenarios.actors import Actor, AsyncActor, BlockingActor
from scenarios.cast import Cast, Gates
from scenarios.deeds import DEEDS
from scenarios.expectations import check, check_error
from scenarios.following import Following
from scenarios.mailboxes import Apart, Box
from scenarios.references import Names, plain, resolve
from scenarios.stage import Stage
from scenarios.story import Story

OPERATOR = ""


class Teller:
    """The state of one scenario that is being told."""

    def __init__(self, stage: Stage, story: Story, blocking: bool) -> None:
        self.stage = stage
        self.story = story
        self.blocking = blocking
        self.run = uuid.uuid4().hex[:10]
        self.names = Names(self.run, _names(story))
        self.gates = Gates()
        self.threads = ThreadPoolExecutor(max_workers=200)
        self.cast = Cast(stage, self.names, self.gates, self.threads, blocking)
        self.facts: dict[str, Any] = {"run": self.run}
        self.actors: dict[str, Actor] = {}
        self.servers: dict[str, str] = {}
        self.handles: dict[tuple[str, str], Any] = {}
        self.created: dict[str, Channel] = {}
        self.agents: dict[str, AgentBase] = {}
        self.followings: dict[str, Following] = {}
        self.background: dict[str, asyncio.Task[Any]] = {}
        self.releases: dict[str, Callable[[], Awaitable[None]]] = {}
        self.mailboxes: dict[str, Box | Apart] = {}
        self.intent_id = ""

    async def tell(self) -> None:
        """Tells the scenario from its beginning to its end, and clears the stage."""
        try:
            operator = self.actor(OPERATOR)
            title = self.story.get("intent", {}).get("title", self.story["name"])
            intent = await operator.call(operator.client.intents.create, title)
            self.facts["intent"] = self.intent_id = intent.id
            for agent in self.story.get("agents", []):
                await self.start_agent(agent)
            for number, step in enumerate(self.story["steps"], 1):
                await self._step(number, step)
        finally:
            await self._clear()

    async def _clear(self) -> None:
        self.gates.open_all()
        ending: list[asyncio.Future[Any]] = list(self.background.values())
        ending += [asyncio.ensure_future(f.end) for f in self.followings.values() if f.end is not None]
        for task in ending:
            task.cancel()
        async with AsyncExitStack() as stack:
            stack.callback(self.threads.shutdown, wait=False, cancel_futures=True)
            for actor in self.actors.values():
                stack.push_async_callback(actor.close)
            for agent in self.agents.values():
                stack.push_async_callback(agent.__aexit__, None, None, None)
            for mailbox in self.mailboxes.values():
                stack.push_async_callback(mailbox.close)
            for release in self.releases.values():
                stack.push_async_callback(release)
        await asyncio.gather(*ending, return_exceptions=True)

    async def start_agent(self, said: dict[str, Any]) -> None:
        """Starts an agent, and returns when it receives."""
        agent = self.cast.make(resolve(said, self.facts))
        await agent.__aenter__()
        self.agents[said.get("process", said["id"])] = agent

    def actor(self, name: str) -> Actor:
        """Returns the actor of that name, with a client of its own."""
        if name not in self.actors:
            server = self.servers.get(name, self.stage.server)
            agent_id = self.names.unique(name) or None
            key = self.stage.api_key
            self.actors[name] = (
                BlockingActor(server, key, agent_id, self.threads) if self.blocking else AsyncActor(server, key, agent_id)
            )
        return self.actors[name]

    async def handle(self, name: str, channel: str, **said: Any) -> Any:
        """Returns an actor's handle of a channel: of the channel that was created, or else of the one that it opens."""
        if (name, channel) not in self.handles:
            actor = self.actor(name)
            if channel in self.created:
                self.handles[name, channel] = actor.handle(self.created[channel])
            else:
                opened = await actor.call(actor.client.channels.open, channel, self.intent_id, **said)
                self.handles[name, channel] = opened
        return self.handles[name, channel]

    async def rest(self, name: str, method: str, path: str, body: Any = None) -> Any:
        """Calls the REST interface as an actor."""
        agent = self.names.unique(name) or None
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.threads, self.stage.rest, method, path, agent, body)

    async def _step(self, number: int, step: dict[str, Any]) -> None:
        what = f"step {number} ({step['do']})"
        if "background" in step:
            self.background[step["background"]] = asyncio.ensure_future(self._do_all(step))
            return
        try:
            try:
                result = await self._do_all(step)
            except OpenIntentError as error:
                if "expect_error" not in step:
                    raise
                result = error
                self._save(step, result)
                check_error(error, resolve(step["expect_error"], self.facts), self._plain(error))
                return
            assert "expect_error" not in step, f"expected {step['expect_error']}, got {self._plain(result)}"
            self._save(step, result)
            if "expect" in step:
                check(self._plain(result), resolve(step["expect"], self.facts))
        except Exception as error:
            raise AssertionError(f"{self.story['file']}: {what}: {type(error).__name__}: {error}") from error

    def _save(self, step: dict[str, Any], result: Any) -> None:
        if "save" in step and step["do"] != "follow":
            self.facts[step["save"]] = self._plain(result)

    def _plain(self, result: Any) -> Any:
        return self.names.common(plain(result))

    async def _do_all(self, step: dict[str, Any]) -> Any:
        """Does a step as often as it says."""
        if "parallel" in step:
            return list(await asyncio.gather(*(self._do(step, i) for i in range(step["parallel"]))))
        if "repeat" in step:
            return [await self._do(step, i) for i in range(step["repeat"])]
        return await self._do(step, 0)

    async def _do(self, step: dict[str, Any], i: int) -> Any:
        said = resolve(step.get("with") or {}, {**self.facts, "i": i})
        for key in ("to", "sender", "members", "mentions"):
            if key in said:
                said[key] = self.names.unique(said[key])
        return await DEEDS[step["do"]](self, step.get("as", OPERATOR), said, step)


def _names(story: Story) -> set[str]:
    """Returns all names of agents, roles and actors."""
    names = {step["as"] for step in story["steps"] if "as" in step}
    agents = [*story.get("agents", []), *(s["with"]["agent"] for s in story["steps"] if s["do"] == "start_agent")]
    for agent in agents:
        names |= {agent["id"], agent.get("role", agent["id"])}
    return names | {s["with"]["role"] for s in story["steps"] if s["do"] == "register"}

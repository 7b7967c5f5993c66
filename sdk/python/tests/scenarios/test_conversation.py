"""What the shared scenarios of conversation cannot say: following annotations, and which handlers are not called."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

import pytest

from openintent_channels import (
    Agent,
    AgentBase,
    AgentMessage,
    Annotation,
    AsyncChannelHandle,
    AsyncOpenIntentClient,
    Message,
    on_message,
)
from scenarios.stage import Stage

PATIENCE = 60.0


class Scene:
    """An intent with a channel, and names that nobody else has."""

    def __init__(self) -> None:
        self.stage = Stage.from_environment()
        self.run = uuid.uuid4().hex[:8]
        self.intent_id = ""
        self.clients: list[AsyncOpenIntentClient] = []

    def name(self, name: str) -> str:
        return f"{name}-{self.run}"

    def client(self, name: str | None) -> AsyncOpenIntentClient:
        agent = None if name is None else self.name(name)
        self.clients.append(AsyncOpenIntentClient(self.stage.server, api_key=self.stage.api_key, agent_id=agent))
        return self.clients[-1]

    async def channel(self, name: str) -> AsyncChannelHandle:
        """Returns the channel as an agent of this name has it."""
        return await self.client(name).channels.open("talk", self.intent_id)

    def agent(self, name: str, *functions: Callable[..., Any], **options: Any) -> AgentBase:
        """Makes an agent with handlers."""
        members = {f"handler_{i}": function for i, function in enumerate(functions)}
        decorate = Agent(self.name(name), server=self.stage.server, api_key=self.stage.api_key, **options)
        made: AgentBase = decorate(type("SceneAgent", (AgentBase,), members))()
        return made


def scene(story: Callable[[Scene], Awaitable[None]]) -> Callable[[], None]:
    """Plays a story on a scene of its own."""

    @wraps(story)
    def play() -> None:
        async def bounded() -> None:
            here = Scene()
            try:
                here.intent_id = (await here.client(None).intents.create("Converse")).id
                await asyncio.wait_for(story(here), PATIENCE)
            finally:
                for client in here.clients:
                    await client.close()

        asyncio.run(bounded())

    # pytest would take the story's parameter for a fixture.
    del play.__wrapped__
    return play


@scene
async def test_reactions_that_are_followed(here: Scene) -> None:
    writer, reader = await here.channel("writer"), await here.channel("reader")
    async with writer.messages(include=["annotations"]) as followed:
        message = await writer.broadcast({"n": 1})
        await reader.react(message, "working", note="on it")
        await reader.react(message, "working", note="on it")
        await reader.unreact(message, "working")
        came: list[Any] = [await anext(followed) for _ in range(3)]
    assert isinstance(came[0], Message)
    assert [(a.type, a.change, a.signal) for a in came[1:] if isinstance(a, Annotation)] == [
        ("message_reaction", "added", "working"),
        ("message_reaction", "removed", "working"),
    ]


@pytest.mark.parametrize("collect", ["one", {"quorum": 2}])
def test_collect(collect: Any) -> None:
    @scene
    async def story(here: Scene) -> None:
        called: list[str] = []

        async def answers(self: AgentBase, message: AgentMessage) -> dict[str, Any]:
            called.append(self.client.agent_id or "")
            return {"by": self.client.agent_id}

        handler = on_message()(answers)
        agents = [here.agent(f"a{i}", handler, role=here.name("r")) for i in range(4)]
        asker = await here.channel("asker")
        async with agents[0], agents[1], agents[2], agents[3]:
            wanted = 1 if collect == "one" else 2
            responses = await asker.ask_all(f"role:{here.name('r')}", {"q": 1}, timeout=30, collect=collect)
        assert len({r.sender for r in responses}) == wanted
        assert len(called) == wanted

    story()

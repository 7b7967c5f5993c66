"""Threads, reactions, claims, exact numbers of answers and mentions, on a server, with both clients."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Any

import pytest

from openintent_channels import (
    Agent,
    AgentBase,
    AgentMessage,
    Annotation,
    AnsweredError,
    AsyncChannelHandle,
    AsyncOpenIntentClient,
    ChannelHandle,
    ClaimedError,
    ClaimLostError,
    Message,
    OpenIntentClient,
    RemoteError,
    on_mention,
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
async def test_threads(here: Scene) -> None:
    writer, reader = await here.channel("writer"), await here.channel("reader")
    root = await writer.broadcast({"text": "Shall we?"}, subject="A plan", kind="agent.chat", priority="high")
    answer = await reader.broadcast({"text": "Yes"}, parent=root)
    further = await writer.broadcast({"text": "Good"}, parent=answer.id)
    assert (root.subject, root.kind, root.priority, root.parent_id) == ("A plan", "agent.chat", "high", None)
    assert (answer.parent_id, further.parent_id, further.thread_id) == (root.id, answer.id, root.id)
    thread = await reader.thread(further)
    assert thread.root is not None
    assert thread.root.id == root.id
    assert [m.id for m in thread.messages if m.id != root.id] == [answer.id, further.id]
    assert set(thread.participants) == {here.name("writer"), here.name("reader")}
    listed = await reader._client.list_messages(reader.id, thread_id=root.id)
    assert [m.id for m in listed] == [root.id, answer.id, further.id]


@scene
async def test_reactions(here: Scene) -> None:
    writer, reader = await here.channel("writer"), await here.channel("reader")
    async with writer.messages(include=["annotations"]) as followed:
        message = await writer.broadcast({"n": 1})
        await reader.react(message, "working", note="on it", eta="soon")
        await reader.react(message, "working", note="on it", eta="soon")
        (reaction,) = await writer.reactions(message)
        assert (reaction.agent_id, reaction.signal, reaction.note) == (here.name("reader"), "working", "on it")
        assert await reader.unreact(message, "working") == []
        came: list[Any] = [await anext(followed) for _ in range(3)]
    assert isinstance(came[0], Message)
    assert [(a.type, a.change, a.signal) for a in came[1:] if isinstance(a, Annotation)] == [
        ("message_reaction", "added", "working"),
        ("message_reaction", "removed", "working"),
    ]


@scene
async def test_claims(here: Scene) -> None:
    asker, one, other = await here.channel("asker"), await here.channel("one"), await here.channel("other")
    holders = here.agent("one", role=here.name("r")), here.agent("other", role=here.name("r"))
    async with holders[0], holders[1]:
        request = await asker.send({"q": 1}, f"role:{here.name('r')}", "request", collect="one")
        async with one.claim(request) as claim:
            with pytest.raises(ClaimedError):
                async with other.claim(request):
                    raise AssertionError("two agents have one place")
            with pytest.raises(ClaimLostError):
                await other._client.reply_to(other.id, request.id, {"a": 0}, fence=claim.fence - 1)
            answered = await one._client.reply_to(one.id, request.id, {"a": 1}, fence=claim.fence)
        assert answered.correlation_id == request.id
        with pytest.raises(AnsweredError):
            async with other.claim(request):
                raise AssertionError("it has its answer")


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


@scene
async def test_collect_one_after_failures(here: Scene) -> None:
    async def fails(self: AgentBase, message: AgentMessage) -> None:
        raise LookupError("not mine")

    async with here.agent("a", on_message()(fails), role=here.name("r")):
        asker = await here.channel("asker")
        with pytest.raises(RemoteError, match="not mine"):  # three attempts, with seconds between them
            await asker.ask(f"role:{here.name('r')}", {"q": 1}, timeout=30, collect="one")


@scene
async def test_mentions(here: Scene) -> None:
    asker = await here.channel("asker")
    told = asyncio.Event()

    async def answers(self: AgentBase, message: AgentMessage) -> dict[str, Any]:
        told.set()
        return {"reason": message.attention.reason if message.attention else None}

    async def plain(self: AgentBase, message: AgentMessage) -> dict[str, Any]:
        return {"reason": "another handler"}

    name = here.name("me")
    request = await asker.send({"text": f"@{name} please"}, name, "request", mentions=[name])
    assert request.mentions == (name,)
    why = await asker.attention(request, name)
    assert why.attention is not None
    assert (why.attention.reason, why.attention.policy, why.attention.directedness) == ("mention", "must_respond", "to_me")
    assert why.rules
    async with here.agent("me", on_message()(plain), on_mention()(answers)):  # it finds the request in its inbox
        answer = await asker._client.resume_ask(asker.id, request.id, 30)
    assert answer.payload == {"reason": "mention"}


@scene
async def test_what_happens_in_threads_of_blocking_programs(here: Scene) -> None:
    def play() -> None:
        with OpenIntentClient(here.stage.server, api_key=here.stage.api_key, agent_id=here.name("b")) as client:
            channel: ChannelHandle = client.channels.open("talk", here.intent_id)
            root = channel.broadcast({"n": 1}, subject="s")
            channel.broadcast({"n": 2}, parent=root)
            assert len([m for m in channel.thread(root).messages if m.id != root.id]) == 1
            assert [r.signal for r in channel.react(root, "x-mine")] == ["x-mine"]
            assert channel.unreact(root, "x-mine") == channel.reactions(root) == []
            with channel.claim(root, ttl=30) as claim:
                assert claim.fence > 0
                assert not claim.lost
            client.get_attention(channel.id, root.id, here.name("somebody"))

    with ThreadPoolExecutor(1) as threads:
        await asyncio.get_running_loop().run_in_executor(threads, play)

"""Runs that a program starts itself, with the capability alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from stage import PATIENCE, Stage

from openintent_channels import AsyncMailbox, AsyncOpenIntentClient
from openintent_channels.pydantic_ai import inbox, serve


async def waiting(mailbox: AsyncMailbox) -> None:
    """Waits until something waits."""
    came = asyncio.Event()
    end = mailbox.wake(came.set)
    await asyncio.wait_for(came.wait(), PATIENCE)
    end()


def test_a_cancelled_stream_settles_nothing_and_a_run_that_ends_does(stage: Stage) -> None:
    async def play() -> None:
        shown = asyncio.Event()

        async def stream(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[str]:
            assert message in str(messages)
            shown.set()
            yield "I begin"
            await asyncio.Event().wait()

        async def respond(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
            assert message in str(messages)
            return ModelResponse(parts=[TextPart("done")])

        async with AsyncOpenIntentClient(agent_id=stage.agent) as client, client.mailbox(stage.agent) as mailbox:
            message = stage.send("Look.")
            await waiting(mailbox)
            model = FunctionModel(respond, stream_function=stream)
            agent: Agent[None, str] = Agent(model, name="runner", capabilities=[inbox(mailbox, "runner")])

            async def streams() -> None:
                async with agent.run_stream("What is there?") as result:
                    async for _ in result.stream_text():
                        pass

            streaming = asyncio.ensure_future(streams())
            await asyncio.wait_for(shown.wait(), PATIENCE)
            streaming.cancel()
            await asyncio.wait([streaming])
            assert mailbox.waiting == 1, "it comes again"
            await agent.run("What is there?")
            assert mailbox.waiting == 0 and mailbox._mail.letter(message) is None, "it is settled"

    asyncio.run(play())


def test_an_agent_without_a_name_is_refused() -> None:
    async def play() -> None:
        async with AsyncOpenIntentClient(agent_id="nameless") as client:
            agent: Agent[None, Any] = Agent("test")
            with pytest.raises(ValueError, match="the agent needs a name"):
                await serve(agent, client.mailbox("nameless"))

    asyncio.run(play())

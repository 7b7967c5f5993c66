"""An agent of Pydantic AI with a scripted model, and a second one to which it delegates."""

from __future__ import annotations

import asyncio
import pathlib
from typing import Any

from plan import AGENT, DRAIN, STORE, Plan, client
from pydantic_ai import Agent
from pydantic_ai.conversation import ConversationTypeAdapter
from pydantic_ai.conversation_store import InMemoryConversationStore
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from openintent_channels.pydantic_ai import inbox, serve, toolset


def model(plan: Plan, agent: str) -> FunctionModel:
    """A model that follows the plan."""

    async def respond(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        parts: list[Any] = [part for message in messages for part in message.parts]
        told = [str(part.content) for part in parts if isinstance(part, UserPromptPart)]
        called = [part.tool_call_id for part in parts if isinstance(part, ToolCallPart)]
        results = [(part.tool_call_id, str(part.content)) for part in parts if isinstance(part, ToolReturnPart)]
        step = await plan.next(agent, told, called, results)
        calls = [ToolCallPart(call.name, call.args, tool_call_id=call.id) for call in step.calls]
        return ModelResponse(parts=[*calls] or [TextPart(step.text)])

    return FunctionModel(respond)


class FileStore(InMemoryConversationStore):
    """A store that a process finds again which begins after a crash."""

    async def load(self, *args: Any, **options: Any) -> Any:
        if pathlib.Path(STORE).exists():
            return ConversationTypeAdapter.validate_json(pathlib.Path(STORE).read_bytes())
        return None

    async def save(self, conversation: Any, **_: Any) -> Any:
        text = ConversationTypeAdapter.dump_json(conversation.conversation)
        pathlib.Path(STORE + ".new").write_bytes(text)
        pathlib.Path(STORE + ".new").replace(STORE)
        return []


async def main() -> None:
    async with client() as channels, channels.mailbox(AGENT) as mailbox:
        plan = Plan(mailbox)

        async def note(text: str) -> str:
            return f"noted: {text}"

        mail = inbox(mailbox, AGENT)
        other: Agent[None, str] = Agent(model(plan, "other"), name="other", tools=[note], capabilities=[mail])
        agent: Agent[None, str] = Agent(model(plan, "main"), name=AGENT, tools=[note], toolsets=[toolset(mailbox)])

        @agent.tool_plain
        async def delegate(text: str) -> str:
            return (await other.run(text)).output

        await serve(agent, mailbox, store=FileStore() if STORE else None, drain_seconds=DRAIN)


asyncio.run(main())

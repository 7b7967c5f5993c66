"""An agent of the Microsoft Agent Framework with a scripted model, and a second one to which it delegates."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FileSessionStore,
    FunctionInvocationLayer,
    Message,
    tool,
)
from plan import AGENT, DRAIN, STORE, Plan, client

from openintent_channels.agent_framework import inbox, serve, tools


class Planned(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], BaseChatClient[Any]):
    """A model that follows the plan."""

    def __init__(self, plan: Plan, agent: str) -> None:
        super().__init__()
        self._plan, self._agent = plan, agent

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **_: Any
    ) -> Awaitable[ChatResponse]:
        return self._respond(messages)

    async def _respond(self, messages: Sequence[Message]) -> ChatResponse:
        told = [message.text for message in messages if message.role == "user"]
        parts = [part for message in messages for part in message.contents]
        called = [str(part.call_id) for part in parts if part.type == "function_call"]
        results = [(str(part.call_id), str(part.result)) for part in parts if part.type == "function_result"]
        step = await self._plan.next(self._agent, told, called, results)
        calls = [Content.from_function_call(call.id, call.name, arguments=call.args) for call in step.calls]
        return ChatResponse(messages=[Message("assistant", calls or [step.text])])


async def main() -> None:
    async with client() as channels, channels.mailbox(AGENT) as mailbox:
        plan = Plan(mailbox)
        mail = inbox(mailbox, AGENT)

        @tool
        async def note(text: str) -> str:
            """Note something."""
            return f"noted: {text}"

        other: Agent[Any] = Agent(Planned(plan, "other"), name="other", tools=[note], context_providers=[mail])

        @tool
        async def delegate(text: str) -> str:
            """Delegate something."""
            return (await other.run(text)).text

        agent: Agent[Any] = Agent(
            Planned(plan, "main"), name=AGENT, tools=[*tools(mailbox), note, delegate], context_providers=[mail]
        )
        await serve(agent, mailbox, store=FileSessionStore(STORE) if STORE else None, drain_seconds=DRAIN)


asyncio.run(main())

"""An agent of LangChain with a scripted model, and a second one to which it delegates."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from plan import AGENT, DRAIN, STORE, Plan, client

from openintent_channels.langchain import inbox, serve, tools


class Model(BaseChatModel):
    """A model that follows the plan."""

    plan: Any
    agent: str

    @property
    def _llm_type(self) -> str:
        return "planned"

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        return self

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError

    async def _agenerate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        told = [str(message.content) for message in messages if isinstance(message, HumanMessage)]
        called = [str(call["id"]) for message in messages if isinstance(message, AIMessage) for call in message.tool_calls]
        results = [(item.tool_call_id, str(item.content)) for item in messages if isinstance(item, ToolMessage)]
        step = await self.plan.next(self.agent, told, called, results)
        calls: Any = [{"id": call.id, "name": call.name, "args": call.args} for call in step.calls]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(step.text, tool_calls=calls))])


class HangAfter(AgentMiddleware[Any, Any, Any]):
    """Lets a tool call hang when it is done, before LangGraph has stored its result."""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self._plan = plan

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        result = await handler(request)
        await self._plan.after_tool(request.tool_call["name"])
        return result


@contextlib.asynccontextmanager
async def saver() -> AsyncIterator[AsyncSqliteSaver | None]:
    """What a process finds again which begins after a crash."""
    if not STORE:
        yield None
        return
    async with AsyncSqliteSaver.from_conn_string(STORE) as made:
        yield made


async def main() -> None:
    async with client() as channels, channels.mailbox(AGENT) as mailbox, saver() as checkpointer:
        plan = Plan(mailbox)
        mail = inbox(mailbox, AGENT)

        @tool
        async def note(text: str) -> str:
            """Note something."""
            return f"noted: {text}"

        other: Any = create_agent(Model(plan=plan, agent="other"), [note], name="other", middleware=[mail])

        @tool
        async def delegate(text: str) -> str:
            """Delegate something."""
            return str((await other.ainvoke({"messages": [HumanMessage(text)]}))["messages"][-1].content)

        agent: Any = create_agent(
            Model(plan=plan, agent="main"), [*tools(mailbox), note, delegate], name=AGENT,
            middleware=[mail, HangAfter(plan)],
            checkpointer=checkpointer,
        )
        await serve(agent, mailbox, drain_seconds=DRAIN)


asyncio.run(main())

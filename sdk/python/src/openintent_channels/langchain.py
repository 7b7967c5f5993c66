"""A mailbox for agents of LangChain and graphs of LangGraph: `tools` and `inbox` for `create_agent`, and `serve`.

    agent = create_agent(model, tools(mailbox), name="researcher", middleware=[inbox(mailbox, "researcher")])
    await serve(agent, mailbox)

A graph of one's own calls `new_messages` in the node before its model. `run_of` is for programs that start their runs
themselves.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from ._agent_runs import HEADING, ServingOptions, Showing, call_key, current_showing, missing, run_of, serve_runs, tool_call
from .async_mailbox import AsyncMailbox
from .mail import MailboxMessage

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState
    from langchain.agents.middleware.types import ToolCallRequest
    from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import BaseTool, StructuredTool
    from langgraph.config import get_config
    from langgraph.graph.state import CompiledStateGraph
    from langgraph.runtime import Runtime
    from langgraph.types import Command
except ImportError as error:
    raise missing("langchain", "langchain", "langchain 1.5 or newer", error) from None

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["inbox", "new_messages", "run_of", "serve", "tools"]

State = AgentState[Any]


def tools(mailbox: AsyncMailbox) -> list[BaseTool]:
    """Returns what an agent does with its mailbox: `answer`, `decline`, `send`, `ask`, `react`, `claim`, `defer`, `read`. In
    an agent with `inbox` and a checkpointer, `send` and `ask` happen once when a tool call is repeated after a crash."""
    return [StructuredTool.from_function(coroutine=tool, parse_docstring=True) for tool in mailbox.tools(call_key)]


def inbox(mailbox: AsyncMailbox, agent: str) -> AgentMiddleware[Any, Any, Any]:
    """Returns the middleware that shows the runs of the agent of this name what came, before each call of its model. Other
    agents are shown nothing, and neither are runs outside `serve` and `run_of`."""
    return _Inbox(mailbox, agent)


async def new_messages(mailbox: AsyncMailbox, history: Sequence[BaseMessage]) -> list[HumanMessage]:
    """Returns what came, for a node before the model of a graph of one's own, which adds it to the `history` that it gives.
    Outside `serve` and `run_of` it returns nothing."""
    showing = current_showing(mailbox)
    if showing is None:
        return []
    await showing.look()
    return _unheld(showing.messages, history)


async def serve(
    agent: CompiledStateGraph[Any, Any, Any, Any],
    mailbox: AsyncMailbox,
    *,
    thread_id: str | None = None,
    config: RunnableConfig | None = None,
    context: Any = None,
    **options: Unpack[ServingOptions],
) -> None:
    """Runs the agent whenever something waits, one run at a time, until SIGINT or SIGTERM. The run that is under way has
    `drain_seconds` then. With a checkpointer all runs are one thread, which goes under the mailbox's agent unless
    `thread_id` names another; a run that a crash cut short goes on from its last checkpoint, and a run is settled when its
    last checkpoint is written. Without one, each run stands alone. `config` and `context` go to each run. Raises the last
    run's error when `most_failures` have failed in a row."""
    said: RunnableConfig = {**(config or {})}
    said["configurable"] = {"thread_id": thread_id or mailbox.agent_id, **said.get("configurable", {})}
    stores = bool(agent.checkpointer)

    async def go_on(with_what: Any) -> None:
        await agent.ainvoke(with_what, said, context=context, durability="sync" if stores else None)

    async def run(showing: Showing) -> None:
        state = await agent.aget_state(said) if stores else None
        if state is not None and state.next and not state.interrupts:
            await go_on(None)
            state = await agent.aget_state(said)
        if new := _unheld(showing.messages, state.values.get("messages", []) if state else []):
            await go_on({"messages": new})

    await serve_runs(mailbox, run, **options)


class _Inbox(AgentMiddleware[State, Any, Any]):
    """Shows the runs of one agent what came."""

    def __init__(self, mailbox: AsyncMailbox, agent: str) -> None:
        super().__init__()
        self._mailbox, self._agent = mailbox, agent

    def _is_for_this_agent(self) -> bool:
        return bool(get_config().get("metadata", {}).get("lc_agent_name") == self._agent)

    async def abefore_model(self, state: State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        if not self._is_for_this_agent():
            return None
        new = await new_messages(self._mailbox, state["messages"])
        return {"messages": new} if new else None

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        thread = get_config().get("configurable", {}).get("thread_id")
        if thread is None or not self._is_for_this_agent():
            return await handler(request)
        with tool_call(str(thread), str(request.tool_call["id"])):
            return await handler(request)


def _unheld(messages: Sequence[MailboxMessage], history: Sequence[BaseMessage]) -> list[HumanMessage]:
    """Returns the messages that a history does not hold, as it will hold them."""
    held = {message.id for message in history}
    return [
        HumanMessage(f"{HEADING}\n{message.text}", id=name)
        for message in messages
        if (name := f"openintent-{message.id}") not in held
    ]

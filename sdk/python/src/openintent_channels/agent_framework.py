"""A mailbox for agents of the Microsoft Agent Framework: `tools` and `inbox` for an agent, and `serve`, which runs it when
something came.

    agent = Agent(client, name="researcher", tools=tools(mailbox), context_providers=[inbox(mailbox, "researcher")])
    await serve(agent, mailbox)

`run_of` is for programs that start their runs themselves.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from ._agent_runs import ServingOptions, Showing, current_showing, missing, run_of, serve_runs, text_of
from .async_mailbox import AsyncMailbox

try:
    from agent_framework import (
        Agent,
        AgentSession,
        ChatContext,
        ChatMiddleware,
        ContextProvider,
        FunctionTool,
        Message,
        SessionContext,
        SessionStore,
        SupportsAgentRun,
        tool,
    )
except ImportError as error:
    raise missing("agent_framework", "agent-framework", "agent-framework-core 1.23 or newer", error) from None

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["inbox", "run_of", "serve", "tools"]


def tools(mailbox: AsyncMailbox) -> list[FunctionTool]:
    """Returns what an agent does with its mailbox: `answer`, `decline`, `send`, `ask`, `react`, `claim`, `defer`, `read`."""
    return [tool(function) for function in mailbox.tools()]


def inbox(mailbox: AsyncMailbox, agent: str) -> ContextProvider:
    """Returns the context provider that shows the runs of the agent of this name what came, before each call of its model,
    and adds it to their history. Other agents are shown nothing, and neither are runs outside `serve` and `run_of`."""
    return _Inbox(mailbox, agent)


async def serve(
    agent: Agent[Any],
    mailbox: AsyncMailbox,
    *,
    store: SessionStore | None = None,
    session_id: str | None = None,
    **options: Unpack[ServingOptions],
) -> None:
    """Runs the agent whenever something waits, one run at a time, until SIGINT or SIGTERM. The run that is under way has
    `drain_seconds` then. With a `store` all runs are one session, which goes under the agent's name unless `session_id`
    names another, and a run is settled when its session is stored; without one, each run stands alone. Raises ValueError
    for an agent without `inbox`, and the last run's error when `most_failures` have failed in a row."""
    if not any(isinstance(provider, _Inbox) for provider in agent.context_providers):
        raise ValueError("the agent needs the mailbox: Agent(..., context_providers=[inbox(mailbox, name)])")
    kept = session_id or agent.name or mailbox.agent_id

    async def run(showing: Showing) -> None:
        found = None if store is None else await store.get(kept)
        session = found or AgentSession()
        await agent.run(text_of(showing.messages), session=session)
        if store is not None:
            await store.set(kept, session)

    await serve_runs(mailbox, run, **options)


class _Inbox(ContextProvider):
    """Shows the runs of one agent what came."""

    def __init__(self, mailbox: AsyncMailbox, agent: str) -> None:
        super().__init__("openintent")
        self._mailbox, self._agent = mailbox, agent

    async def before_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        showing = current_showing(self._mailbox) if agent.name == self._agent else None
        if showing is not None:
            context.extend_middleware(self.source_id, _Showing(showing, context))


class _Showing(ChatMiddleware):
    """Shows one run what came. The framework forgets what a middleware adds to the messages of a call, so each later call is
    given it at the same place; the history gets it from the run's input."""

    def __init__(self, showing: Showing, run: SessionContext) -> None:
        self._showing, self._run = showing, run
        self._came: list[tuple[int, Message]] = []

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        messages = [*context.messages]
        if new := text_of(await self._showing.look()):
            message = Message("user", [new])
            self._came.append((len(messages), message))
            self._run.input_messages.append(message)
        for at, message in reversed(self._came):
            messages.insert(at, message)
        context.messages = messages
        await call_next()

"""A mailbox for agents of CrewAI: `tools` gives an agent its tools, and `serve` runs it when something came.

    agent = Agent(role="researcher", goal="...", backstory="...", llm=llm, tools=tools(mailbox))
    await serve(agent, mailbox)

CrewAI runs agents in threads, beside the event loop of the mailbox. `inbox` and `run_of` are for programs that start their
crews themselves.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, get_type_hints

from ._agent_runs import ServingOptions, Showing, current_showing, missing, run_of, serve_runs, text_of
from .async_mailbox import AsyncMailbox

try:
    from crewai import Agent
    from crewai.hooks import LLMCallHookContext
    from crewai.hooks.dispatch import HookAborted, InterceptionPoint, scoped_hooks
    from crewai.tools import BaseTool, tool
except ImportError as error:
    raise missing("crewai", "crewai", "crewai 1.15 or newer", error) from None

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["inbox", "run_of", "serve", "tools"]


def tools(mailbox: AsyncMailbox) -> list[BaseTool]:
    """Returns what an agent does with its mailbox: `answer`, `decline`, `send`, `ask`, `react`, `claim`, `defer`, `read`.
    Call it in the event loop of the mailbox."""
    loop = asyncio.get_running_loop()
    return [tool(function.__name__)(_in_thread(function, loop)) for function in mailbox.tools()]


def inbox(mailbox: AsyncMailbox, role: str) -> Callable[[LLMCallHookContext], None]:
    """Returns the `before_llm_call` hook that shows the runs of the agent with this role what came, before each call of its
    model. Other agents are shown nothing, and neither are runs outside `serve` and `run_of`. Call it in the event loop of
    the mailbox, and start crews in threads (`asyncio.to_thread(crew.kickoff)`)."""
    return _Inbox(mailbox, role)


async def serve(agent: Agent, mailbox: AsyncMailbox, **options: Unpack[ServingOptions]) -> None:
    """Runs the agent whenever something waits, one run at a time, until SIGINT or SIGTERM. The run that is under way has
    `drain_seconds` then; after that it ends at its model's next call, because a thread cannot be stopped. Each run stands
    alone, and is settled when it has ended. Raises the last run's error when `most_failures` have failed in a row."""

    async def run(showing: Showing) -> None:
        hook = _Inbox(mailbox, agent.role)
        try:
            with scoped_hooks({InterceptionPoint.PRE_MODEL_CALL: [hook]}):
                await asyncio.to_thread(agent.kickoff, text_of(showing.messages))
        except asyncio.CancelledError:
            hook.ended = True
            raise

    await serve_runs(mailbox, run, **options)


class _Inbox:
    """Shows the runs of one agent what came."""

    def __init__(self, mailbox: AsyncMailbox, role: str) -> None:
        self._mailbox, self._role = mailbox, role
        self._loop = asyncio.get_running_loop()
        self.ended = False

    def __call__(self, context: LLMCallHookContext) -> None:
        if self.ended:
            raise HookAborted("the run was stopped", "openintent")
        showing = current_showing(self._mailbox)
        if showing is None or getattr(context.agent, "role", None) != self._role:
            return
        if new := text_of(asyncio.run_coroutine_threadsafe(showing.look(), self._loop).result()):
            context.messages.append({"role": "user", "content": new})  # the run holds it from this call on


def _in_thread(function: Callable[..., Any], loop: asyncio.AbstractEventLoop) -> Callable[..., Any]:
    """Makes of a function for an event loop one for other threads."""

    @functools.wraps(function)
    def called(*args: Any, **options: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(function(*args, **options), loop).result()

    called.__annotations__ = get_type_hints(function)
    return called

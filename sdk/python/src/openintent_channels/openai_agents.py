"""A mailbox for agents of the OpenAI Agents SDK: `tools` gives an agent its tools, and `serve` runs it when something came.

    agent = Agent(name="researcher", model=model, tools=[*tools(mailbox)])
    await serve(agent, mailbox)

`inbox` and `run_of` are for programs that start their runs themselves.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from ._agent_runs import ServingOptions, Showing, current_showing, missing, run_of, serve_runs, text_of
from .async_mailbox import AsyncMailbox

try:
    from agents import Agent, RunConfig, Runner, Tool, TResponseInputItem, function_tool
    from agents.memory import Session
    from agents.run_config import CallModelData, CallModelInputFilter, ModelInputData
except ImportError as error:
    raise missing("openai_agents", "openai-agents", "openai-agents 0.24 or newer", error) from None

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["inbox", "run_of", "serve", "tools"]

ContextT = TypeVar("ContextT")


def tools(mailbox: AsyncMailbox) -> list[Tool]:
    """Returns what an agent does with its mailbox: `answer`, `decline`, `send`, `ask`, `react`, `claim`, `defer`, `read`."""
    return [function_tool(tool, strict_mode=False) for tool in mailbox.tools()]


def inbox(mailbox: AsyncMailbox, agent: str) -> CallModelInputFilter:
    """Returns the `call_model_input_filter` of a RunConfig that shows the runs of the agent of this name what came, before
    each call of its model. Other agents are shown nothing, and neither are runs outside `serve` and `run_of`."""
    return _Inbox(mailbox, agent)


async def serve(
    agent: Agent[ContextT],
    mailbox: AsyncMailbox,
    *,
    session: Session | None = None,
    context: ContextT | None = None,
    run_config: RunConfig | None = None,
    max_turns: int = 10,
    **options: Unpack[ServingOptions],
) -> None:
    """Runs the agent whenever something waits, one run at a time, until SIGINT or SIGTERM. The run that is under way has
    `drain_seconds` then. With a `session` all runs are one conversation, and a run is settled when the session holds it
    and all that came meanwhile; without one, each run stands alone. The rest goes to each run. Raises the last run's error
    when `most_failures` have failed in a row."""
    given = run_config or RunConfig()
    shown = _Inbox(mailbox, agent.name, given.call_model_input_filter)

    async def run(showing: Showing) -> None:
        first = text_of(showing.messages)
        config = replace(given, call_model_input_filter=shown)
        await Runner.run(agent, first, session=session, context=context, run_config=config, max_turns=max_turns)
        meanwhile = shown.came(showing)
        if session is not None and meanwhile:
            await session.add_items(meanwhile)

    await serve_runs(mailbox, run, **options)


class _Inbox:
    """Shows the runs of one agent what came. The framework forgets what a filter adds to the input of a call, so each later
    call is given it at the same place."""

    def __init__(self, mailbox: AsyncMailbox, agent: str, after: CallModelInputFilter | None = None) -> None:
        self._mailbox, self._agent, self._after = mailbox, agent, after
        self._came: WeakKeyDictionary[Showing, list[tuple[int, TResponseInputItem]]] = WeakKeyDictionary()

    def came(self, showing: Showing) -> list[TResponseInputItem]:
        """Returns what came during a run."""
        return [item for _, item in self._came.get(showing, [])]

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        showing = current_showing(self._mailbox) if data.agent.name == self._agent else None
        if showing is not None:
            items = [*data.model_data.input]
            came = self._came.setdefault(showing, [])
            if new := text_of(await showing.look()):
                came.append((len(items), {"role": "user", "content": new}))
            for at, item in reversed(came):
                items.insert(at, item)
            data = replace(data, model_data=replace(data.model_data, input=items))
        if self._after is None:
            return data.model_data
        filtered = self._after(data)
        return await filtered if inspect.isawaitable(filtered) else filtered

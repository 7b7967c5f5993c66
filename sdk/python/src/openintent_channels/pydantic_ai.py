"""A mailbox for agents of Pydantic AI: `toolset` gives an agent its tools, and `serve` runs it when something came.

    agent = Agent(model, name="researcher", toolsets=[toolset(mailbox)])
    await serve(agent, mailbox)

`inbox` is for programs that start their runs themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ._agent_runs import ServingOptions, Showing, current_showing, missing, run_of, serve_runs, text_of, unheld
from .async_mailbox import AsyncMailbox

try:
    from pydantic_ai import Agent, RunContext
    from pydantic_ai.capabilities import AbstractCapability, WrapRunHandler
    from pydantic_ai.conversation import Conversation
    from pydantic_ai.conversation_store import ConversationStore
    from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.run import AgentRunResult
    from pydantic_ai.toolsets import FunctionToolset
except ImportError as error:
    raise missing("pydantic_ai", "pydantic-ai", "pydantic-ai-slim 2.68 or newer", error) from None

if TYPE_CHECKING:
    from typing_extensions import Unpack

DepsT = TypeVar("DepsT")


def toolset(mailbox: AsyncMailbox) -> FunctionToolset[Any]:
    """Returns what an agent does with its mailbox: `answer`, `decline`, `send`, `ask`, `react`, `claim`, `defer`, `read`."""
    return FunctionToolset(mailbox.tools(), id="openintent", docstring_format="google")


def inbox(mailbox: AsyncMailbox, agent: str) -> AbstractCapability[Any]:
    """Returns the capability that shows the runs of the agent of this name what came, before each request to its model,
    and settles it when the run has ended well. Runs of other agents are shown nothing."""
    return _Inbox(mailbox, agent)


async def serve(
    agent: Agent[DepsT, Any],
    mailbox: AsyncMailbox,
    *,
    deps: DepsT | None = None,
    store: ConversationStore | None = None,
    conversation_id: str | None = None,
    **options: Unpack[ServingOptions],
) -> None:
    """Runs the agent whenever something waits, one run at a time, until SIGINT or SIGTERM. The run that is under way has
    `drain_seconds` then. With a `store` all runs are one conversation, which goes under the agent's name unless
    `conversation_id` names another, and a run is settled when it is stored; without one, each run stands alone. Raises
    ValueError for an agent without a name, and the last run's error when `most_failures` have failed in a row."""
    name = agent.name
    if not name:
        raise ValueError("the agent needs a name: Agent(model, name=...)")
    shown: Any = _Inbox(mailbox, name)

    async def run(showing: Showing) -> None:
        said: dict[str, Any] = {"deps": deps, "capabilities": [shown]}
        new = showing.messages
        if store is not None:
            conversation = await store.load(conversation_id or name) or Conversation(conversation_id=conversation_id or name)
            said["conversation"] = conversation
            new = unheld(new, _told(conversation.messages))
        if new:  # what the history holds came again because the process ended before it was settled
            result = await agent.run(text_of(new), **said)
            if store is not None:
                await store.save(result)

    await serve_runs(mailbox, run, **options)


class _Inbox(AbstractCapability[Any]):
    """Shows the runs of one agent what came."""

    def __init__(self, mailbox: AsyncMailbox, agent: str) -> None:
        self._mailbox, self._agent = mailbox, agent

    def _is_for(self, ctx: RunContext[Any]) -> bool:
        return ctx.agent is not None and ctx.agent.name == self._agent

    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        if not self._is_for(ctx):
            return await handler()
        async with run_of(self._mailbox):
            return await handler()

    async def before_model_request(self, ctx: RunContext[Any], request_context: ModelRequestContext) -> ModelRequestContext:
        showing = current_showing(self._mailbox) if self._is_for(ctx) else None
        if showing is not None and (new := await showing.look()):
            ctx.enqueue(text_of(new))  # the history of the run holds it from this request on
        return request_context


def _told(history: list[ModelMessage]) -> list[str]:
    """Returns what a history was told from outside."""
    parts = [part for message in history if isinstance(message, ModelRequest) for part in message.parts]
    return [part.content for part in parts if isinstance(part, UserPromptPart) and isinstance(part.content, str)]

"""A mailbox for agents of Google's Agent Development Kit: `tools` gives an agent its tools, and `serve` runs it when
something came.

    agent = Agent(name="researcher", model=model, tools=[*tools(mailbox)])
    await serve(agent, mailbox)

`inbox` and `run_of` are for programs that have a runner of their own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

from ._agent_runs import ServingOptions, Showing, current_showing, missing, run_of, serve_runs, text_of
from .async_mailbox import AsyncMailbox

try:
    from google.adk.agents import BaseAgent
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.apps import App
    from google.adk.events import Event
    from google.adk.models.llm_request import LlmRequest
    from google.adk.models.llm_response import LlmResponse
    from google.adk.plugins import BasePlugin
    from google.adk.runners import Runner
    from google.adk.sessions import BaseSessionService, InMemorySessionService
    from google.adk.tools.function_tool import FunctionTool
    from google.genai.types import Content, Part
except ImportError as error:
    raise missing("google_adk", "google-adk", "google-adk 2.13 or newer", error) from None

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["inbox", "run_of", "serve", "tools"]

_APP = "openintent"


def tools(mailbox: AsyncMailbox) -> list[FunctionTool]:
    """Returns what an agent does with its mailbox: `answer`, `decline`, `send`, `ask`, `react`, `claim`, `defer`, `read`."""
    return [FunctionTool(tool) for tool in mailbox.tools()]


def inbox(mailbox: AsyncMailbox, agent: str) -> BasePlugin:
    """Returns the plugin that shows the runs of the agent of this name what came, before each call of its model, and appends
    it to their session. Other agents are shown nothing, and neither are runs outside `serve` and `run_of`."""
    return _Inbox(mailbox, agent)


async def serve(
    agent: BaseAgent,
    mailbox: AsyncMailbox,
    *,
    session_service: BaseSessionService | None = None,
    session_id: str | None = None,
    app_name: str = _APP,
    user_id: str = _APP,
    plugins: Sequence[BasePlugin] = (),
    **options: Unpack[ServingOptions],
) -> None:
    """Runs the agent whenever something waits, one run at a time, until SIGINT or SIGTERM. The run that is under way has
    `drain_seconds` then. With a `session_service` all runs are one session, which goes under the agent's name unless
    `session_id` names another; without one, each run stands alone. A run is settled when its last event is appended.
    Raises the last run's error when `most_failures` have failed in a row."""
    sessions = session_service or InMemorySessionService()
    app = App(name=app_name, root_agent=agent, plugins=[_Inbox(mailbox, agent.name), *plugins])
    runner = Runner(app=app, session_service=sessions)
    kept = None if session_service is None else session_id or agent.name

    async def run(showing: Showing) -> None:
        name = kept or str(uuid4())
        if await sessions.get_session(app_name=app_name, user_id=user_id, session_id=name) is None:
            await sessions.create_session(app_name=app_name, user_id=user_id, session_id=name)
        running = runner.run_async(user_id=user_id, session_id=name, new_message=_content(text_of(showing.messages)))
        async with contextlib.aclosing(running) as events:
            async for _ in events:
                pass
        if kept is None:
            await sessions.delete_session(app_name=app_name, user_id=user_id, session_id=name)

    try:
        await serve_runs(mailbox, run, **options)
    finally:
        await runner.close()


class _Inbox(BasePlugin):
    """Shows the runs of one agent what came."""

    def __init__(self, mailbox: AsyncMailbox, agent: str) -> None:
        super().__init__(name=f"openintent_{agent}")
        self._mailbox, self._agent = mailbox, agent

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        showing = current_showing(self._mailbox) if callback_context.agent_name == self._agent else None
        if showing is not None and (new := await showing.look()):
            content, context = _content(text_of(new)), callback_context.get_invocation_context()
            event = Event(invocation_id=context.invocation_id, author="user", branch=context.branch, content=content)
            await context.session_service.append_event(context.session, event)  # from which later requests are made
            llm_request.contents.append(content)
        return None


def _content(text: str) -> Content:
    return Content(role="user", parts=[Part(text=text)])

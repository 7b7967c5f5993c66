"""An agent of Google's Agent Development Kit with a scripted model, and a second one to which it delegates."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import Agent
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.tool_context import ToolContext
from google.genai.types import Content, FunctionCall, Part
from plan import AGENT, DRAIN, STORE, Plan, client

from openintent_channels.google_adk import serve, tools


class Planned(BaseLlm):
    """A model that follows the plan."""

    plan: Any
    agent: str

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        said = [(content.role, part) for content in llm_request.contents for part in content.parts or []]
        told = [part.text for role, part in said if role == "user" and part.text]
        called = [str(part.function_call.id) for _, part in said if part.function_call]
        answers = [part.function_response for _, part in said if part.function_response]
        results = [(str(answer.id), str((answer.response or {}).get("result"))) for answer in answers]
        step = await self.plan.next(self.agent, told, called, results)
        calls = [Part(function_call=FunctionCall(id=call.id, name=call.name, args=call.args)) for call in step.calls]
        yield LlmResponse(content=Content(role="model", parts=calls or [Part(text=step.text)]))


async def main() -> None:
    async with client() as channels, channels.mailbox(AGENT) as mailbox:
        plan = Plan(mailbox)
        async def note(text: str) -> str:
            """Note something."""
            return f"noted: {text}"

        other = AgentTool(Agent(name="other", model=Planned(model="planned", plan=plan, agent="other"), tools=[note]))

        async def delegate(text: str, tool_context: ToolContext) -> str:
            """Delegate something."""
            return str(await other.run_async(args={"request": text}, tool_context=tool_context))

        agent = Agent(
            name=AGENT, model=Planned(model="planned", plan=plan, agent="main"), tools=[*tools(mailbox), note, delegate]
        )
        sessions = SqliteSessionService(STORE) if STORE else None
        await serve(agent, mailbox, session_service=sessions, drain_seconds=DRAIN)


asyncio.run(main())

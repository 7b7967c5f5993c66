"""An agent of CrewAI with a scripted model, and a second one to which it delegates."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from crewai import Agent, BaseLLM
from crewai.tools import tool
from plan import AGENT, DRAIN, Plan, client

from openintent_channels.crewai import serve, tools


class Planned(BaseLLM):
    """A model that follows the plan."""

    plan: Any
    agent: str
    loop: Any

    def supports_function_calling(self) -> bool:
        return True

    def call(self, messages: Any, *_: Any, **__: Any) -> Any:
        told = [str(message["content"]) for message in messages if message["role"] == "user"]
        called = [call["id"] for message in messages for call in message.get("tool_calls") or []]
        results = [(message["tool_call_id"], str(message["content"])) for message in messages if message["role"] == "tool"]
        deciding = self.plan.next(self.agent, told, called, results)
        step = asyncio.run_coroutine_threadsafe(deciding, self.loop).result()
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.args)}}
            for call in step.calls
        ]
        return calls or step.text


async def main() -> None:
    loop = asyncio.get_running_loop()
    async with client() as channels, channels.mailbox(AGENT) as mailbox:
        plan = Plan(mailbox)

        def agent(name: str, role: str, has: list[Any]) -> Agent:
            model = Planned(model="planned", plan=plan, agent=name, loop=loop)
            return Agent(role=role, goal="Follow the plan", backstory="You are scripted", llm=model, tools=has)

        @tool("note")
        def note(text: str) -> str:
            """Note something."""
            return f"noted: {text}"

        other = agent("other", "other", [note])

        @tool("delegate")
        def delegate(text: str) -> str:
            """Delegate something."""
            return str(other.kickoff(text))

        await serve(agent("main", AGENT, [*tools(mailbox), note, delegate]), mailbox, drain_seconds=DRAIN)


asyncio.run(main())

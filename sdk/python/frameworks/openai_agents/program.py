"""An agent of the OpenAI Agents SDK with a scripted model, and a second one to which it delegates."""

from __future__ import annotations

import asyncio
from typing import Any

from agents import Agent, ModelResponse, RunConfig, Runner, SQLiteSession, Usage, function_tool, set_tracing_disabled
from agents.models.interface import Model
from agents.testing import assistant_message, function_call
from plan import AGENT, DRAIN, STORE, Plan, client

from openintent_channels.openai_agents import inbox, serve, tools


class Planned(Model):
    """A model that follows the plan."""

    def __init__(self, plan: Plan, agent: str) -> None:
        self._plan, self._agent = plan, agent

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        items: list[Any] = [{"role": "user", "content": input}] if isinstance(input, str) else input
        told = [str(item["content"]) for item in items if item.get("role") == "user"]
        called = [item["call_id"] for item in items if item.get("type") == "function_call"]
        outputs = [item for item in items if item.get("type") == "function_call_output"]
        results = [(item["call_id"], str(item["output"])) for item in outputs]
        step = await self._plan.next(self._agent, told, called, results)
        calls = [function_call(call.name, call.args, call_id=call.id) for call in step.calls]
        return ModelResponse(output=[*calls] or [assistant_message(step.text)], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


async def main() -> None:
    set_tracing_disabled(True)
    async with client() as channels, channels.mailbox(AGENT) as mailbox:
        plan = Plan(mailbox)
        config = RunConfig(call_model_input_filter=inbox(mailbox, AGENT))

        @function_tool
        async def note(text: str) -> str:
            return f"noted: {text}"

        other = Agent[Any](name="other", model=Planned(plan, "other"), tools=[note])

        @function_tool
        async def delegate(text: str) -> str:
            return str((await Runner.run(other, text, run_config=config)).final_output)

        agent = Agent[Any](name=AGENT, model=Planned(plan, "main"), tools=[*tools(mailbox), note, delegate])
        await serve(agent, mailbox, session=SQLiteSession("all", STORE) if STORE else None, drain_seconds=DRAIN)


asyncio.run(main())

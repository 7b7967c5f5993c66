"""A helper on the Microsoft Agent Framework, which answers what others ask it."""

import asyncio
import os

from agent_framework import Agent
from agent_framework.openai import OpenAIChatClient

from openintent_channels import AsyncOpenIntentClient
from openintent_channels.agent_framework import inbox, serve, tools


async def main() -> None:
    async with AsyncOpenIntentClient(agent_id="helper") as client, client.mailbox("helper") as mailbox:
        agent = Agent(
            OpenAIChatClient(model=os.environ.get("MODEL", "gpt-5-mini")),
            "Answer each question with the tool answer.",
            name="helper",
            tools=tools(mailbox),
            context_providers=[inbox(mailbox, "helper")],
        )
        await serve(agent, mailbox)


asyncio.run(main())

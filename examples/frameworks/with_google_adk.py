"""A helper on Google's Agent Development Kit, which answers what others ask it."""

import asyncio
import os

from google.adk.agents import Agent

from openintent_channels import AsyncOpenIntentClient
from openintent_channels.google_adk import serve, tools


async def main() -> None:
    async with AsyncOpenIntentClient(agent_id="helper") as client, client.mailbox("helper") as mailbox:
        agent = Agent(
            name="helper",
            model=os.environ.get("MODEL", "gemini-3.5-flash"),
            instruction="Answer each question with the tool answer.",
            tools=[*tools(mailbox)],
        )
        await serve(agent, mailbox)


asyncio.run(main())

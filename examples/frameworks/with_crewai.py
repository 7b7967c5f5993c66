"""A helper on CrewAI, which answers what others ask it."""

import asyncio
import os

from crewai import Agent

from openintent_channels import AsyncOpenIntentClient
from openintent_channels.crewai import serve, tools


async def main() -> None:
    async with AsyncOpenIntentClient(agent_id="helper") as client, client.mailbox("helper") as mailbox:
        agent = Agent(
            role="helper",
            goal="Answer each question with the tool answer.",
            backstory="You know the data.",
            llm=os.environ.get("MODEL", "openai/gpt-5-mini"),
            tools=tools(mailbox),
        )
        await serve(agent, mailbox)


asyncio.run(main())

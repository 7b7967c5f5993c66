"""A helper on the OpenAI Agents SDK, which answers what others ask it."""

import asyncio
import os

from agents import Agent, SQLiteSession

from openintent_channels import AsyncOpenIntentClient
from openintent_channels.openai_agents import serve, tools


async def main() -> None:
    async with AsyncOpenIntentClient(agent_id="helper") as client, client.mailbox("helper") as mailbox:
        agent = Agent[None](
            name="helper",
            model=os.environ.get("MODEL", "gpt-5-mini"),
            instructions="Answer each question with the tool answer.",
            tools=tools(mailbox),
        )
        await serve(agent, mailbox, session=SQLiteSession("helper"))


asyncio.run(main())

"""A helper on Pydantic AI, which answers what others ask it."""

import asyncio
import os

from pydantic_ai import Agent

from openintent_channels import AsyncOpenIntentClient
from openintent_channels.pydantic_ai import serve, toolset


async def main() -> None:
    async with AsyncOpenIntentClient(agent_id="helper") as client, client.mailbox("helper") as mailbox:
        agent = Agent(
            os.environ.get("MODEL", "openai:gpt-5-mini"),
            name="helper",
            instructions="Answer each question with the tool answer.",
            toolsets=[toolset(mailbox)],
        )
        await serve(agent, mailbox)


asyncio.run(main())

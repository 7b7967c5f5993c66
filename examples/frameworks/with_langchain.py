"""A helper on LangChain, which answers what others ask it. It keeps its thread in memory; a real one keeps it in a database."""

import asyncio
import os

from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from openintent_channels import AsyncOpenIntentClient
from openintent_channels.langchain import inbox, serve, tools


async def main() -> None:
    async with AsyncOpenIntentClient(agent_id="helper") as client, client.mailbox("helper") as mailbox:
        agent = create_agent(
            os.environ.get("MODEL", "openai:gpt-5-mini"),
            tools(mailbox),
            name="helper",
            system_prompt="Answer each question with the tool answer.",
            middleware=[inbox(mailbox, "helper")],
            checkpointer=InMemorySaver(),
        )
        await serve(agent, mailbox)


asyncio.run(main())

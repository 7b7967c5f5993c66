"""The clarification of RFC-0021: a research agent asks a data agent which schema a dataset has."""

import asyncio

from openintent_channels import Agent, AsyncOpenIntentClient, on_message


@Agent("data-agent")
class DataAgent:
    @on_message(channel="data-clarification")
    async def clarify(self, message):
        if message.message_type == "request":
            print(f"data-agent is asked by {message.sender}: {message.payload['question']}")
            return {"answer": "v2.3", "confidence": 0.95}


async def research(client, intent):
    channel = await client.channels.open(
        "data-clarification", intent.id, members=["research-agent", "data-agent"], member_policy="explicit"
    )
    response = await channel.ask("data-agent", {"question": "What schema version does the Q1 dataset use?"}, timeout=30)
    schema = response.payload["answer"]
    print(f"research-agent hears from {response.sender}: {schema}")
    await channel.broadcast({"status": "starting analysis", "schema": schema})

    print("On the channel:")
    for message in await client.list_messages(channel.id):
        print(f"  {message.message_type} from {message.sender} to {message.to}")


async def main():
    async with AsyncOpenIntentClient(agent_id="research-agent") as client, DataAgent():
        intent = await client.intents.create("Research Q1 financials", status="active")
        await research(client, intent)
        await client.intents.set_status(intent.id, "completed")  # closes the channel, too


if __name__ == "__main__":
    asyncio.run(main())

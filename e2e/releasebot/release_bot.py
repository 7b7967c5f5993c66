"""Plays the agent of the story that is written in Python: it asks the reviewers, prints their answer, and answers questions.

    release_bot.py INTENT_ID CHANNEL

It leaves when its standard input ends.
"""

import asyncio
import json
import sys

from openintent_channels import Agent, AsyncOpenIntentClient, on_message

intent_id, name = sys.argv[1:]


@Agent("release-bot")
class ReleaseBot:
    @on_message(channel=name)
    async def answer(self, message):
        return {"version": "1.4", "asked": message.payload["text"]}


async def main() -> None:
    async with ReleaseBot(), AsyncOpenIntentClient(agent_id="release-bot") as client:
        channel = await client.channels.open(name, intent_id)
        response = await channel.ask("role:reviewer", {"question": "May 1.4 go out?"}, timeout=120, collect="one")
        print(json.dumps({"from": response.sender, "payload": response.payload}), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(main())

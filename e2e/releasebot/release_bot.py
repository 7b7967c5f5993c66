"""Plays the agent of a story that is written in Python: it asks the reviewers, prints their answer, answers questions, and prints what else it
hears.

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
        if message.message_type == "request":
            return {"version": "1.4", "asked": message.payload["text"]}
        say(message)


def say(message) -> None:
    print(json.dumps({"from": message.sender, "payload": message.payload}), flush=True)


async def main() -> None:
    async with ReleaseBot(), AsyncOpenIntentClient(agent_id="release-bot") as client:
        channel = await client.channels.open(name, intent_id)
        response = await channel.ask("role:reviewer", {"question": "May 1.4 go out?"}, timeout=120, collect="one")
        say(response)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(main())

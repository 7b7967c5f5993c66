"""The data agent of the crash example, in Python: it answers each question that it is asked, whatever happens to the server."""

import asyncio

from openintent_channels import Agent, on_message


@Agent("data-agent")
class DataAgent:
    @on_message(channel="questions")
    async def answer(self, message):
        if message.message_type != "request":
            return None
        batch = message.payload["batch"]
        print(f"is asked how many rows batch {batch} has", flush=True)
        return {"rows": 300 + 37 * batch % 101}


if __name__ == "__main__":
    asyncio.run(DataAgent().run())

"""A new user's agent in Python."""

from openintent_channels import Agent, on_message


@Agent("python-agent")
class Desk:
    @on_message(channel="desk")
    async def answer(self, message):
        if message.payload.get("fail"):
            raise RuntimeError("the desk is on fire")
        return {"answer": "v2.3"}


Desk.run()

"""Each agent of the example alone, with a scripted peer in place of the other. No test waits for the time itself."""

import asyncio

import pytest
from clarification import DataAgent, research

from openintent_channels import AsyncOpenIntentClient, MessageTimeoutError

QUESTION = {"question": "What schema version does the Q1 dataset use?"}


async def researching(intent):
    async with AsyncOpenIntentClient(agent_id="research-agent") as client:
        await research(client, intent)


def test_the_data_agent_answers(openintent_server, intent):
    channel = openintent_server.client("research-agent").channels.open("data-clarification", intent.id)
    with openintent_server.running(DataAgent()):
        assert channel.ask("data-agent", QUESTION).payload["answer"] == "v2.3"
        channel.broadcast({"status": "starting analysis"})
        openintent_server.assert_not_said(intent, sender="data-agent", message_type=lambda kind: kind != "response")


def test_the_researcher_uses_what_it_hears(openintent_server, intent):
    peer = openintent_server.peer("data-agent").answers({"answer": "v9"})
    asyncio.run(researching(intent))
    assert peer.heard(message_type="request", payload=QUESTION)
    openintent_server.assert_said(intent, sender="research-agent", payload={"status": "starting analysis", "schema": "v9"})


async def in_vain(server, intent, peer):
    asking = asyncio.create_task(researching(intent))
    await peer.aio.assert_heard()
    await server.aio.advance(30)
    await asking


def test_the_researcher_does_not_begin_without_an_answer(openintent_server, intent):
    peer = openintent_server.peer("data-agent").stays_silent()
    with pytest.raises(MessageTimeoutError):
        asyncio.run(in_vain(openintent_server, intent, peer))
    openintent_server.assert_not_said(intent, message_type="broadcast")

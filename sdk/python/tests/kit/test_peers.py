"""Scripted peers, and assertions on what was said."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from openintent_channels import AgentMessage, ChannelHandle, Intent
from openintent_channels.testing import Server

QUESTION = {"question": "which schema?"}


def test_a_peer_answers(openintent_server: Server, intent: Intent, channel: ChannelHandle) -> None:
    peer = openintent_server.peer("data-agent").answers({"answer": "v2.3"})
    assert channel.ask("data-agent", QUESTION).payload == {"answer": "v2.3"}
    assert [(heard.sender, heard.payload) for heard in peer.heard()] == [("tester", QUESTION)]
    asked = openintent_server.assert_said(
        intent, sender="tester", to="data-agent", channel="test", message_type="request", payload=QUESTION,
        dispositions={"data-agent": "responded"},
    )  # fmt: skip
    openintent_server.assert_said(intent, payload=lambda payload: payload.get("answer") == "v2.3", correlation_id=asked.id)
    openintent_server.assert_not_said(intent, sender="data-agent", message_type="notify")
    peer.answers(lambda question: {"asked": question["question"]})  # the last line counts
    assert channel.ask("data-agent", QUESTION).payload == {"asked": "which schema?"}


def test_a_peer_answers_after_a_while(openintent_server: Server, channel: ChannelHandle) -> None:
    peer = openintent_server.peer("data-agent").answers_after(20, {"answer": "v2.3"})
    with ThreadPoolExecutor() as threads:
        asked = threads.submit(channel.ask, "data-agent", QUESTION, 30)
        peer.assert_heard()
        openintent_server.advance(19)
        assert not asked.done()
        openintent_server.advance(1)
        assert asked.result(10).payload == {"answer": "v2.3"}


def test_a_peer_answers_twice(openintent_server: Server, channel: ChannelHandle) -> None:
    openintent_server.peer("data-agent").answers_twice({"answer": 1}, {"answer": 2})
    answers = channel.ask_all("data-agent", QUESTION, min_responses=2)
    assert sorted(answer.payload["answer"] for answer in answers) == [1, 2]


def test_a_peer_does_what_a_function_does(openintent_server: Server, channel: ChannelHandle) -> None:
    async def act(message: AgentMessage) -> None:
        await message.react("working")

    openintent_server.peer("builder").does(act)
    task = channel.notify("builder", {"text": "Build it"})
    openintent_server.settle()
    assert [reaction.signal for reaction in channel.reactions(task)] == ["working"]


def test_everything_that_was_said_is_listed(openintent_server: Server, intent: Intent, channel: ChannelHandle) -> None:
    for number in range(14):  # more than fits in one page of the server's answers
        channel.broadcast({"number": number, "padding": "x" * 250_000})
    assert [said.payload["number"] for said in openintent_server.said(intent)] == list(range(14))


def test_assertions_say_what_was_said(openintent_server: Server, intent: Intent, channel: ChannelHandle) -> None:
    channel.broadcast({"text": "hello"})
    line = "tester on test, broadcast: {'text': 'hello'}"
    with pytest.raises(AssertionError, match=f"nobody said this: sender 'nobody'. What was said:\n  {line}"):
        openintent_server.assert_said(intent, within=0, sender="nobody")
    with pytest.raises(AssertionError, match=f"this was said, and nobody should say sender 'tester':\n  {line}"):
        openintent_server.assert_not_said(intent, sender="tester")
    with pytest.raises(TypeError, match="a message has no 'from_'; it has id"):
        openintent_server.said(intent, from_="tester")
    peer = openintent_server.peer("builder").stays_silent()
    with pytest.raises(AssertionError, match="builder did not hear this: sender as <lambda> wants it. It heard:\n  nothing"):
        peer.assert_heard(within=0, sender=lambda sender: sender == "nobody")

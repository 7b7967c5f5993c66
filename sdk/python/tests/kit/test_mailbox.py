"""A mailbox on a real server."""

from __future__ import annotations

from openintent_channels import ChannelHandle
from openintent_channels.testing import Server


def test_an_answer_behind_long_messages_stands(openintent_server: Server, channel: ChannelHandle) -> None:
    with openintent_server.client("helper").mailbox("helper") as mailbox:
        told = channel.notify("helper", {"text": "The build is red."})
        assert len(mailbox.take(wait=10).messages) == 1
        for _ in range(14):  # more than fits in one page of the server's answers
            channel.broadcast({"log": "x" * 250_000}, parent=told.id)
        first = mailbox.answer(told.id, {"text": "I look at it."})
        again = mailbox.answer(told.id, {"text": "I have looked at it."})
    assert first.stored and not again.stored
    assert first.message and again.message and first.message.id == again.message.id

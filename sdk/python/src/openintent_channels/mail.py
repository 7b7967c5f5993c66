"""What a mailbox hands out, as plain immutable objects."""

from __future__ import annotations

from dataclasses import dataclass

from .models import Message


@dataclass(frozen=True, slots=True)
class MailboxMessage:
    """A message that a mailbox has handed out. `text` is what a model may be shown: one line of JSON, in which what
    others wrote can end no value, and a second line if the message is cut. `channel` is the channel's name. `policy` is
    `must_respond`, `may_respond`, `ack_only` or `must_not_respond`, or None without attention. `waits_for_answer` says
    that somebody waits for the agent to answer. An `attempt` above 1 says that the message may have been taken before
    and was not settled."""

    id: str
    sender: str
    sender_kind: str | None
    channel: str
    policy: str | None
    waits_for_answer: bool
    attempt: int
    text: str
    message: Message
    """The message itself, whole."""
    intent_id: str


@dataclass(frozen=True, slots=True)
class Answered:
    """Which answer stands. `stored` says whether this call stored it, `message` is the answer, and `declined` the note
    of a no that stands instead, which may be empty."""

    stored: bool
    message: Message | None
    declined: str | None = None

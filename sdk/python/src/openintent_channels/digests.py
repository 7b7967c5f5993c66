"""Summaries of messages that are not for the agent, as plain immutable objects."""

from __future__ import annotations

from dataclasses import dataclass

from ._generated import subscriptions_pb2
from .attention import Attention, given_attention


@dataclass(frozen=True, slots=True)
class DigestCount:
    """How many messages of one kind one sender sent on one channel. `kind` is empty for messages without one."""

    channel_id: str
    channel_name: str
    sender: str
    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class DigestSubject:
    """The subject of one message."""

    message_id: str
    subject: str


@dataclass(frozen=True, slots=True)
class DigestSpan:
    """Where in an intent's log the messages of a digest are."""

    intent_id: str
    first_position: int
    last_position: int


@dataclass(frozen=True, slots=True)
class Digest:
    """A summary of messages that are not for the agent. Whoever wants to read them lists them by their positions.

    `counts` say how many came from whom: each sender's highest count first, then each one's second, and so on. `subjects`
    are those of the newest messages that have one, newest first. `left_out_count` messages are in no count, because the
    digest would have become too long. `attention` says that nobody waits for an answer: its policy is `must_not_respond`, or
    `may_respond` if a message in it mentions the agent. `attempt` counts the deliveries of this digest, from 1."""

    message_count: int
    counts: tuple[DigestCount, ...]
    subjects: tuple[DigestSubject, ...]
    spans: tuple[DigestSpan, ...]
    left_out_count: int
    attention: Attention | None
    attempt: int


def digest_of(wire: subscriptions_pb2.SubscriptionDelivery) -> Digest | None:
    """Reads the digest of a delivery; None when it has none. The attention of one with messages beside it is the newest
    message's."""
    if not wire.HasField("digest"):
        return None
    digest = wire.digest
    return Digest(
        message_count=digest.message_count,
        counts=tuple(DigestCount(c.channel_id, c.channel_name, c.sender, c.kind, c.count) for c in digest.counts),
        subjects=tuple(DigestSubject(s.message_id, s.subject) for s in digest.subjects),
        spans=tuple(DigestSpan(s.intent_id, s.first_position, s.last_position) for s in digest.spans),
        left_out_count=digest.left_out_count,
        attention=None if wire.HasField("message") else given_attention(wire),
        attempt=wire.attempt,
    )

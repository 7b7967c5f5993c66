"""What needs somebody: questions that wait, requests that nobody takes up, agents that cannot hear, posts that fail."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ._generated import concern_pb2
from ._words import word
from .models import time_of


@dataclass(frozen=True, slots=True)
class Concern:
    """Something that needs somebody. `id` is the same as long as it lasts. `kind` is `question`, `obligation`, `unanswered`,
    `unreachable`, `dead_letters`, `webhook`, `brake` or `holder_lost`, and `since` is since when; of requests it is when
    they were sent. `summary` is one sentence for people. `actions` are words for what the caller may do about it now, such
    as `answer`; docs/concerns.md says by which calls. What does not apply, or is not for the caller to know, is None."""

    id: str
    kind: str
    since: datetime
    intent_id: str | None
    channel_id: str | None
    message_id: str | None
    agent_id: str | None
    subscription_id: str | None
    task_id: str | None
    summary: str
    actions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConcernPage:
    """A page of concerns, the oldest first. `next_cursor` goes on; it is None on the last page. A page may be empty and not
    the last."""

    concerns: tuple[Concern, ...]
    next_cursor: str | None


def concern_page_of(wire: concern_pb2.ListConcernsResponse) -> ConcernPage:
    """Reads a page of concerns from the wire."""
    return ConcernPage(tuple(_concern_of(one) for one in wire.concerns), wire.next_cursor or None)


def _concern_of(wire: concern_pb2.Concern) -> Concern:
    return Concern(
        id=wire.id,
        kind=word(concern_pb2.ConcernKind, "CONCERN_KIND_", wire.kind),
        since=time_of(wire.since),
        intent_id=wire.intent_id or None,
        channel_id=wire.channel_id or None,
        message_id=wire.message_id or None,
        agent_id=wire.agent_id or None,
        subscription_id=wire.subscription_id or None,
        task_id=wire.task_id or None,
        summary=wire.summary,
        actions=tuple(word(concern_pb2.ConcernAction, "CONCERN_ACTION_", action) for action in wire.actions),
    )

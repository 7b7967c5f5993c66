"""Whether anybody will hear what is sent to an agent: the ways to it that are open."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ._generated import reach_pb2
from ._words import word
from .models import optional_time, time_of


@dataclass(frozen=True, slots=True)
class ReachPath:
    """One open way to an agent. `kind` is `stream`, `wait`, `c2a`, `webhook`, `wake` or `listen`, `since` when it was
    opened, and `proven_at` when its other end last proved that it is there."""

    kind: str
    since: datetime
    proven_at: datetime | None


@dataclass(frozen=True, slots=True)
class ReachWaiting:
    """What must be answered and was handed to nothing of the agent's yet: how many, up to 100, and when the oldest of them
    was sent."""

    count: int
    oldest_at: datetime | None


@dataclass(frozen=True, slots=True)
class Reach:
    """What the server knows of the ways to an agent. `level` is `live` (something of it waits for messages now), `wakeable`
    (something can wake it), `none` (no way to it is open; what is sent to it is stored, and waits) or `unknown` (nobody has
    called in its name for 30 days, or ever). `paths` are the open ways, one for each kind. The times, each to within 10
    seconds, say when the agent last made a call, when a message was last handed to a way to it, and when its harness last
    said that its model saw one; `surfaces_in_ms` is how long its last 20 messages took from the one to the other, as a
    median. Only the agent itself and the operator see what is `waiting`. What is not known is None."""

    agent_id: str
    level: str
    paths: tuple[ReachPath, ...]
    last_heard_at: datetime | None
    last_offered_at: datetime | None
    last_surfaced_at: datetime | None
    surfaces_in_ms: int | None
    waiting: ReachWaiting | None


def reach_of(wire: reach_pb2.Reach) -> Reach:
    """Reads an agent's reach from the wire."""
    return Reach(
        agent_id=wire.agent_id,
        level=word(reach_pb2.ReachLevel, "REACH_LEVEL_", wire.level),
        paths=tuple(ReachPath(p.kind, time_of(p.since), optional_time(p, "proven_at")) for p in wire.paths),
        last_heard_at=optional_time(wire, "last_heard_at"),
        last_offered_at=optional_time(wire, "last_offered_at"),
        last_surfaced_at=optional_time(wire, "last_surfaced_at"),
        surfaces_in_ms=wire.surfaces_in_ms if wire.HasField("surfaces_in_ms") else None,
        waiting=_waiting_of(wire.waiting) if wire.HasField("waiting") else None,
    )


def _waiting_of(wire: reach_pb2.ReachWaiting) -> ReachWaiting:
    return ReachWaiting(wire.count, optional_time(wire, "oldest_at"))

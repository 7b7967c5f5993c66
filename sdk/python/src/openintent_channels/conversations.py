"""What happens to messages after they were sent, as plain immutable objects."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ._generated import messages_pb2, obligations_pb2, reactions_pb2
from ._structs import from_struct
from .models import Message, optional_time, time_of


@dataclass(frozen=True, slots=True)
class Reaction:
    """One agent's signal on a message."""

    agent_id: str
    signal: str
    note: str | None
    eta: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread as its reader sees it: its first message (None when the reader may not see it), the others in order, who
    wrote, and the place of its newest message in the intent's log."""

    root: Message | None
    messages: tuple[Message, ...]
    participants: tuple[str, ...]
    last_position: int


@dataclass(frozen=True, slots=True)
class Revision:
    """What the content of a message was from one edit to the next. `revision` counts from 1."""

    revision: int
    payload: dict[str, Any] = field(hash=False)
    metadata: dict[str, Any] = field(hash=False)
    subject: str | None
    mentions: tuple[str, ...]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Discharge:
    """Who closed the obligation of a request, and when."""

    message_id: str
    agent_id: str
    note: str | None
    discharged_at: datetime


@dataclass(frozen=True, slots=True)
class Annotation:
    """What happened to a message: `type` is `message_reaction`, `message_edited`, `message_deleted`, `message_claimed`,
    `claim_released`, `message_disposition` or `obligation_discharged`. The members after `created_at` are those of its
    type, and None otherwise."""

    type: str
    position: int
    message_id: str
    channel_id: str
    agent_id: str
    created_at: datetime
    change: str | None = None
    signal: str | None = None
    note: str | None = None
    eta: str | None = None
    revision: int | None = None
    expires_at: datetime | None = None
    reason: str | None = None
    disposition: str | None = None
    until: datetime | None = None


def reaction_of(wire: reactions_pb2.Reaction) -> Reaction:
    """Reads a reaction from the wire."""
    return Reaction(wire.agent_id, wire.signal, _given(wire, "note"), _given(wire, "eta"), time_of(wire.created_at))


def discharge_of(wire: obligations_pb2.Discharge) -> Discharge:
    """Reads a discharge from the wire."""
    return Discharge(wire.message_id, wire.agent_id, _given(wire, "note"), time_of(wire.discharged_at))


def revision_of(wire: messages_pb2.MessageRevision) -> Revision:
    """Reads a revision from the wire."""
    return Revision(
        revision=wire.revision,
        payload=from_struct(wire.payload),
        metadata=from_struct(wire.metadata),
        subject=_given(wire, "subject"),
        mentions=tuple(wire.mentions),
        created_at=time_of(wire.created_at),
    )


def annotation_of(wire: messages_pb2.Annotation) -> Annotation:
    """Reads an annotation from the wire."""
    details = ("change", "signal", "note", "eta", "revision", "reason", "disposition")
    return Annotation(
        type=wire.type,
        position=wire.position,
        message_id=wire.message_id,
        channel_id=wire.channel_id,
        agent_id=wire.agent_id,
        created_at=time_of(wire.created_at),
        expires_at=optional_time(wire, "expires_at"),
        until=optional_time(wire, "until"),
        **{name: _given(wire, name) for name in details},
    )


def _given(wire: Any, name: str) -> Any:
    return getattr(wire, name) if wire.HasField(name) else None

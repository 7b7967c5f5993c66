"""What the server says, as plain immutable objects. Times are aware datetimes in UTC, payloads are plain dicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, TypeVar

from google.protobuf.timestamp_pb2 import Timestamp

from . import payloads
from ._basic_errors import InvalidArgumentError, Violation
from ._generated import channels_pb2, intents_pb2, messages_pb2
from ._structs import from_struct

T = TypeVar("T")

ERROR_MARK = "openintent_error"
"""The metadata key that marks the response of a handler that failed."""


@dataclass(frozen=True, slots=True)
class ChannelOptions:
    """A channel's settings: whether its messages are copied to the event log, how many seconds it stays open after its last
    message (None: until its intent ends), how many messages are kept, and what members added later see: `all` that is kept,
    or with `from_join` what is sent after they were added."""

    audit: bool = False
    ttl_seconds: int | None = None
    max_messages: int | None = None
    history: str = "all"


@dataclass(frozen=True, slots=True)
class Channel:
    """A named message stream inside an intent. `status` is `open` or `closed`, `member_policy` `intent` or `explicit`."""

    id: str
    intent_id: str
    name: str
    created_by: str
    members: tuple[str, ...]
    member_policy: str
    options: ChannelOptions
    status: str
    created_at: datetime
    closed_at: datetime | None
    last_message_at: datetime | None
    message_count: int
    task_id: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether it takes messages, as of when it was read."""
        return self.status == "open"


@dataclass(frozen=True, slots=True)
class Message:
    """One communication on a channel. `message_type` is `request`, `response`, `notify` or `broadcast`, `status`
    `delivered`, `read` or `expired`. `position` is its place in the intent's log when the message came by following;
    None otherwise."""

    id: str
    channel_id: str
    sender: str
    to: str | None
    message_type: str
    correlation_id: str | None
    payload: dict[str, Any] = field(hash=False)
    metadata: dict[str, Any] = field(hash=False)
    status: str
    created_at: datetime
    expires_at: datetime | None = None
    read_at: datetime | None = None
    position: int | None = field(default=None, compare=False)

    @property
    def is_error(self) -> bool:
        """Whether this is the response of a handler that failed; `payload["error"]` then has `type` and `message`."""
        return self.message_type == "response" and self.metadata.get(ERROR_MARK) is True

    def payload_as(self, kind: type[T]) -> T:
        """Reads the payload as a dataclass or a pydantic model. Raises PayloadError when it has another form."""
        return payloads.decode(self.payload, kind)


@dataclass(frozen=True, slots=True)
class Intent:
    """What agents work on together. `status` is `draft`, `active`, `blocked`, `completed`, `abandoned` or
    `suspended_awaiting_input`."""

    id: str
    title: str
    description: str
    status: str
    created_by: str
    state: dict[str, Any] = field(hash=False)
    constraints: dict[str, Any] = field(hash=False)
    version: int
    created_at: datetime
    updated_at: datetime
    parent_intent_id: str | None = None
    depends_on: tuple[str, ...] = ()


def _history(options: channels_pb2.ChannelOptions) -> str:
    if not options.HasField("history"):
        return "all"
    return word(channels_pb2.ChannelHistory, "CHANNEL_HISTORY_", options.history)


def channel_of(wire: channels_pb2.Channel) -> Channel:
    """Reads a channel from the wire."""
    options = wire.options
    return Channel(
        id=wire.id,
        intent_id=wire.intent_id,
        name=wire.name,
        created_by=wire.created_by,
        members=tuple(wire.members),
        member_policy=word(channels_pb2.MemberPolicy, "MEMBER_POLICY_", wire.member_policy),
        options=ChannelOptions(
            audit=options.audit,
            ttl_seconds=options.ttl_seconds if options.HasField("ttl_seconds") else None,
            max_messages=options.max_messages if options.HasField("max_messages") else None,
            history=_history(options),
        ),
        status=word(channels_pb2.ChannelStatus, "CHANNEL_STATUS_", wire.status),
        created_at=_time(wire.created_at),
        closed_at=_time(wire.closed_at) if wire.HasField("closed_at") else None,
        last_message_at=_time(wire.last_message_at) if wire.HasField("last_message_at") else None,
        message_count=wire.message_count,
        task_id=wire.task_id if wire.HasField("task_id") else None,
    )


def message_of(wire: messages_pb2.Message, position: int | None = None) -> Message:
    """Reads a message from the wire."""
    return Message(**message_fields(wire), position=position)


def message_fields(wire: messages_pb2.Message) -> dict[str, Any]:
    """Reads a message's fields from the wire, by their names in Message."""
    return {
        "id": wire.id,
        "channel_id": wire.channel_id,
        "sender": wire.sender,
        "to": wire.to if wire.HasField("to") else None,
        "message_type": word(messages_pb2.MessageType, "MESSAGE_TYPE_", wire.message_type),
        "correlation_id": wire.correlation_id if wire.HasField("correlation_id") else None,
        "payload": from_struct(wire.payload),
        "metadata": from_struct(wire.metadata),
        "status": word(messages_pb2.MessageStatus, "MESSAGE_STATUS_", wire.status),
        "created_at": _time(wire.created_at),
        "expires_at": _time(wire.expires_at) if wire.HasField("expires_at") else None,
        "read_at": _time(wire.read_at) if wire.HasField("read_at") else None,
    }


def intent_of(wire: intents_pb2.Intent) -> Intent:
    """Reads an intent from the wire."""
    return Intent(
        id=wire.id,
        title=wire.title,
        description=wire.description,
        status=word(intents_pb2.IntentStatus, "INTENT_STATUS_", wire.status),
        created_by=wire.created_by,
        state=from_struct(wire.state),
        constraints=from_struct(wire.constraints),
        version=wire.version,
        created_at=_time(wire.created_at),
        updated_at=_time(wire.updated_at),
        parent_intent_id=wire.parent_intent_id if wire.HasField("parent_intent_id") else None,
        depends_on=tuple(wire.depends_on),
    )


def _time(stamp: Timestamp) -> datetime:
    return stamp.ToDatetime(tzinfo=timezone.utc)


def word(enum: Any, prefix: str, number: int) -> str:
    """Returns the short word for an enum's value: `request` for MESSAGE_TYPE_REQUEST. For an unknown one, its number."""
    try:
        return str(enum.Name(number)).removeprefix(prefix).lower()
    except ValueError:
        return str(number)


def number(enum: Any, prefix: str, said: str, field_name: str) -> Any:
    """Returns the enum's value for a short word. Raises InvalidArgumentError, which lists the words, for any other."""
    words: Mapping[str, int] = {
        name.removeprefix(prefix).lower(): value for name, value in enum.items() if value != 0
    }
    if said not in words:
        problem = f"it must be one of {', '.join(words)}, not {said!r}"
        raise InvalidArgumentError(
            f"{field_name}: {problem}", code="INVALID_ARGUMENT", violations=[Violation(field_name, problem)]
        )
    return words[said]

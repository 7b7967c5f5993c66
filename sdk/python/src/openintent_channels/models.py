"""What the server says, as plain immutable objects. Times are aware datetimes in UTC, payloads are plain dicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, TypeVar

from google.protobuf.timestamp_pb2 import Timestamp

from . import payloads
from ._basic_errors import PayloadError
from ._generated import attention_pb2, channels_pb2, intents_pb2, messages_pb2
from ._structs import from_struct, from_value
from ._words import number, word
from .attention import Attention, directedness_word, policy_word, priority_word

__all__ = ["Channel", "ChannelOptions", "Intent", "Message", "channel_of", "intent_of", "message_of", "number", "word"]

T = TypeVar("T")

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

ERROR_MARK = "openintent_error"
"""The metadata key that marks the response of a handler that failed."""


@dataclass(frozen=True, slots=True)
class ChannelOptions:
    """A channel's settings: whether its messages are copied to the event log, how many seconds it stays open after its last
    message (None: until its intent ends), how many messages are kept, and what members added later see: `all` that is kept,
    or with `from_join` what is sent after they were added. `turn_budget` is how many messages two agents alone may exchange
    within 10 minutes before the loop brake is put on (None: 20; 0: there is no brake).
    `conversation_budget` is how often agents may set each other to work within 10 minutes, in a thread or outside
    threads, before they are braked (None: 60 in a thread, 200 outside; 0: there is no brake)."""

    audit: bool = False
    ttl_seconds: int | None = None
    max_messages: int | None = None
    history: str = "all"
    turn_budget: int | None = None
    conversation_budget: int | None = None


@dataclass(frozen=True, slots=True)
class Channel:
    """A named message stream inside an intent. `status` is `open` or `closed`, `member_policy` `intent` or `explicit`. A
    channel that was created as dictatable has an `address`, such as `VK47`."""

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
    address: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether it takes messages, as of when it was read."""
        return self.status == "open"


@dataclass(frozen=True, slots=True)
class Message:
    """One communication on a channel. `message_type` is `request`, `response`, `notify` or `broadcast`, `status`
    `delivered`, `read` or `expired`. `position` is its place in the intent's log when the message came by following;
    None otherwise. What the sender did not say is None: `parent_id` and `thread_id` (its place in
    a thread), `subject`, `kind`, `task_id`, `priority`, `collect`, `obligation` (with `blocks` and
    `delegate`), `directedness` and `policy`. An edited message has a
    `revision` above 1 and `edited_at`, a deleted one `deleted_at`. `document` is true if it was sent as a
    document of the channel. `sender_kind` is `human` for what a person sent, and None for an agent's. `attention` is
    there when the reader asked for it."""

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
    parent_id: str | None = None
    thread_id: str | None = None
    subject: str | None = None
    kind: str | None = None
    task_id: str | None = None
    priority: str | None = None
    mentions: tuple[str, ...] = ()
    collect: str | dict[str, Any] | None = field(default=None, hash=False)
    obligation: dict[str, str | None] | None = field(default=None, hash=False)
    directedness: str | None = None
    policy: str | None = None
    revision: int | None = None
    document: bool = False
    sender_kind: str | None = None
    edited_at: datetime | None = None
    deleted_at: datetime | None = None
    attention: Attention | None = field(default=None, compare=False)

    @property
    def is_error(self) -> bool:
        """Whether this is the response of a handler that failed; `payload["error"]` then has `type` and `message`."""
        return self.message_type == "response" and self.metadata.get(ERROR_MARK) is True

    def payload_as(self, kind: type[T]) -> T:
        """Reads the payload as a dataclass or a pydantic model. Raises PayloadError, which names the sender, when it has
        another form."""
        try:
            return payloads.decode(self.payload, kind)
        except PayloadError as error:
            raise error.of(self.sender, self.id) from error.__cause__


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
            turn_budget=options.turn_budget if options.HasField("turn_budget") else None,
            conversation_budget=options.conversation_budget if options.HasField("conversation_budget") else None,
        ),
        status=word(channels_pb2.ChannelStatus, "CHANNEL_STATUS_", wire.status),
        created_at=time_of(wire.created_at),
        closed_at=time_of(wire.closed_at) if wire.HasField("closed_at") else None,
        last_message_at=time_of(wire.last_message_at) if wire.HasField("last_message_at") else None,
        message_count=wire.message_count,
        task_id=wire.task_id if wire.HasField("task_id") else None,
        address=wire.address if wire.HasField("address") else None,
    )


def message_of(
    wire: messages_pb2.Message, position: int | None = None, attention: Attention | None = None
) -> Message:
    """Reads a message from the wire."""
    return Message(**message_fields(wire), position=position, attention=attention)


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
        "metadata": from_struct(wire.metadata) if wire.HasField("metadata") else {},
        "status": word(messages_pb2.MessageStatus, "MESSAGE_STATUS_", wire.status),
        "created_at": time_of(wire.created_at),
        "expires_at": optional_time(wire, "expires_at"),
        "read_at": optional_time(wire, "read_at"),
        **_conversation_fields(wire),
    }


def _conversation_fields(wire: messages_pb2.Message) -> dict[str, Any]:
    """Reads what a message says beyond RFC-0021. A plain message has none of it."""
    said = {name: read(getattr(wire, name)) for name, read in _SAID if wire.HasField(name)}
    if mentions := tuple(wire.mentions):
        said["mentions"] = mentions
    return said


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
        created_at=time_of(wire.created_at),
        updated_at=time_of(wire.updated_at),
        parent_intent_id=wire.parent_intent_id if wire.HasField("parent_intent_id") else None,
        depends_on=tuple(wire.depends_on),
    )


def time_of(stamp: Timestamp) -> datetime:
    """Reads a time, to the microsecond."""
    return _EPOCH + timedelta(0, stamp.seconds, stamp.nanos // 1_000)


def optional_time(wire: Any, name: str) -> datetime | None:
    """Reads a time that may be absent."""
    return time_of(getattr(wire, name)) if wire.HasField(name) else None


def _itself(value: Any) -> Any:
    return value


def _obligation_of(wire: attention_pb2.Obligation) -> dict[str, str | None]:
    return {
        "blocks": word(attention_pb2.Blocks, "BLOCKS_", wire.blocks),
        "delegate": wire.delegate if wire.HasField("delegate") else None,
    }


_SAID: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    *(
        (name, _itself)
        for name in ("parent_id", "thread_id", "subject", "kind", "task_id", "revision", "document", "sender_kind")
    ),
    ("priority", priority_word),
    ("directedness", directedness_word),
    ("policy", policy_word),
    ("edited_at", time_of),
    ("deleted_at", time_of),
    ("collect", from_value),
    ("obligation", _obligation_of),
)
"""How to read what a message may say beyond RFC-0021."""

import datetime

from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.rpc import status_pb2 as _status_pb2
from openintent_channels._generated import attention_pb2 as _attention_pb2
from openintent_channels._generated import events_pb2 as _events_pb2
from openintent_channels._generated import reach_pb2 as _reach_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class MessageType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MESSAGE_TYPE_UNSPECIFIED: _ClassVar[MessageType]
    MESSAGE_TYPE_REQUEST: _ClassVar[MessageType]
    MESSAGE_TYPE_RESPONSE: _ClassVar[MessageType]
    MESSAGE_TYPE_NOTIFY: _ClassVar[MessageType]
    MESSAGE_TYPE_BROADCAST: _ClassVar[MessageType]

class MessageStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MESSAGE_STATUS_UNSPECIFIED: _ClassVar[MessageStatus]
    MESSAGE_STATUS_PENDING: _ClassVar[MessageStatus]
    MESSAGE_STATUS_DELIVERED: _ClassVar[MessageStatus]
    MESSAGE_STATUS_READ: _ClassVar[MessageStatus]
    MESSAGE_STATUS_EXPIRED: _ClassVar[MessageStatus]

class DeliveryStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DELIVERY_STATUS_UNSPECIFIED: _ClassVar[DeliveryStatus]
    DELIVERY_STATUS_STORED: _ClassVar[DeliveryStatus]
    DELIVERY_STATUS_OFFERED: _ClassVar[DeliveryStatus]
    DELIVERY_STATUS_READ: _ClassVar[DeliveryStatus]
    DELIVERY_STATUS_ANSWERED: _ClassVar[DeliveryStatus]
    DELIVERY_STATUS_EXPIRED: _ClassVar[DeliveryStatus]
    DELIVERY_STATUS_DEAD_LETTERED: _ClassVar[DeliveryStatus]
    DELIVERY_STATUS_SURFACED: _ClassVar[DeliveryStatus]
MESSAGE_TYPE_UNSPECIFIED: MessageType
MESSAGE_TYPE_REQUEST: MessageType
MESSAGE_TYPE_RESPONSE: MessageType
MESSAGE_TYPE_NOTIFY: MessageType
MESSAGE_TYPE_BROADCAST: MessageType
MESSAGE_STATUS_UNSPECIFIED: MessageStatus
MESSAGE_STATUS_PENDING: MessageStatus
MESSAGE_STATUS_DELIVERED: MessageStatus
MESSAGE_STATUS_READ: MessageStatus
MESSAGE_STATUS_EXPIRED: MessageStatus
DELIVERY_STATUS_UNSPECIFIED: DeliveryStatus
DELIVERY_STATUS_STORED: DeliveryStatus
DELIVERY_STATUS_OFFERED: DeliveryStatus
DELIVERY_STATUS_READ: DeliveryStatus
DELIVERY_STATUS_ANSWERED: DeliveryStatus
DELIVERY_STATUS_EXPIRED: DeliveryStatus
DELIVERY_STATUS_DEAD_LETTERED: DeliveryStatus
DELIVERY_STATUS_SURFACED: DeliveryStatus

class Message(_message.Message):
    __slots__ = ("id", "channel_id", "sender", "to", "message_type", "correlation_id", "payload", "metadata", "status", "created_at", "expires_at", "read_at", "parent_id", "thread_id", "subject", "kind", "task_id", "priority", "mentions", "collect", "directedness", "policy", "revision", "edited_at", "deleted_at", "obligation", "document", "sender_kind")
    ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    SENDER_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_TYPE_FIELD_NUMBER: _ClassVar[int]
    CORRELATION_ID_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    READ_AT_FIELD_NUMBER: _ClassVar[int]
    PARENT_ID_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    MENTIONS_FIELD_NUMBER: _ClassVar[int]
    COLLECT_FIELD_NUMBER: _ClassVar[int]
    DIRECTEDNESS_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    EDITED_AT_FIELD_NUMBER: _ClassVar[int]
    DELETED_AT_FIELD_NUMBER: _ClassVar[int]
    OBLIGATION_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    SENDER_KIND_FIELD_NUMBER: _ClassVar[int]
    id: str
    channel_id: str
    sender: str
    to: str
    message_type: MessageType
    correlation_id: str
    payload: _struct_pb2.Struct
    metadata: _struct_pb2.Struct
    status: MessageStatus
    created_at: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    read_at: _timestamp_pb2.Timestamp
    parent_id: str
    thread_id: str
    subject: str
    kind: str
    task_id: str
    priority: _attention_pb2.Priority
    mentions: _containers.RepeatedScalarFieldContainer[str]
    collect: _struct_pb2.Value
    directedness: _attention_pb2.Directedness
    policy: _attention_pb2.ResponsePolicy
    revision: int
    edited_at: _timestamp_pb2.Timestamp
    deleted_at: _timestamp_pb2.Timestamp
    obligation: _attention_pb2.Obligation
    document: bool
    sender_kind: str
    def __init__(self, id: _Optional[str] = ..., channel_id: _Optional[str] = ..., sender: _Optional[str] = ..., to: _Optional[str] = ..., message_type: _Optional[_Union[MessageType, str]] = ..., correlation_id: _Optional[str] = ..., payload: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., status: _Optional[_Union[MessageStatus, str]] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., read_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., parent_id: _Optional[str] = ..., thread_id: _Optional[str] = ..., subject: _Optional[str] = ..., kind: _Optional[str] = ..., task_id: _Optional[str] = ..., priority: _Optional[_Union[_attention_pb2.Priority, str]] = ..., mentions: _Optional[_Iterable[str]] = ..., collect: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., directedness: _Optional[_Union[_attention_pb2.Directedness, str]] = ..., policy: _Optional[_Union[_attention_pb2.ResponsePolicy, str]] = ..., revision: _Optional[int] = ..., edited_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., deleted_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., obligation: _Optional[_Union[_attention_pb2.Obligation, _Mapping]] = ..., document: bool = ..., sender_kind: _Optional[str] = ...) -> None: ...

class Annotation(_message.Message):
    __slots__ = ("type", "position", "message_id", "channel_id", "agent_id", "created_at", "change", "signal", "note", "eta", "revision", "expires_at", "reason", "disposition", "until")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    ETA_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DISPOSITION_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    type: str
    position: int
    message_id: str
    channel_id: str
    agent_id: str
    created_at: _timestamp_pb2.Timestamp
    change: str
    signal: str
    note: str
    eta: str
    revision: int
    expires_at: _timestamp_pb2.Timestamp
    reason: str
    disposition: str
    until: _timestamp_pb2.Timestamp
    def __init__(self, type: _Optional[str] = ..., position: _Optional[int] = ..., message_id: _Optional[str] = ..., channel_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., change: _Optional[str] = ..., signal: _Optional[str] = ..., note: _Optional[str] = ..., eta: _Optional[str] = ..., revision: _Optional[int] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ..., disposition: _Optional[str] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class SendMessageRequest(_message.Message):
    __slots__ = ("channel_id", "sender", "to", "message_type", "correlation_id", "payload", "metadata", "expires_at", "idempotency_key", "parent_id", "subject", "kind", "task_id", "priority", "mentions", "directedness", "policy", "collect", "fence", "expires_in_seconds", "obligation", "document", "replaces", "fail_fast")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    SENDER_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_TYPE_FIELD_NUMBER: _ClassVar[int]
    CORRELATION_ID_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    PARENT_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    MENTIONS_FIELD_NUMBER: _ClassVar[int]
    DIRECTEDNESS_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    COLLECT_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_IN_SECONDS_FIELD_NUMBER: _ClassVar[int]
    OBLIGATION_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    REPLACES_FIELD_NUMBER: _ClassVar[int]
    FAIL_FAST_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    sender: str
    to: str
    message_type: MessageType
    correlation_id: str
    payload: _struct_pb2.Struct
    metadata: _struct_pb2.Struct
    expires_at: _timestamp_pb2.Timestamp
    idempotency_key: str
    parent_id: str
    subject: str
    kind: str
    task_id: str
    priority: _attention_pb2.Priority
    mentions: _struct_pb2.ListValue
    directedness: _attention_pb2.Directedness
    policy: _attention_pb2.ResponsePolicy
    collect: _struct_pb2.Value
    fence: int
    expires_in_seconds: float
    obligation: _attention_pb2.Obligation
    document: bool
    replaces: str
    fail_fast: bool
    def __init__(self, channel_id: _Optional[str] = ..., sender: _Optional[str] = ..., to: _Optional[str] = ..., message_type: _Optional[_Union[MessageType, str]] = ..., correlation_id: _Optional[str] = ..., payload: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., idempotency_key: _Optional[str] = ..., parent_id: _Optional[str] = ..., subject: _Optional[str] = ..., kind: _Optional[str] = ..., task_id: _Optional[str] = ..., priority: _Optional[_Union[_attention_pb2.Priority, str]] = ..., mentions: _Optional[_Union[_struct_pb2.ListValue, _Mapping]] = ..., directedness: _Optional[_Union[_attention_pb2.Directedness, str]] = ..., policy: _Optional[_Union[_attention_pb2.ResponsePolicy, str]] = ..., collect: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., fence: _Optional[int] = ..., expires_in_seconds: _Optional[float] = ..., obligation: _Optional[_Union[_attention_pb2.Obligation, _Mapping]] = ..., document: bool = ..., replaces: _Optional[str] = ..., fail_fast: bool = ...) -> None: ...

class SendMessagesResponse(_message.Message):
    __slots__ = ("acknowledgement", "refusal")
    ACKNOWLEDGEMENT_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    acknowledgement: Acknowledgement
    refusal: _status_pb2.Status
    def __init__(self, acknowledgement: _Optional[_Union[Acknowledgement, _Mapping]] = ..., refusal: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

class Acknowledgement(_message.Message):
    __slots__ = ("message_id", "created_at")
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    message_id: str
    created_at: _timestamp_pb2.Timestamp
    def __init__(self, message_id: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class SendMessageByNameRequest(_message.Message):
    __slots__ = ("intent_id", "name", "sender", "to", "message_type", "correlation_id", "payload", "metadata", "expires_at", "idempotency_key", "parent_id", "subject", "kind", "task_id", "priority", "mentions", "directedness", "policy", "collect", "fence", "expires_in_seconds", "obligation", "unowned")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SENDER_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_TYPE_FIELD_NUMBER: _ClassVar[int]
    CORRELATION_ID_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    PARENT_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    MENTIONS_FIELD_NUMBER: _ClassVar[int]
    DIRECTEDNESS_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    COLLECT_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_IN_SECONDS_FIELD_NUMBER: _ClassVar[int]
    OBLIGATION_FIELD_NUMBER: _ClassVar[int]
    UNOWNED_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    name: str
    sender: str
    to: str
    message_type: MessageType
    correlation_id: str
    payload: _struct_pb2.Struct
    metadata: _struct_pb2.Struct
    expires_at: _timestamp_pb2.Timestamp
    idempotency_key: str
    parent_id: str
    subject: str
    kind: str
    task_id: str
    priority: _attention_pb2.Priority
    mentions: _struct_pb2.ListValue
    directedness: _attention_pb2.Directedness
    policy: _attention_pb2.ResponsePolicy
    collect: _struct_pb2.Value
    fence: int
    expires_in_seconds: float
    obligation: _attention_pb2.Obligation
    unowned: bool
    def __init__(self, intent_id: _Optional[str] = ..., name: _Optional[str] = ..., sender: _Optional[str] = ..., to: _Optional[str] = ..., message_type: _Optional[_Union[MessageType, str]] = ..., correlation_id: _Optional[str] = ..., payload: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., idempotency_key: _Optional[str] = ..., parent_id: _Optional[str] = ..., subject: _Optional[str] = ..., kind: _Optional[str] = ..., task_id: _Optional[str] = ..., priority: _Optional[_Union[_attention_pb2.Priority, str]] = ..., mentions: _Optional[_Union[_struct_pb2.ListValue, _Mapping]] = ..., directedness: _Optional[_Union[_attention_pb2.Directedness, str]] = ..., policy: _Optional[_Union[_attention_pb2.ResponsePolicy, str]] = ..., collect: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., fence: _Optional[int] = ..., expires_in_seconds: _Optional[float] = ..., obligation: _Optional[_Union[_attention_pb2.Obligation, _Mapping]] = ..., unowned: bool = ...) -> None: ...

class ListMessagesRequest(_message.Message):
    __slots__ = ("channel_id", "since", "to", "limit", "message_type", "correlation_id", "thread_id", "kind", "documents", "max_bytes", "without_contents")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_TYPE_FIELD_NUMBER: _ClassVar[int]
    CORRELATION_ID_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_CONTENTS_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    since: str
    to: str
    limit: int
    message_type: MessageType
    correlation_id: str
    thread_id: str
    kind: str
    documents: bool
    max_bytes: int
    without_contents: bool
    def __init__(self, channel_id: _Optional[str] = ..., since: _Optional[str] = ..., to: _Optional[str] = ..., limit: _Optional[int] = ..., message_type: _Optional[_Union[MessageType, str]] = ..., correlation_id: _Optional[str] = ..., thread_id: _Optional[str] = ..., kind: _Optional[str] = ..., documents: bool = ..., max_bytes: _Optional[int] = ..., without_contents: bool = ...) -> None: ...

class ListMessagesResponse(_message.Message):
    __slots__ = ("messages", "next_since", "bounded")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    NEXT_SINCE_FIELD_NUMBER: _ClassVar[int]
    BOUNDED_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[Message]
    next_since: str
    bounded: bool
    def __init__(self, messages: _Optional[_Iterable[_Union[Message, _Mapping]]] = ..., next_since: _Optional[str] = ..., bounded: bool = ...) -> None: ...

class GetMessageRequest(_message.Message):
    __slots__ = ("channel_id", "message_id")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    message_id: str
    def __init__(self, channel_id: _Optional[str] = ..., message_id: _Optional[str] = ...) -> None: ...

class GetThreadRequest(_message.Message):
    __slots__ = ("channel_id", "message_id", "limit", "cursor")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    message_id: str
    limit: int
    cursor: str
    def __init__(self, channel_id: _Optional[str] = ..., message_id: _Optional[str] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class Thread(_message.Message):
    __slots__ = ("root", "messages", "participants", "last_position", "next_cursor", "reactions", "claim", "bounded")
    ROOT_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    PARTICIPANTS_FIELD_NUMBER: _ClassVar[int]
    LAST_POSITION_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    REACTIONS_FIELD_NUMBER: _ClassVar[int]
    CLAIM_FIELD_NUMBER: _ClassVar[int]
    BOUNDED_FIELD_NUMBER: _ClassVar[int]
    root: Message
    messages: _containers.RepeatedCompositeFieldContainer[Message]
    participants: _containers.RepeatedScalarFieldContainer[str]
    last_position: int
    next_cursor: str
    reactions: _containers.RepeatedCompositeFieldContainer[ThreadReaction]
    claim: ThreadClaim
    bounded: bool
    def __init__(self, root: _Optional[_Union[Message, _Mapping]] = ..., messages: _Optional[_Iterable[_Union[Message, _Mapping]]] = ..., participants: _Optional[_Iterable[str]] = ..., last_position: _Optional[int] = ..., next_cursor: _Optional[str] = ..., reactions: _Optional[_Iterable[_Union[ThreadReaction, _Mapping]]] = ..., claim: _Optional[_Union[ThreadClaim, _Mapping]] = ..., bounded: bool = ...) -> None: ...

class ThreadReaction(_message.Message):
    __slots__ = ("message_id", "agent_id", "signal", "note", "eta", "created_at")
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    ETA_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    message_id: str
    agent_id: str
    signal: str
    note: str
    eta: str
    created_at: _timestamp_pb2.Timestamp
    def __init__(self, message_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., signal: _Optional[str] = ..., note: _Optional[str] = ..., eta: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ThreadClaim(_message.Message):
    __slots__ = ("holder", "expires_at")
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    holder: str
    expires_at: _timestamp_pb2.Timestamp
    def __init__(self, holder: _Optional[str] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ReplyMessageRequest(_message.Message):
    __slots__ = ("channel_id", "message_id", "sender", "payload", "metadata", "expires_at", "idempotency_key", "subject", "kind", "task_id", "priority", "mentions", "directedness", "policy", "fence", "parent_id", "expires_in_seconds")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    SENDER_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    MENTIONS_FIELD_NUMBER: _ClassVar[int]
    DIRECTEDNESS_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    PARENT_ID_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_IN_SECONDS_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    message_id: str
    sender: str
    payload: _struct_pb2.Struct
    metadata: _struct_pb2.Struct
    expires_at: _timestamp_pb2.Timestamp
    idempotency_key: str
    subject: str
    kind: str
    task_id: str
    priority: _attention_pb2.Priority
    mentions: _struct_pb2.ListValue
    directedness: _attention_pb2.Directedness
    policy: _attention_pb2.ResponsePolicy
    fence: int
    parent_id: str
    expires_in_seconds: float
    def __init__(self, channel_id: _Optional[str] = ..., message_id: _Optional[str] = ..., sender: _Optional[str] = ..., payload: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., idempotency_key: _Optional[str] = ..., subject: _Optional[str] = ..., kind: _Optional[str] = ..., task_id: _Optional[str] = ..., priority: _Optional[_Union[_attention_pb2.Priority, str]] = ..., mentions: _Optional[_Union[_struct_pb2.ListValue, _Mapping]] = ..., directedness: _Optional[_Union[_attention_pb2.Directedness, str]] = ..., policy: _Optional[_Union[_attention_pb2.ResponsePolicy, str]] = ..., fence: _Optional[int] = ..., parent_id: _Optional[str] = ..., expires_in_seconds: _Optional[float] = ...) -> None: ...

class UpdateMessageRequest(_message.Message):
    __slots__ = ("channel_id", "message_id", "status", "agent_id", "payload", "metadata", "subject", "mentions", "supersede")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    MENTIONS_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDE_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    message_id: str
    status: MessageStatus
    agent_id: str
    payload: _struct_pb2.Struct
    metadata: _struct_pb2.Struct
    subject: str
    mentions: _struct_pb2.ListValue
    supersede: bool
    def __init__(self, channel_id: _Optional[str] = ..., message_id: _Optional[str] = ..., status: _Optional[_Union[MessageStatus, str]] = ..., agent_id: _Optional[str] = ..., payload: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., subject: _Optional[str] = ..., mentions: _Optional[_Union[_struct_pb2.ListValue, _Mapping]] = ..., supersede: bool = ...) -> None: ...

class AskRequest(_message.Message):
    __slots__ = ("channel_id", "sender", "to", "payload", "metadata", "timeout_seconds", "timeout", "idempotency_key", "parent_id", "subject", "kind", "task_id", "priority", "mentions", "directedness", "policy", "collect", "obligation", "fail_fast")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    SENDER_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    PARENT_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    MENTIONS_FIELD_NUMBER: _ClassVar[int]
    DIRECTEDNESS_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    COLLECT_FIELD_NUMBER: _ClassVar[int]
    OBLIGATION_FIELD_NUMBER: _ClassVar[int]
    FAIL_FAST_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    sender: str
    to: str
    payload: _struct_pb2.Struct
    metadata: _struct_pb2.Struct
    timeout_seconds: float
    timeout: float
    idempotency_key: str
    parent_id: str
    subject: str
    kind: str
    task_id: str
    priority: _attention_pb2.Priority
    mentions: _struct_pb2.ListValue
    directedness: _attention_pb2.Directedness
    policy: _attention_pb2.ResponsePolicy
    collect: _struct_pb2.Value
    obligation: _attention_pb2.Obligation
    fail_fast: bool
    def __init__(self, channel_id: _Optional[str] = ..., sender: _Optional[str] = ..., to: _Optional[str] = ..., payload: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., timeout_seconds: _Optional[float] = ..., timeout: _Optional[float] = ..., idempotency_key: _Optional[str] = ..., parent_id: _Optional[str] = ..., subject: _Optional[str] = ..., kind: _Optional[str] = ..., task_id: _Optional[str] = ..., priority: _Optional[_Union[_attention_pb2.Priority, str]] = ..., mentions: _Optional[_Union[_struct_pb2.ListValue, _Mapping]] = ..., directedness: _Optional[_Union[_attention_pb2.Directedness, str]] = ..., policy: _Optional[_Union[_attention_pb2.ResponsePolicy, str]] = ..., collect: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., obligation: _Optional[_Union[_attention_pb2.Obligation, _Mapping]] = ..., fail_fast: bool = ...) -> None: ...

class AskAllRequest(_message.Message):
    __slots__ = ("channel_id", "sender", "to", "payload", "metadata", "timeout_seconds", "timeout", "min_responses", "idempotency_key", "parent_id", "subject", "kind", "task_id", "priority", "mentions", "directedness", "policy", "collect", "obligation", "fail_fast")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    SENDER_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    MIN_RESPONSES_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    PARENT_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    MENTIONS_FIELD_NUMBER: _ClassVar[int]
    DIRECTEDNESS_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    COLLECT_FIELD_NUMBER: _ClassVar[int]
    OBLIGATION_FIELD_NUMBER: _ClassVar[int]
    FAIL_FAST_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    sender: str
    to: str
    payload: _struct_pb2.Struct
    metadata: _struct_pb2.Struct
    timeout_seconds: float
    timeout: float
    min_responses: int
    idempotency_key: str
    parent_id: str
    subject: str
    kind: str
    task_id: str
    priority: _attention_pb2.Priority
    mentions: _struct_pb2.ListValue
    directedness: _attention_pb2.Directedness
    policy: _attention_pb2.ResponsePolicy
    collect: _struct_pb2.Value
    obligation: _attention_pb2.Obligation
    fail_fast: bool
    def __init__(self, channel_id: _Optional[str] = ..., sender: _Optional[str] = ..., to: _Optional[str] = ..., payload: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., timeout_seconds: _Optional[float] = ..., timeout: _Optional[float] = ..., min_responses: _Optional[int] = ..., idempotency_key: _Optional[str] = ..., parent_id: _Optional[str] = ..., subject: _Optional[str] = ..., kind: _Optional[str] = ..., task_id: _Optional[str] = ..., priority: _Optional[_Union[_attention_pb2.Priority, str]] = ..., mentions: _Optional[_Union[_struct_pb2.ListValue, _Mapping]] = ..., directedness: _Optional[_Union[_attention_pb2.Directedness, str]] = ..., policy: _Optional[_Union[_attention_pb2.ResponsePolicy, str]] = ..., collect: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., obligation: _Optional[_Union[_attention_pb2.Obligation, _Mapping]] = ..., fail_fast: bool = ...) -> None: ...

class AskAllResponse(_message.Message):
    __slots__ = ("responses",)
    RESPONSES_FIELD_NUMBER: _ClassVar[int]
    responses: _containers.RepeatedCompositeFieldContainer[Message]
    def __init__(self, responses: _Optional[_Iterable[_Union[Message, _Mapping]]] = ...) -> None: ...

class AwaitResponsesRequest(_message.Message):
    __slots__ = ("channel_id", "message_id", "wait_seconds", "min_responses", "explain")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    WAIT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    MIN_RESPONSES_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    message_id: str
    wait_seconds: float
    min_responses: int
    explain: bool
    def __init__(self, channel_id: _Optional[str] = ..., message_id: _Optional[str] = ..., wait_seconds: _Optional[float] = ..., min_responses: _Optional[int] = ..., explain: bool = ...) -> None: ...

class AwaitResponsesResponse(_message.Message):
    __slots__ = ("responses", "cause", "explanation", "note")
    RESPONSES_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    EXPLANATION_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    responses: _containers.RepeatedCompositeFieldContainer[Message]
    cause: str
    explanation: str
    note: str
    def __init__(self, responses: _Optional[_Iterable[_Union[Message, _Mapping]]] = ..., cause: _Optional[str] = ..., explanation: _Optional[str] = ..., note: _Optional[str] = ...) -> None: ...

class SubscribeRequest(_message.Message):
    __slots__ = ("channel_id", "intent_id", "agent_id", "after_position", "event_types", "message_type", "correlation_id", "include", "probes")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_POSITION_FIELD_NUMBER: _ClassVar[int]
    EVENT_TYPES_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_TYPE_FIELD_NUMBER: _ClassVar[int]
    CORRELATION_ID_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_FIELD_NUMBER: _ClassVar[int]
    PROBES_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    intent_id: str
    agent_id: str
    after_position: int
    event_types: _containers.RepeatedScalarFieldContainer[str]
    message_type: MessageType
    correlation_id: str
    include: _containers.RepeatedScalarFieldContainer[str]
    probes: bool
    def __init__(self, channel_id: _Optional[str] = ..., intent_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., after_position: _Optional[int] = ..., event_types: _Optional[_Iterable[str]] = ..., message_type: _Optional[_Union[MessageType, str]] = ..., correlation_id: _Optional[str] = ..., include: _Optional[_Iterable[str]] = ..., probes: bool = ...) -> None: ...

class SubscribeResponse(_message.Message):
    __slots__ = ("position", "intent_id", "channel_name", "message", "backfill", "event", "audit_event", "caught_up", "annotation", "attention", "probe_id")
    POSITION_FIELD_NUMBER: _ClassVar[int]
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_NAME_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    BACKFILL_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    AUDIT_EVENT_FIELD_NUMBER: _ClassVar[int]
    CAUGHT_UP_FIELD_NUMBER: _ClassVar[int]
    ANNOTATION_FIELD_NUMBER: _ClassVar[int]
    ATTENTION_FIELD_NUMBER: _ClassVar[int]
    PROBE_ID_FIELD_NUMBER: _ClassVar[int]
    position: int
    intent_id: str
    channel_name: str
    message: Message
    backfill: bool
    event: _events_pb2.Event
    audit_event: _events_pb2.Event
    caught_up: bool
    annotation: Annotation
    attention: _attention_pb2.Attention
    probe_id: str
    def __init__(self, position: _Optional[int] = ..., intent_id: _Optional[str] = ..., channel_name: _Optional[str] = ..., message: _Optional[_Union[Message, _Mapping]] = ..., backfill: bool = ..., event: _Optional[_Union[_events_pb2.Event, _Mapping]] = ..., audit_event: _Optional[_Union[_events_pb2.Event, _Mapping]] = ..., caught_up: bool = ..., annotation: _Optional[_Union[Annotation, _Mapping]] = ..., attention: _Optional[_Union[_attention_pb2.Attention, _Mapping]] = ..., probe_id: _Optional[str] = ...) -> None: ...

class LiftBrakeRequest(_message.Message):
    __slots__ = ("channel_id", "thread_id")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    thread_id: str
    def __init__(self, channel_id: _Optional[str] = ..., thread_id: _Optional[str] = ...) -> None: ...

class LiftBrakeResponse(_message.Message):
    __slots__ = ("channel_id", "thread_id", "lifted_at")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    LIFTED_AT_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    thread_id: str
    lifted_at: _timestamp_pb2.Timestamp
    def __init__(self, channel_id: _Optional[str] = ..., thread_id: _Optional[str] = ..., lifted_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListMessageDeliveriesRequest(_message.Message):
    __slots__ = ("channel_id", "message_id", "limit", "cursor")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    message_id: str
    limit: int
    cursor: str
    def __init__(self, channel_id: _Optional[str] = ..., message_id: _Optional[str] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class ListMessageDeliveriesResponse(_message.Message):
    __slots__ = ("deliveries", "next_cursor")
    DELIVERIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    deliveries: _containers.RepeatedCompositeFieldContainer[MessageDelivery]
    next_cursor: str
    def __init__(self, deliveries: _Optional[_Iterable[_Union[MessageDelivery, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class MessageDelivery(_message.Message):
    __slots__ = ("agent_id", "status", "stored_at", "offered_at", "read_at", "answered_at", "expired_at", "dead_lettered_at", "dead_letter_reason", "surfaced_at", "disposition", "disposed_at", "reach")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    STORED_AT_FIELD_NUMBER: _ClassVar[int]
    OFFERED_AT_FIELD_NUMBER: _ClassVar[int]
    READ_AT_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRED_AT_FIELD_NUMBER: _ClassVar[int]
    DEAD_LETTERED_AT_FIELD_NUMBER: _ClassVar[int]
    DEAD_LETTER_REASON_FIELD_NUMBER: _ClassVar[int]
    SURFACED_AT_FIELD_NUMBER: _ClassVar[int]
    DISPOSITION_FIELD_NUMBER: _ClassVar[int]
    DISPOSED_AT_FIELD_NUMBER: _ClassVar[int]
    REACH_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    status: DeliveryStatus
    stored_at: _timestamp_pb2.Timestamp
    offered_at: _timestamp_pb2.Timestamp
    read_at: _timestamp_pb2.Timestamp
    answered_at: _timestamp_pb2.Timestamp
    expired_at: _timestamp_pb2.Timestamp
    dead_lettered_at: _timestamp_pb2.Timestamp
    dead_letter_reason: str
    surfaced_at: _timestamp_pb2.Timestamp
    disposition: str
    disposed_at: _timestamp_pb2.Timestamp
    reach: _reach_pb2.Reach
    def __init__(self, agent_id: _Optional[str] = ..., status: _Optional[_Union[DeliveryStatus, str]] = ..., stored_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., offered_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., read_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., answered_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expired_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., dead_lettered_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., dead_letter_reason: _Optional[str] = ..., surfaced_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., disposition: _Optional[str] = ..., disposed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reach: _Optional[_Union[_reach_pb2.Reach, _Mapping]] = ...) -> None: ...

class GetInboxRequest(_message.Message):
    __slots__ = ("agent_id", "limit", "cursor", "wait_seconds", "include", "policy", "unhanded", "handed_since")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    WAIT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    UNHANDED_FIELD_NUMBER: _ClassVar[int]
    HANDED_SINCE_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    limit: int
    cursor: str
    wait_seconds: float
    include: _containers.RepeatedScalarFieldContainer[str]
    policy: _containers.RepeatedScalarFieldContainer[_attention_pb2.ResponsePolicy]
    unhanded: bool
    handed_since: _timestamp_pb2.Timestamp
    def __init__(self, agent_id: _Optional[str] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ..., wait_seconds: _Optional[float] = ..., include: _Optional[_Iterable[str]] = ..., policy: _Optional[_Iterable[_Union[_attention_pb2.ResponsePolicy, str]]] = ..., unhanded: bool = ..., handed_since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Inbox(_message.Message):
    __slots__ = ("items", "unread_count", "unanswered_count", "next_cursor", "bounded", "counts_bounded")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    UNREAD_COUNT_FIELD_NUMBER: _ClassVar[int]
    UNANSWERED_COUNT_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    BOUNDED_FIELD_NUMBER: _ClassVar[int]
    COUNTS_BOUNDED_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[InboxItem]
    unread_count: int
    unanswered_count: int
    next_cursor: str
    bounded: bool
    counts_bounded: bool
    def __init__(self, items: _Optional[_Iterable[_Union[InboxItem, _Mapping]]] = ..., unread_count: _Optional[int] = ..., unanswered_count: _Optional[int] = ..., next_cursor: _Optional[str] = ..., bounded: bool = ..., counts_bounded: bool = ...) -> None: ...

class InboxItem(_message.Message):
    __slots__ = ("intent_id", "channel_name", "message", "read", "attention")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_NAME_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    ATTENTION_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    channel_name: str
    message: Message
    read: bool
    attention: _attention_pb2.Attention
    def __init__(self, intent_id: _Optional[str] = ..., channel_name: _Optional[str] = ..., message: _Optional[_Union[Message, _Mapping]] = ..., read: bool = ..., attention: _Optional[_Union[_attention_pb2.Attention, _Mapping]] = ...) -> None: ...

class MarkInboxReadRequest(_message.Message):
    __slots__ = ("agent_id", "message_ids")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_IDS_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    message_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, agent_id: _Optional[str] = ..., message_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class MarkInboxReadResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[Message]
    def __init__(self, messages: _Optional[_Iterable[_Union[Message, _Mapping]]] = ...) -> None: ...

class ListRevisionsRequest(_message.Message):
    __slots__ = ("channel_id", "message_id", "limit", "cursor")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    message_id: str
    limit: int
    cursor: str
    def __init__(self, channel_id: _Optional[str] = ..., message_id: _Optional[str] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class ListRevisionsResponse(_message.Message):
    __slots__ = ("revisions", "next_cursor")
    REVISIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    revisions: _containers.RepeatedCompositeFieldContainer[MessageRevision]
    next_cursor: str
    def __init__(self, revisions: _Optional[_Iterable[_Union[MessageRevision, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class MessageRevision(_message.Message):
    __slots__ = ("revision", "payload", "metadata", "subject", "mentions", "created_at")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    MENTIONS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    revision: int
    payload: _struct_pb2.Struct
    metadata: _struct_pb2.Struct
    subject: str
    mentions: _containers.RepeatedScalarFieldContainer[str]
    created_at: _timestamp_pb2.Timestamp
    def __init__(self, revision: _Optional[int] = ..., payload: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., subject: _Optional[str] = ..., mentions: _Optional[_Iterable[str]] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class DeleteMessageRequest(_message.Message):
    __slots__ = ("channel_id", "message_id", "agent_id")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    message_id: str
    agent_id: str
    def __init__(self, channel_id: _Optional[str] = ..., message_id: _Optional[str] = ..., agent_id: _Optional[str] = ...) -> None: ...

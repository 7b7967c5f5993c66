import datetime

from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Event(_message.Message):
    __slots__ = ("id", "intent_id", "event_type", "actor", "payload", "created_at", "sequence", "previous_event_hash", "event_hash", "proof", "trace_id", "parent_event_id")
    ID_FIELD_NUMBER: _ClassVar[int]
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    EVENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_EVENT_HASH_FIELD_NUMBER: _ClassVar[int]
    EVENT_HASH_FIELD_NUMBER: _ClassVar[int]
    PROOF_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    PARENT_EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    intent_id: str
    event_type: str
    actor: str
    payload: _struct_pb2.Struct
    created_at: _timestamp_pb2.Timestamp
    sequence: int
    previous_event_hash: str
    event_hash: str
    proof: _struct_pb2.Struct
    trace_id: str
    parent_event_id: str
    def __init__(self, id: _Optional[str] = ..., intent_id: _Optional[str] = ..., event_type: _Optional[str] = ..., actor: _Optional[str] = ..., payload: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., sequence: _Optional[int] = ..., previous_event_hash: _Optional[str] = ..., event_hash: _Optional[str] = ..., proof: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., trace_id: _Optional[str] = ..., parent_event_id: _Optional[str] = ...) -> None: ...

class AppendEventRequest(_message.Message):
    __slots__ = ("intent_id", "event_type", "actor", "payload", "trace_id", "parent_event_id", "proof")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    EVENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    PARENT_EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    PROOF_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    event_type: str
    actor: str
    payload: _struct_pb2.Struct
    trace_id: str
    parent_event_id: str
    proof: _struct_pb2.Struct
    def __init__(self, intent_id: _Optional[str] = ..., event_type: _Optional[str] = ..., actor: _Optional[str] = ..., payload: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., trace_id: _Optional[str] = ..., parent_event_id: _Optional[str] = ..., proof: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class ListEventsRequest(_message.Message):
    __slots__ = ("intent_id", "limit", "offset", "event_type", "since", "after_sequence", "order", "cursor")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    EVENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    AFTER_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    limit: int
    offset: int
    event_type: str
    since: _timestamp_pb2.Timestamp
    after_sequence: int
    order: str
    cursor: str
    def __init__(self, intent_id: _Optional[str] = ..., limit: _Optional[int] = ..., offset: _Optional[int] = ..., event_type: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., after_sequence: _Optional[int] = ..., order: _Optional[str] = ..., cursor: _Optional[str] = ...) -> None: ...

class ListEventsResponse(_message.Message):
    __slots__ = ("events", "next_cursor", "checkpoint", "bounded")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    BOUNDED_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[Event]
    next_cursor: str
    checkpoint: EventCheckpoint
    bounded: bool
    def __init__(self, events: _Optional[_Iterable[_Union[Event, _Mapping]]] = ..., next_cursor: _Optional[str] = ..., checkpoint: _Optional[_Union[EventCheckpoint, _Mapping]] = ..., bounded: bool = ...) -> None: ...

class EventCheckpoint(_message.Message):
    __slots__ = ("sequence", "position", "event_hash", "created_at", "removed_at", "first_break")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    EVENT_HASH_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    REMOVED_AT_FIELD_NUMBER: _ClassVar[int]
    FIRST_BREAK_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    position: int
    event_hash: str
    created_at: _timestamp_pb2.Timestamp
    removed_at: _timestamp_pb2.Timestamp
    first_break: int
    def __init__(self, sequence: _Optional[int] = ..., position: _Optional[int] = ..., event_hash: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., removed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., first_break: _Optional[int] = ...) -> None: ...

class GetEventRequest(_message.Message):
    __slots__ = ("intent_id", "event_id")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    event_id: str
    def __init__(self, intent_id: _Optional[str] = ..., event_id: _Optional[str] = ...) -> None: ...

class VerifyEventsRequest(_message.Message):
    __slots__ = ("intent_id", "limit", "cursor")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    limit: int
    cursor: str
    def __init__(self, intent_id: _Optional[str] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class ChainBreak(_message.Message):
    __slots__ = ("sequence", "reason")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    reason: str
    def __init__(self, sequence: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class VerifiedEvent(_message.Message):
    __slots__ = ("sequence", "event_hash", "previous_event_hash", "verified")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    EVENT_HASH_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_EVENT_HASH_FIELD_NUMBER: _ClassVar[int]
    VERIFIED_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    event_hash: str
    previous_event_hash: str
    verified: bool
    def __init__(self, sequence: _Optional[int] = ..., event_hash: _Optional[str] = ..., previous_event_hash: _Optional[str] = ..., verified: bool = ...) -> None: ...

class VerifyEventsResponse(_message.Message):
    __slots__ = ("intent_id", "event_count", "first_sequence", "last_sequence", "chain_valid", "valid", "breaks", "events", "break_count", "last_event_hash", "next_cursor", "checkpoint")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    EVENT_COUNT_FIELD_NUMBER: _ClassVar[int]
    FIRST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    CHAIN_VALID_FIELD_NUMBER: _ClassVar[int]
    VALID_FIELD_NUMBER: _ClassVar[int]
    BREAKS_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    BREAK_COUNT_FIELD_NUMBER: _ClassVar[int]
    LAST_EVENT_HASH_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    event_count: int
    first_sequence: int
    last_sequence: int
    chain_valid: bool
    valid: bool
    breaks: _containers.RepeatedCompositeFieldContainer[ChainBreak]
    events: _containers.RepeatedCompositeFieldContainer[VerifiedEvent]
    break_count: int
    last_event_hash: str
    next_cursor: str
    checkpoint: EventCheckpoint
    def __init__(self, intent_id: _Optional[str] = ..., event_count: _Optional[int] = ..., first_sequence: _Optional[int] = ..., last_sequence: _Optional[int] = ..., chain_valid: bool = ..., valid: bool = ..., breaks: _Optional[_Iterable[_Union[ChainBreak, _Mapping]]] = ..., events: _Optional[_Iterable[_Union[VerifiedEvent, _Mapping]]] = ..., break_count: _Optional[int] = ..., last_event_hash: _Optional[str] = ..., next_cursor: _Optional[str] = ..., checkpoint: _Optional[_Union[EventCheckpoint, _Mapping]] = ...) -> None: ...

class ListTraceEventsRequest(_message.Message):
    __slots__ = ("trace_id", "limit", "cursor")
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    trace_id: str
    limit: int
    cursor: str
    def __init__(self, trace_id: _Optional[str] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class ListTraceEventsResponse(_message.Message):
    __slots__ = ("events", "next_cursor")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[Event]
    next_cursor: str
    def __init__(self, events: _Optional[_Iterable[_Union[Event, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Reaction(_message.Message):
    __slots__ = ("agent_id", "signal", "note", "eta", "created_at")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    ETA_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    signal: str
    note: str
    eta: str
    created_at: _timestamp_pb2.Timestamp
    def __init__(self, agent_id: _Optional[str] = ..., signal: _Optional[str] = ..., note: _Optional[str] = ..., eta: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class AddReactionRequest(_message.Message):
    __slots__ = ("channel_id", "message_id", "signal", "note", "eta", "agent_id")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    ETA_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    message_id: str
    signal: str
    note: str
    eta: str
    agent_id: str
    def __init__(self, channel_id: _Optional[str] = ..., message_id: _Optional[str] = ..., signal: _Optional[str] = ..., note: _Optional[str] = ..., eta: _Optional[str] = ..., agent_id: _Optional[str] = ...) -> None: ...

class RemoveReactionRequest(_message.Message):
    __slots__ = ("channel_id", "message_id", "signal", "agent_id")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    message_id: str
    signal: str
    agent_id: str
    def __init__(self, channel_id: _Optional[str] = ..., message_id: _Optional[str] = ..., signal: _Optional[str] = ..., agent_id: _Optional[str] = ...) -> None: ...

class ListReactionsRequest(_message.Message):
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

class ListReactionsResponse(_message.Message):
    __slots__ = ("reactions", "next_cursor")
    REACTIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    reactions: _containers.RepeatedCompositeFieldContainer[Reaction]
    next_cursor: str
    def __init__(self, reactions: _Optional[_Iterable[_Union[Reaction, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from openintent_channels._generated import messages_pb2 as _messages_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SearchMessagesRequest(_message.Message):
    __slots__ = ("q", "intent_id", "channel_id", "thread_id", "sender", "to", "kind", "after", "before", "limit", "cursor")
    Q_FIELD_NUMBER: _ClassVar[int]
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    SENDER_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    q: str
    intent_id: str
    channel_id: str
    thread_id: str
    sender: str
    to: str
    kind: str
    after: _timestamp_pb2.Timestamp
    before: _timestamp_pb2.Timestamp
    limit: int
    cursor: str
    def __init__(self, q: _Optional[str] = ..., intent_id: _Optional[str] = ..., channel_id: _Optional[str] = ..., thread_id: _Optional[str] = ..., sender: _Optional[str] = ..., to: _Optional[str] = ..., kind: _Optional[str] = ..., after: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class FoundMessage(_message.Message):
    __slots__ = ("message", "snippet", "intent_id", "channel_name")
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    SNIPPET_FIELD_NUMBER: _ClassVar[int]
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_NAME_FIELD_NUMBER: _ClassVar[int]
    message: _messages_pb2.Message
    snippet: str
    intent_id: str
    channel_name: str
    def __init__(self, message: _Optional[_Union[_messages_pb2.Message, _Mapping]] = ..., snippet: _Optional[str] = ..., intent_id: _Optional[str] = ..., channel_name: _Optional[str] = ...) -> None: ...

class SearchMessagesResponse(_message.Message):
    __slots__ = ("messages", "next_cursor", "complete_through", "bounded", "complete_from", "messages_left", "intents_not_indexed")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_THROUGH_FIELD_NUMBER: _ClassVar[int]
    BOUNDED_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_FROM_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_LEFT_FIELD_NUMBER: _ClassVar[int]
    INTENTS_NOT_INDEXED_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[FoundMessage]
    next_cursor: str
    complete_through: _timestamp_pb2.Timestamp
    bounded: bool
    complete_from: _timestamp_pb2.Timestamp
    messages_left: int
    intents_not_indexed: int
    def __init__(self, messages: _Optional[_Iterable[_Union[FoundMessage, _Mapping]]] = ..., next_cursor: _Optional[str] = ..., complete_through: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., bounded: bool = ..., complete_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., messages_left: _Optional[int] = ..., intents_not_indexed: _Optional[int] = ...) -> None: ...

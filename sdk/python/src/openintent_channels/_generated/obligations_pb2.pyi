import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from openintent_channels._generated import messages_pb2 as _messages_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ObligationSide(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OBLIGATION_SIDE_UNSPECIFIED: _ClassVar[ObligationSide]
    OBLIGATION_SIDE_OWES: _ClassVar[ObligationSide]
    OBLIGATION_SIDE_OWED: _ClassVar[ObligationSide]
OBLIGATION_SIDE_UNSPECIFIED: ObligationSide
OBLIGATION_SIDE_OWES: ObligationSide
OBLIGATION_SIDE_OWED: ObligationSide

class Discharge(_message.Message):
    __slots__ = ("message_id", "agent_id", "note", "discharged_at")
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    DISCHARGED_AT_FIELD_NUMBER: _ClassVar[int]
    message_id: str
    agent_id: str
    note: str
    discharged_at: _timestamp_pb2.Timestamp
    def __init__(self, message_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., note: _Optional[str] = ..., discharged_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class DischargeObligationRequest(_message.Message):
    __slots__ = ("channel_id", "message_id", "note")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    message_id: str
    note: str
    def __init__(self, channel_id: _Optional[str] = ..., message_id: _Optional[str] = ..., note: _Optional[str] = ...) -> None: ...

class ListObligationsRequest(_message.Message):
    __slots__ = ("agent_id", "side", "limit", "cursor")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    SIDE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    side: ObligationSide
    limit: int
    cursor: str
    def __init__(self, agent_id: _Optional[str] = ..., side: _Optional[_Union[ObligationSide, str]] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class ListObligationsResponse(_message.Message):
    __slots__ = ("messages", "next_cursor")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[_messages_pb2.Message]
    next_cursor: str
    def __init__(self, messages: _Optional[_Iterable[_Union[_messages_pb2.Message, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

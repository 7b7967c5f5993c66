import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ConcernKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONCERN_KIND_UNSPECIFIED: _ClassVar[ConcernKind]
    CONCERN_KIND_QUESTION: _ClassVar[ConcernKind]
    CONCERN_KIND_OBLIGATION: _ClassVar[ConcernKind]
    CONCERN_KIND_UNANSWERED: _ClassVar[ConcernKind]
    CONCERN_KIND_UNREACHABLE: _ClassVar[ConcernKind]
    CONCERN_KIND_DEAD_LETTERS: _ClassVar[ConcernKind]
    CONCERN_KIND_WEBHOOK: _ClassVar[ConcernKind]
    CONCERN_KIND_BRAKE: _ClassVar[ConcernKind]
    CONCERN_KIND_HOLDER_LOST: _ClassVar[ConcernKind]

class ConcernAction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONCERN_ACTION_UNSPECIFIED: _ClassVar[ConcernAction]
    CONCERN_ACTION_ANSWER: _ClassVar[ConcernAction]
    CONCERN_ACTION_CLAIM: _ClassVar[ConcernAction]
    CONCERN_ACTION_DECLINE: _ClassVar[ConcernAction]
    CONCERN_ACTION_DEFER: _ClassVar[ConcernAction]
    CONCERN_ACTION_DISCHARGE: _ClassVar[ConcernAction]
    CONCERN_ACTION_WITHDRAW: _ClassVar[ConcernAction]
    CONCERN_ACTION_INVITE: _ClassVar[ConcernAction]
    CONCERN_ACTION_REDRIVE: _ClassVar[ConcernAction]
    CONCERN_ACTION_DROP: _ClassVar[ConcernAction]
    CONCERN_ACTION_LIFT: _ClassVar[ConcernAction]
    CONCERN_ACTION_REASSIGN: _ClassVar[ConcernAction]
CONCERN_KIND_UNSPECIFIED: ConcernKind
CONCERN_KIND_QUESTION: ConcernKind
CONCERN_KIND_OBLIGATION: ConcernKind
CONCERN_KIND_UNANSWERED: ConcernKind
CONCERN_KIND_UNREACHABLE: ConcernKind
CONCERN_KIND_DEAD_LETTERS: ConcernKind
CONCERN_KIND_WEBHOOK: ConcernKind
CONCERN_KIND_BRAKE: ConcernKind
CONCERN_KIND_HOLDER_LOST: ConcernKind
CONCERN_ACTION_UNSPECIFIED: ConcernAction
CONCERN_ACTION_ANSWER: ConcernAction
CONCERN_ACTION_CLAIM: ConcernAction
CONCERN_ACTION_DECLINE: ConcernAction
CONCERN_ACTION_DEFER: ConcernAction
CONCERN_ACTION_DISCHARGE: ConcernAction
CONCERN_ACTION_WITHDRAW: ConcernAction
CONCERN_ACTION_INVITE: ConcernAction
CONCERN_ACTION_REDRIVE: ConcernAction
CONCERN_ACTION_DROP: ConcernAction
CONCERN_ACTION_LIFT: ConcernAction
CONCERN_ACTION_REASSIGN: ConcernAction

class Concern(_message.Message):
    __slots__ = ("id", "kind", "since", "intent_id", "channel_id", "message_id", "agent_id", "subscription_id", "task_id", "summary", "actions")
    ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIPTION_ID_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    id: str
    kind: ConcernKind
    since: _timestamp_pb2.Timestamp
    intent_id: str
    channel_id: str
    message_id: str
    agent_id: str
    subscription_id: str
    task_id: str
    summary: str
    actions: _containers.RepeatedScalarFieldContainer[ConcernAction]
    def __init__(self, id: _Optional[str] = ..., kind: _Optional[_Union[ConcernKind, str]] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., intent_id: _Optional[str] = ..., channel_id: _Optional[str] = ..., message_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., subscription_id: _Optional[str] = ..., task_id: _Optional[str] = ..., summary: _Optional[str] = ..., actions: _Optional[_Iterable[_Union[ConcernAction, str]]] = ...) -> None: ...

class ListConcernsRequest(_message.Message):
    __slots__ = ("kind", "intent_id", "agent_id", "limit", "cursor")
    KIND_FIELD_NUMBER: _ClassVar[int]
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    kind: ConcernKind
    intent_id: str
    agent_id: str
    limit: int
    cursor: str
    def __init__(self, kind: _Optional[_Union[ConcernKind, str]] = ..., intent_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class ListConcernsResponse(_message.Message):
    __slots__ = ("concerns", "next_cursor")
    CONCERNS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    concerns: _containers.RepeatedCompositeFieldContainer[Concern]
    next_cursor: str
    def __init__(self, concerns: _Optional[_Iterable[_Union[Concern, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

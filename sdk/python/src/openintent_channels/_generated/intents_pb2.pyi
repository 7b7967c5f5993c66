import datetime

from google.protobuf import empty_pb2 as _empty_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from openintent_channels._generated import access_pb2 as _access_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class IntentStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    INTENT_STATUS_UNSPECIFIED: _ClassVar[IntentStatus]
    INTENT_STATUS_DRAFT: _ClassVar[IntentStatus]
    INTENT_STATUS_ACTIVE: _ClassVar[IntentStatus]
    INTENT_STATUS_BLOCKED: _ClassVar[IntentStatus]
    INTENT_STATUS_COMPLETED: _ClassVar[IntentStatus]
    INTENT_STATUS_ABANDONED: _ClassVar[IntentStatus]
    INTENT_STATUS_SUSPENDED_AWAITING_INPUT: _ClassVar[IntentStatus]
INTENT_STATUS_UNSPECIFIED: IntentStatus
INTENT_STATUS_DRAFT: IntentStatus
INTENT_STATUS_ACTIVE: IntentStatus
INTENT_STATUS_BLOCKED: IntentStatus
INTENT_STATUS_COMPLETED: IntentStatus
INTENT_STATUS_ABANDONED: IntentStatus
INTENT_STATUS_SUSPENDED_AWAITING_INPUT: IntentStatus

class Intent(_message.Message):
    __slots__ = ("id", "title", "description", "status", "created_by", "constraints", "state", "confidence", "version", "parent_intent_id", "depends_on", "governance_policy", "created_at", "updated_at")
    ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    CONSTRAINTS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PARENT_INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    DEPENDS_ON_FIELD_NUMBER: _ClassVar[int]
    GOVERNANCE_POLICY_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    title: str
    description: str
    status: IntentStatus
    created_by: str
    constraints: _struct_pb2.Struct
    state: _struct_pb2.Struct
    confidence: float
    version: int
    parent_intent_id: str
    depends_on: _containers.RepeatedScalarFieldContainer[str]
    governance_policy: _struct_pb2.Struct
    created_at: _timestamp_pb2.Timestamp
    updated_at: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., title: _Optional[str] = ..., description: _Optional[str] = ..., status: _Optional[_Union[IntentStatus, str]] = ..., created_by: _Optional[str] = ..., constraints: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., state: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., confidence: _Optional[float] = ..., version: _Optional[int] = ..., parent_intent_id: _Optional[str] = ..., depends_on: _Optional[_Iterable[str]] = ..., governance_policy: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class OpenIntentRequest(_message.Message):
    __slots__ = ("title", "description", "default_policy")
    TITLE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_POLICY_FIELD_NUMBER: _ClassVar[int]
    title: str
    description: str
    default_policy: _access_pb2.AccessPolicy
    def __init__(self, title: _Optional[str] = ..., description: _Optional[str] = ..., default_policy: _Optional[_Union[_access_pb2.AccessPolicy, str]] = ...) -> None: ...

class OpenIntentResponse(_message.Message):
    __slots__ = ("intent", "created")
    INTENT_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    intent: Intent
    created: bool
    def __init__(self, intent: _Optional[_Union[Intent, _Mapping]] = ..., created: bool = ...) -> None: ...

class CreateIntentRequest(_message.Message):
    __slots__ = ("title", "description", "constraints", "state", "created_by", "parent_intent_id", "parent_id", "depends_on", "status", "governance_policy", "confidence", "default_policy")
    TITLE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    CONSTRAINTS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    PARENT_INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    PARENT_ID_FIELD_NUMBER: _ClassVar[int]
    DEPENDS_ON_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    GOVERNANCE_POLICY_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_POLICY_FIELD_NUMBER: _ClassVar[int]
    title: str
    description: str
    constraints: _struct_pb2.Struct
    state: _struct_pb2.Struct
    created_by: str
    parent_intent_id: str
    parent_id: str
    depends_on: _containers.RepeatedScalarFieldContainer[str]
    status: IntentStatus
    governance_policy: _struct_pb2.Struct
    confidence: float
    default_policy: _access_pb2.AccessPolicy
    def __init__(self, title: _Optional[str] = ..., description: _Optional[str] = ..., constraints: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., state: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., created_by: _Optional[str] = ..., parent_intent_id: _Optional[str] = ..., parent_id: _Optional[str] = ..., depends_on: _Optional[_Iterable[str]] = ..., status: _Optional[_Union[IntentStatus, str]] = ..., governance_policy: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., confidence: _Optional[float] = ..., default_policy: _Optional[_Union[_access_pb2.AccessPolicy, str]] = ...) -> None: ...

class ListIntentsRequest(_message.Message):
    __slots__ = ("status", "limit", "offset", "cursor", "order")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    status: IntentStatus
    limit: int
    offset: int
    cursor: str
    order: str
    def __init__(self, status: _Optional[_Union[IntentStatus, str]] = ..., limit: _Optional[int] = ..., offset: _Optional[int] = ..., cursor: _Optional[str] = ..., order: _Optional[str] = ...) -> None: ...

class ListIntentsResponse(_message.Message):
    __slots__ = ("intents", "total", "next_cursor", "total_bounded", "bounded")
    INTENTS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BOUNDED_FIELD_NUMBER: _ClassVar[int]
    BOUNDED_FIELD_NUMBER: _ClassVar[int]
    intents: _containers.RepeatedCompositeFieldContainer[Intent]
    total: int
    next_cursor: str
    total_bounded: bool
    bounded: bool
    def __init__(self, intents: _Optional[_Iterable[_Union[Intent, _Mapping]]] = ..., total: _Optional[int] = ..., next_cursor: _Optional[str] = ..., total_bounded: bool = ..., bounded: bool = ...) -> None: ...

class GetIntentRequest(_message.Message):
    __slots__ = ("intent_id",)
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    def __init__(self, intent_id: _Optional[str] = ...) -> None: ...

class StatePatch(_message.Message):
    __slots__ = ("op", "path", "value")
    OP_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    op: str
    path: str
    value: _struct_pb2.Value
    def __init__(self, op: _Optional[str] = ..., path: _Optional[str] = ..., value: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ...) -> None: ...

class PatchIntentStateRequest(_message.Message):
    __slots__ = ("intent_id", "expected_version", "patches", "state")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    PATCHES_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    expected_version: int
    patches: _containers.RepeatedCompositeFieldContainer[StatePatch]
    state: _struct_pb2.Struct
    def __init__(self, intent_id: _Optional[str] = ..., expected_version: _Optional[int] = ..., patches: _Optional[_Iterable[_Union[StatePatch, _Mapping]]] = ..., state: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class SetIntentStatusRequest(_message.Message):
    __slots__ = ("intent_id", "expected_version", "status", "reason")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    expected_version: int
    status: IntentStatus
    reason: str
    def __init__(self, intent_id: _Optional[str] = ..., expected_version: _Optional[int] = ..., status: _Optional[_Union[IntentStatus, str]] = ..., reason: _Optional[str] = ...) -> None: ...

class Assignment(_message.Message):
    __slots__ = ("id", "intent_id", "agent_id", "role", "assigned_at")
    ID_FIELD_NUMBER: _ClassVar[int]
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    ASSIGNED_AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    intent_id: str
    agent_id: str
    role: str
    assigned_at: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., intent_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., role: _Optional[str] = ..., assigned_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListAssignmentsRequest(_message.Message):
    __slots__ = ("intent_id", "limit", "cursor")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    limit: int
    cursor: str
    def __init__(self, intent_id: _Optional[str] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class ListAssignmentsResponse(_message.Message):
    __slots__ = ("assignments", "next_cursor")
    ASSIGNMENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    assignments: _containers.RepeatedCompositeFieldContainer[Assignment]
    next_cursor: str
    def __init__(self, assignments: _Optional[_Iterable[_Union[Assignment, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class AssignAgentRequest(_message.Message):
    __slots__ = ("intent_id", "agent_id", "role")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    agent_id: str
    role: str
    def __init__(self, intent_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., role: _Optional[str] = ...) -> None: ...

class UnassignAgentRequest(_message.Message):
    __slots__ = ("intent_id", "agent_id")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    agent_id: str
    def __init__(self, intent_id: _Optional[str] = ..., agent_id: _Optional[str] = ...) -> None: ...

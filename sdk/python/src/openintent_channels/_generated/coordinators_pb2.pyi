import datetime

from google.protobuf import empty_pb2 as _empty_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CoordinatorStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COORDINATOR_STATUS_UNSPECIFIED: _ClassVar[CoordinatorStatus]
    COORDINATOR_STATUS_REGISTERING: _ClassVar[CoordinatorStatus]
    COORDINATOR_STATUS_ACTIVE: _ClassVar[CoordinatorStatus]
    COORDINATOR_STATUS_PAUSED: _ClassVar[CoordinatorStatus]
    COORDINATOR_STATUS_UNRESPONSIVE: _ClassVar[CoordinatorStatus]
    COORDINATOR_STATUS_FAILED_OVER: _ClassVar[CoordinatorStatus]
    COORDINATOR_STATUS_COMPLETING: _ClassVar[CoordinatorStatus]
    COORDINATOR_STATUS_COMPLETED: _ClassVar[CoordinatorStatus]

class CoordinatorType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COORDINATOR_TYPE_UNSPECIFIED: _ClassVar[CoordinatorType]
    COORDINATOR_TYPE_LLM: _ClassVar[CoordinatorType]
    COORDINATOR_TYPE_HUMAN: _ClassVar[CoordinatorType]
    COORDINATOR_TYPE_COMPOSITE: _ClassVar[CoordinatorType]
    COORDINATOR_TYPE_SYSTEM: _ClassVar[CoordinatorType]

class CoordinatorScope(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COORDINATOR_SCOPE_UNSPECIFIED: _ClassVar[CoordinatorScope]
    COORDINATOR_SCOPE_INTENT: _ClassVar[CoordinatorScope]
    COORDINATOR_SCOPE_PORTFOLIO: _ClassVar[CoordinatorScope]
COORDINATOR_STATUS_UNSPECIFIED: CoordinatorStatus
COORDINATOR_STATUS_REGISTERING: CoordinatorStatus
COORDINATOR_STATUS_ACTIVE: CoordinatorStatus
COORDINATOR_STATUS_PAUSED: CoordinatorStatus
COORDINATOR_STATUS_UNRESPONSIVE: CoordinatorStatus
COORDINATOR_STATUS_FAILED_OVER: CoordinatorStatus
COORDINATOR_STATUS_COMPLETING: CoordinatorStatus
COORDINATOR_STATUS_COMPLETED: CoordinatorStatus
COORDINATOR_TYPE_UNSPECIFIED: CoordinatorType
COORDINATOR_TYPE_LLM: CoordinatorType
COORDINATOR_TYPE_HUMAN: CoordinatorType
COORDINATOR_TYPE_COMPOSITE: CoordinatorType
COORDINATOR_TYPE_SYSTEM: CoordinatorType
COORDINATOR_SCOPE_UNSPECIFIED: CoordinatorScope
COORDINATOR_SCOPE_INTENT: CoordinatorScope
COORDINATOR_SCOPE_PORTFOLIO: CoordinatorScope

class Coordinator(_message.Message):
    __slots__ = ("id", "agent_id", "intent_id", "portfolio_id", "role", "supervisor_id", "coordinator_type", "scope", "status", "guardrails", "heartbeat_interval_seconds", "last_heartbeat_at", "granted_at", "expires_at", "metadata")
    ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    PORTFOLIO_ID_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    SUPERVISOR_ID_FIELD_NUMBER: _ClassVar[int]
    COORDINATOR_TYPE_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    GUARDRAILS_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_INTERVAL_SECONDS_FIELD_NUMBER: _ClassVar[int]
    LAST_HEARTBEAT_AT_FIELD_NUMBER: _ClassVar[int]
    GRANTED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    id: str
    agent_id: str
    intent_id: str
    portfolio_id: str
    role: str
    supervisor_id: str
    coordinator_type: CoordinatorType
    scope: CoordinatorScope
    status: CoordinatorStatus
    guardrails: _struct_pb2.Struct
    heartbeat_interval_seconds: int
    last_heartbeat_at: _timestamp_pb2.Timestamp
    granted_at: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    metadata: _struct_pb2.Struct
    def __init__(self, id: _Optional[str] = ..., agent_id: _Optional[str] = ..., intent_id: _Optional[str] = ..., portfolio_id: _Optional[str] = ..., role: _Optional[str] = ..., supervisor_id: _Optional[str] = ..., coordinator_type: _Optional[_Union[CoordinatorType, str]] = ..., scope: _Optional[_Union[CoordinatorScope, str]] = ..., status: _Optional[_Union[CoordinatorStatus, str]] = ..., guardrails: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., heartbeat_interval_seconds: _Optional[int] = ..., last_heartbeat_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., granted_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class CreateCoordinatorRequest(_message.Message):
    __slots__ = ("agent_id", "coordinator_id", "intent_id", "portfolio_id", "role", "supervisor_id", "coordinator_type", "scope", "guardrails", "heartbeat_interval_seconds", "expires_at", "metadata")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    COORDINATOR_ID_FIELD_NUMBER: _ClassVar[int]
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    PORTFOLIO_ID_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    SUPERVISOR_ID_FIELD_NUMBER: _ClassVar[int]
    COORDINATOR_TYPE_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    GUARDRAILS_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_INTERVAL_SECONDS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    coordinator_id: str
    intent_id: str
    portfolio_id: str
    role: str
    supervisor_id: str
    coordinator_type: CoordinatorType
    scope: CoordinatorScope
    guardrails: _struct_pb2.Struct
    heartbeat_interval_seconds: int
    expires_at: _timestamp_pb2.Timestamp
    metadata: _struct_pb2.Struct
    def __init__(self, agent_id: _Optional[str] = ..., coordinator_id: _Optional[str] = ..., intent_id: _Optional[str] = ..., portfolio_id: _Optional[str] = ..., role: _Optional[str] = ..., supervisor_id: _Optional[str] = ..., coordinator_type: _Optional[_Union[CoordinatorType, str]] = ..., scope: _Optional[_Union[CoordinatorScope, str]] = ..., guardrails: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., heartbeat_interval_seconds: _Optional[int] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class GetCoordinatorRequest(_message.Message):
    __slots__ = ("coordinator_id",)
    COORDINATOR_ID_FIELD_NUMBER: _ClassVar[int]
    coordinator_id: str
    def __init__(self, coordinator_id: _Optional[str] = ...) -> None: ...

class ListCoordinatorsRequest(_message.Message):
    __slots__ = ("intent_id", "limit", "cursor")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    limit: int
    cursor: str
    def __init__(self, intent_id: _Optional[str] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class ListCoordinatorsResponse(_message.Message):
    __slots__ = ("coordinators", "next_cursor")
    COORDINATORS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    coordinators: _containers.RepeatedCompositeFieldContainer[Coordinator]
    next_cursor: str
    def __init__(self, coordinators: _Optional[_Iterable[_Union[Coordinator, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class CoordinatorHeartbeatRequest(_message.Message):
    __slots__ = ("coordinator_id",)
    COORDINATOR_ID_FIELD_NUMBER: _ClassVar[int]
    coordinator_id: str
    def __init__(self, coordinator_id: _Optional[str] = ...) -> None: ...

class CoordinatorHeartbeatResponse(_message.Message):
    __slots__ = ("status", "next_heartbeat_at")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    NEXT_HEARTBEAT_AT_FIELD_NUMBER: _ClassVar[int]
    status: str
    next_heartbeat_at: _timestamp_pb2.Timestamp
    def __init__(self, status: _Optional[str] = ..., next_heartbeat_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class RemoveCoordinatorRequest(_message.Message):
    __slots__ = ("intent_id",)
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    def __init__(self, intent_id: _Optional[str] = ...) -> None: ...

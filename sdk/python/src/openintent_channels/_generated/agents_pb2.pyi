import datetime

from google.protobuf import empty_pb2 as _empty_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from openintent_channels._generated import reach_pb2 as _reach_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AgentStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AGENT_STATUS_UNSPECIFIED: _ClassVar[AgentStatus]
    AGENT_STATUS_REGISTERING: _ClassVar[AgentStatus]
    AGENT_STATUS_ACTIVE: _ClassVar[AgentStatus]
    AGENT_STATUS_DRAINING: _ClassVar[AgentStatus]
    AGENT_STATUS_UNHEALTHY: _ClassVar[AgentStatus]
    AGENT_STATUS_DEAD: _ClassVar[AgentStatus]
    AGENT_STATUS_DEREGISTERED: _ClassVar[AgentStatus]
AGENT_STATUS_UNSPECIFIED: AgentStatus
AGENT_STATUS_REGISTERING: AgentStatus
AGENT_STATUS_ACTIVE: AgentStatus
AGENT_STATUS_DRAINING: AgentStatus
AGENT_STATUS_UNHEALTHY: AgentStatus
AGENT_STATUS_DEAD: AgentStatus
AGENT_STATUS_DEREGISTERED: AgentStatus

class AgentCapacity(_message.Message):
    __slots__ = ("max_concurrent_tasks", "current_load")
    MAX_CONCURRENT_TASKS_FIELD_NUMBER: _ClassVar[int]
    CURRENT_LOAD_FIELD_NUMBER: _ClassVar[int]
    max_concurrent_tasks: int
    current_load: int
    def __init__(self, max_concurrent_tasks: _Optional[int] = ..., current_load: _Optional[int] = ...) -> None: ...

class HeartbeatConfig(_message.Message):
    __slots__ = ("interval_seconds", "unhealthy_after_seconds", "dead_after_seconds")
    INTERVAL_SECONDS_FIELD_NUMBER: _ClassVar[int]
    UNHEALTHY_AFTER_SECONDS_FIELD_NUMBER: _ClassVar[int]
    DEAD_AFTER_SECONDS_FIELD_NUMBER: _ClassVar[int]
    interval_seconds: int
    unhealthy_after_seconds: int
    dead_after_seconds: int
    def __init__(self, interval_seconds: _Optional[int] = ..., unhealthy_after_seconds: _Optional[int] = ..., dead_after_seconds: _Optional[int] = ...) -> None: ...

class Agent(_message.Message):
    __slots__ = ("agent_id", "role_id", "name", "capabilities", "capacity", "status", "endpoint", "heartbeat_config", "metadata", "registered_at", "last_heartbeat_at", "drain_timeout_seconds", "version", "status_note", "silent_since", "presumed_dead_at", "presence_reason", "reach")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    ROLE_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_CONFIG_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    REGISTERED_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_HEARTBEAT_AT_FIELD_NUMBER: _ClassVar[int]
    DRAIN_TIMEOUT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    STATUS_NOTE_FIELD_NUMBER: _ClassVar[int]
    SILENT_SINCE_FIELD_NUMBER: _ClassVar[int]
    PRESUMED_DEAD_AT_FIELD_NUMBER: _ClassVar[int]
    PRESENCE_REASON_FIELD_NUMBER: _ClassVar[int]
    REACH_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    role_id: str
    name: str
    capabilities: _containers.RepeatedScalarFieldContainer[str]
    capacity: AgentCapacity
    status: AgentStatus
    endpoint: str
    heartbeat_config: HeartbeatConfig
    metadata: _struct_pb2.Struct
    registered_at: _timestamp_pb2.Timestamp
    last_heartbeat_at: _timestamp_pb2.Timestamp
    drain_timeout_seconds: int
    version: int
    status_note: str
    silent_since: _timestamp_pb2.Timestamp
    presumed_dead_at: _timestamp_pb2.Timestamp
    presence_reason: str
    reach: _reach_pb2.Reach
    def __init__(self, agent_id: _Optional[str] = ..., role_id: _Optional[str] = ..., name: _Optional[str] = ..., capabilities: _Optional[_Iterable[str]] = ..., capacity: _Optional[_Union[AgentCapacity, _Mapping]] = ..., status: _Optional[_Union[AgentStatus, str]] = ..., endpoint: _Optional[str] = ..., heartbeat_config: _Optional[_Union[HeartbeatConfig, _Mapping]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., registered_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_heartbeat_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., drain_timeout_seconds: _Optional[int] = ..., version: _Optional[int] = ..., status_note: _Optional[str] = ..., silent_since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., presumed_dead_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., presence_reason: _Optional[str] = ..., reach: _Optional[_Union[_reach_pb2.Reach, _Mapping]] = ...) -> None: ...

class WhoAmIRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class WhoAmIResponse(_message.Message):
    __slots__ = ("agent_id", "operator", "roles", "read_only", "human", "guest", "intents", "channels")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    OPERATOR_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    HUMAN_FIELD_NUMBER: _ClassVar[int]
    GUEST_FIELD_NUMBER: _ClassVar[int]
    INTENTS_FIELD_NUMBER: _ClassVar[int]
    CHANNELS_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    operator: bool
    roles: _containers.RepeatedScalarFieldContainer[str]
    read_only: bool
    human: bool
    guest: bool
    intents: _containers.RepeatedScalarFieldContainer[str]
    channels: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, agent_id: _Optional[str] = ..., operator: bool = ..., roles: _Optional[_Iterable[str]] = ..., read_only: bool = ..., human: bool = ..., guest: bool = ..., intents: _Optional[_Iterable[str]] = ..., channels: _Optional[_Iterable[str]] = ...) -> None: ...

class RegisterAgentRequest(_message.Message):
    __slots__ = ("agent_id", "role_id", "name", "capabilities", "capacity", "status", "endpoint", "heartbeat_config", "metadata", "drain_timeout_seconds", "takes_part_in")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    ROLE_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_CONFIG_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    DRAIN_TIMEOUT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    TAKES_PART_IN_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    role_id: str
    name: str
    capabilities: _containers.RepeatedScalarFieldContainer[str]
    capacity: AgentCapacity
    status: AgentStatus
    endpoint: str
    heartbeat_config: HeartbeatConfig
    metadata: _struct_pb2.Struct
    drain_timeout_seconds: int
    takes_part_in: str
    def __init__(self, agent_id: _Optional[str] = ..., role_id: _Optional[str] = ..., name: _Optional[str] = ..., capabilities: _Optional[_Iterable[str]] = ..., capacity: _Optional[_Union[AgentCapacity, _Mapping]] = ..., status: _Optional[_Union[AgentStatus, str]] = ..., endpoint: _Optional[str] = ..., heartbeat_config: _Optional[_Union[HeartbeatConfig, _Mapping]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., drain_timeout_seconds: _Optional[int] = ..., takes_part_in: _Optional[str] = ...) -> None: ...

class GetAgentRequest(_message.Message):
    __slots__ = ("agent_id", "include")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    include: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, agent_id: _Optional[str] = ..., include: _Optional[_Iterable[str]] = ...) -> None: ...

class ListAgentsRequest(_message.Message):
    __slots__ = ("status", "role_id", "capabilities", "min_available_capacity", "limit", "cursor", "include")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ROLE_ID_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    MIN_AVAILABLE_CAPACITY_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_FIELD_NUMBER: _ClassVar[int]
    status: AgentStatus
    role_id: str
    capabilities: _containers.RepeatedScalarFieldContainer[str]
    min_available_capacity: int
    limit: int
    cursor: str
    include: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, status: _Optional[_Union[AgentStatus, str]] = ..., role_id: _Optional[str] = ..., capabilities: _Optional[_Iterable[str]] = ..., min_available_capacity: _Optional[int] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ..., include: _Optional[_Iterable[str]] = ...) -> None: ...

class ListAgentsResponse(_message.Message):
    __slots__ = ("agents", "total", "next_cursor", "total_bounded")
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BOUNDED_FIELD_NUMBER: _ClassVar[int]
    agents: _containers.RepeatedCompositeFieldContainer[Agent]
    total: int
    next_cursor: str
    total_bounded: bool
    def __init__(self, agents: _Optional[_Iterable[_Union[Agent, _Mapping]]] = ..., total: _Optional[int] = ..., next_cursor: _Optional[str] = ..., total_bounded: bool = ...) -> None: ...

class UpdateAgentStatusRequest(_message.Message):
    __slots__ = ("agent_id", "status", "expected_version", "reason", "status_note")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    STATUS_NOTE_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    status: AgentStatus
    expected_version: int
    reason: str
    status_note: str
    def __init__(self, agent_id: _Optional[str] = ..., status: _Optional[_Union[AgentStatus, str]] = ..., expected_version: _Optional[int] = ..., reason: _Optional[str] = ..., status_note: _Optional[str] = ...) -> None: ...

class HeartbeatRequest(_message.Message):
    __slots__ = ("agent_id", "status", "current_load", "tasks_in_progress", "client_timestamp", "status_note")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    CURRENT_LOAD_FIELD_NUMBER: _ClassVar[int]
    TASKS_IN_PROGRESS_FIELD_NUMBER: _ClassVar[int]
    CLIENT_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    STATUS_NOTE_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    status: AgentStatus
    current_load: int
    tasks_in_progress: _containers.RepeatedScalarFieldContainer[str]
    client_timestamp: _timestamp_pb2.Timestamp
    status_note: str
    def __init__(self, agent_id: _Optional[str] = ..., status: _Optional[_Union[AgentStatus, str]] = ..., current_load: _Optional[int] = ..., tasks_in_progress: _Optional[_Iterable[str]] = ..., client_timestamp: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., status_note: _Optional[str] = ...) -> None: ...

class HeartbeatResponse(_message.Message):
    __slots__ = ("acknowledged", "status", "server_timestamp", "agent_status", "pending_commands", "next_heartbeat_at")
    ACKNOWLEDGED_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    SERVER_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    AGENT_STATUS_FIELD_NUMBER: _ClassVar[int]
    PENDING_COMMANDS_FIELD_NUMBER: _ClassVar[int]
    NEXT_HEARTBEAT_AT_FIELD_NUMBER: _ClassVar[int]
    acknowledged: bool
    status: str
    server_timestamp: _timestamp_pb2.Timestamp
    agent_status: AgentStatus
    pending_commands: _containers.RepeatedScalarFieldContainer[str]
    next_heartbeat_at: _timestamp_pb2.Timestamp
    def __init__(self, acknowledged: bool = ..., status: _Optional[str] = ..., server_timestamp: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., agent_status: _Optional[_Union[AgentStatus, str]] = ..., pending_commands: _Optional[_Iterable[str]] = ..., next_heartbeat_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class DeregisterAgentRequest(_message.Message):
    __slots__ = ("agent_id",)
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    def __init__(self, agent_id: _Optional[str] = ...) -> None: ...

class RefuseSenderRequest(_message.Message):
    __slots__ = ("agent_id", "sender")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    SENDER_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    sender: str
    def __init__(self, agent_id: _Optional[str] = ..., sender: _Optional[str] = ...) -> None: ...

class RefusedSender(_message.Message):
    __slots__ = ("sender", "created_at")
    SENDER_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    sender: str
    created_at: _timestamp_pb2.Timestamp
    def __init__(self, sender: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class AllowSenderRequest(_message.Message):
    __slots__ = ("agent_id", "sender")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    SENDER_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    sender: str
    def __init__(self, agent_id: _Optional[str] = ..., sender: _Optional[str] = ...) -> None: ...

class ListRefusedSendersRequest(_message.Message):
    __slots__ = ("agent_id", "limit", "cursor")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    limit: int
    cursor: str
    def __init__(self, agent_id: _Optional[str] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class ListRefusedSendersResponse(_message.Message):
    __slots__ = ("refused", "next_cursor")
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    refused: _containers.RepeatedCompositeFieldContainer[RefusedSender]
    next_cursor: str
    def __init__(self, refused: _Optional[_Iterable[_Union[RefusedSender, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

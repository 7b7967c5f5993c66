import datetime

from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TaskStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TASK_STATUS_UNSPECIFIED: _ClassVar[TaskStatus]
    TASK_STATUS_PENDING: _ClassVar[TaskStatus]
    TASK_STATUS_READY: _ClassVar[TaskStatus]
    TASK_STATUS_CLAIMED: _ClassVar[TaskStatus]
    TASK_STATUS_RUNNING: _ClassVar[TaskStatus]
    TASK_STATUS_BLOCKED: _ClassVar[TaskStatus]
    TASK_STATUS_COMPLETED: _ClassVar[TaskStatus]
    TASK_STATUS_FAILED: _ClassVar[TaskStatus]
    TASK_STATUS_CANCELLED: _ClassVar[TaskStatus]
    TASK_STATUS_SKIPPED: _ClassVar[TaskStatus]
TASK_STATUS_UNSPECIFIED: TaskStatus
TASK_STATUS_PENDING: TaskStatus
TASK_STATUS_READY: TaskStatus
TASK_STATUS_CLAIMED: TaskStatus
TASK_STATUS_RUNNING: TaskStatus
TASK_STATUS_BLOCKED: TaskStatus
TASK_STATUS_COMPLETED: TaskStatus
TASK_STATUS_FAILED: TaskStatus
TASK_STATUS_CANCELLED: TaskStatus
TASK_STATUS_SKIPPED: TaskStatus

class Task(_message.Message):
    __slots__ = ("id", "intent_id", "plan_id", "name", "description", "status", "state", "version", "priority", "input", "output", "artifacts", "assigned_agent", "lease_id", "capabilities_required", "depends_on", "blocks", "parent_task_id", "retry_policy", "timeout_seconds", "attempt", "max_attempts", "permissions", "blocked_reason", "error", "metadata", "created_at", "started_at", "completed_at")
    ID_FIELD_NUMBER: _ClassVar[int]
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    PLAN_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    ARTIFACTS_FIELD_NUMBER: _ClassVar[int]
    ASSIGNED_AGENT_FIELD_NUMBER: _ClassVar[int]
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_REQUIRED_FIELD_NUMBER: _ClassVar[int]
    DEPENDS_ON_FIELD_NUMBER: _ClassVar[int]
    BLOCKS_FIELD_NUMBER: _ClassVar[int]
    PARENT_TASK_ID_FIELD_NUMBER: _ClassVar[int]
    RETRY_POLICY_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    PERMISSIONS_FIELD_NUMBER: _ClassVar[int]
    BLOCKED_REASON_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    intent_id: str
    plan_id: str
    name: str
    description: str
    status: TaskStatus
    state: TaskStatus
    version: int
    priority: int
    input: _struct_pb2.Struct
    output: _struct_pb2.Struct
    artifacts: _containers.RepeatedCompositeFieldContainer[_struct_pb2.Value]
    assigned_agent: str
    lease_id: str
    capabilities_required: _containers.RepeatedScalarFieldContainer[str]
    depends_on: _containers.RepeatedScalarFieldContainer[str]
    blocks: _containers.RepeatedScalarFieldContainer[str]
    parent_task_id: str
    retry_policy: _struct_pb2.Struct
    timeout_seconds: int
    attempt: int
    max_attempts: int
    permissions: _struct_pb2.Value
    blocked_reason: str
    error: _struct_pb2.Value
    metadata: _struct_pb2.Struct
    created_at: _timestamp_pb2.Timestamp
    started_at: _timestamp_pb2.Timestamp
    completed_at: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., intent_id: _Optional[str] = ..., plan_id: _Optional[str] = ..., name: _Optional[str] = ..., description: _Optional[str] = ..., status: _Optional[_Union[TaskStatus, str]] = ..., state: _Optional[_Union[TaskStatus, str]] = ..., version: _Optional[int] = ..., priority: _Optional[int] = ..., input: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., output: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., artifacts: _Optional[_Iterable[_Union[_struct_pb2.Value, _Mapping]]] = ..., assigned_agent: _Optional[str] = ..., lease_id: _Optional[str] = ..., capabilities_required: _Optional[_Iterable[str]] = ..., depends_on: _Optional[_Iterable[str]] = ..., blocks: _Optional[_Iterable[str]] = ..., parent_task_id: _Optional[str] = ..., retry_policy: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., timeout_seconds: _Optional[int] = ..., attempt: _Optional[int] = ..., max_attempts: _Optional[int] = ..., permissions: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., blocked_reason: _Optional[str] = ..., error: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., completed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class CreateTaskRequest(_message.Message):
    __slots__ = ("intent_id", "name", "description", "plan_id", "priority", "input", "assigned_agent", "capabilities_required", "depends_on", "parent_task_id", "retry_policy", "timeout_seconds", "max_attempts", "permissions", "metadata")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    PLAN_ID_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    ASSIGNED_AGENT_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_REQUIRED_FIELD_NUMBER: _ClassVar[int]
    DEPENDS_ON_FIELD_NUMBER: _ClassVar[int]
    PARENT_TASK_ID_FIELD_NUMBER: _ClassVar[int]
    RETRY_POLICY_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    PERMISSIONS_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    name: str
    description: str
    plan_id: str
    priority: int
    input: _struct_pb2.Struct
    assigned_agent: str
    capabilities_required: _containers.RepeatedScalarFieldContainer[str]
    depends_on: _containers.RepeatedScalarFieldContainer[str]
    parent_task_id: str
    retry_policy: _struct_pb2.Struct
    timeout_seconds: int
    max_attempts: int
    permissions: _struct_pb2.Value
    metadata: _struct_pb2.Struct
    def __init__(self, intent_id: _Optional[str] = ..., name: _Optional[str] = ..., description: _Optional[str] = ..., plan_id: _Optional[str] = ..., priority: _Optional[int] = ..., input: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., assigned_agent: _Optional[str] = ..., capabilities_required: _Optional[_Iterable[str]] = ..., depends_on: _Optional[_Iterable[str]] = ..., parent_task_id: _Optional[str] = ..., retry_policy: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., timeout_seconds: _Optional[int] = ..., max_attempts: _Optional[int] = ..., permissions: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., metadata: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class GetTaskRequest(_message.Message):
    __slots__ = ("task_id",)
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    task_id: str
    def __init__(self, task_id: _Optional[str] = ...) -> None: ...

class ListTasksRequest(_message.Message):
    __slots__ = ("intent_id", "status", "limit", "cursor")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    status: TaskStatus
    limit: int
    cursor: str
    def __init__(self, intent_id: _Optional[str] = ..., status: _Optional[_Union[TaskStatus, str]] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class ListTasksResponse(_message.Message):
    __slots__ = ("tasks", "next_cursor")
    TASKS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    tasks: _containers.RepeatedCompositeFieldContainer[Task]
    next_cursor: str
    def __init__(self, tasks: _Optional[_Iterable[_Union[Task, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class UpdateTaskRequest(_message.Message):
    __slots__ = ("task_id", "expected_version", "status", "assigned_agent", "output", "artifacts", "error", "blocked_reason")
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ASSIGNED_AGENT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    ARTIFACTS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    BLOCKED_REASON_FIELD_NUMBER: _ClassVar[int]
    task_id: str
    expected_version: int
    status: TaskStatus
    assigned_agent: str
    output: _struct_pb2.Struct
    artifacts: _containers.RepeatedCompositeFieldContainer[_struct_pb2.Value]
    error: _struct_pb2.Value
    blocked_reason: str
    def __init__(self, task_id: _Optional[str] = ..., expected_version: _Optional[int] = ..., status: _Optional[_Union[TaskStatus, str]] = ..., assigned_agent: _Optional[str] = ..., output: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., artifacts: _Optional[_Iterable[_Union[_struct_pb2.Value, _Mapping]]] = ..., error: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., blocked_reason: _Optional[str] = ...) -> None: ...

class ClaimTaskRequest(_message.Message):
    __slots__ = ("task_id", "agent_id")
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    task_id: str
    agent_id: str
    def __init__(self, task_id: _Optional[str] = ..., agent_id: _Optional[str] = ...) -> None: ...

class CompleteTaskRequest(_message.Message):
    __slots__ = ("task_id", "output")
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    task_id: str
    output: _struct_pb2.Struct
    def __init__(self, task_id: _Optional[str] = ..., output: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class FailTaskRequest(_message.Message):
    __slots__ = ("task_id", "error")
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    task_id: str
    error: _struct_pb2.Value
    def __init__(self, task_id: _Optional[str] = ..., error: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ...) -> None: ...

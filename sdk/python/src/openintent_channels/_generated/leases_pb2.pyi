import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class LeaseStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LEASE_STATUS_UNSPECIFIED: _ClassVar[LeaseStatus]
    LEASE_STATUS_ACTIVE: _ClassVar[LeaseStatus]
    LEASE_STATUS_RELEASED: _ClassVar[LeaseStatus]
    LEASE_STATUS_REVOKED: _ClassVar[LeaseStatus]
LEASE_STATUS_UNSPECIFIED: LeaseStatus
LEASE_STATUS_ACTIVE: LeaseStatus
LEASE_STATUS_RELEASED: LeaseStatus
LEASE_STATUS_REVOKED: LeaseStatus

class Lease(_message.Message):
    __slots__ = ("id", "intent_id", "agent_id", "scope", "status", "fence", "acquired_at", "expires_at", "released_at")
    ID_FIELD_NUMBER: _ClassVar[int]
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    ACQUIRED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    RELEASED_AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    intent_id: str
    agent_id: str
    scope: str
    status: LeaseStatus
    fence: int
    acquired_at: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    released_at: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., intent_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., scope: _Optional[str] = ..., status: _Optional[_Union[LeaseStatus, str]] = ..., fence: _Optional[int] = ..., acquired_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., released_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class AcquireLeaseRequest(_message.Message):
    __slots__ = ("intent_id", "scope", "duration_seconds", "wait_seconds", "agent_id")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    DURATION_SECONDS_FIELD_NUMBER: _ClassVar[int]
    WAIT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    scope: str
    duration_seconds: int
    wait_seconds: int
    agent_id: str
    def __init__(self, intent_id: _Optional[str] = ..., scope: _Optional[str] = ..., duration_seconds: _Optional[int] = ..., wait_seconds: _Optional[int] = ..., agent_id: _Optional[str] = ...) -> None: ...

class ListLeasesRequest(_message.Message):
    __slots__ = ("intent_id", "scope", "limit", "cursor")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    scope: str
    limit: int
    cursor: str
    def __init__(self, intent_id: _Optional[str] = ..., scope: _Optional[str] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class ListLeasesResponse(_message.Message):
    __slots__ = ("leases", "next_cursor")
    LEASES_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    leases: _containers.RepeatedCompositeFieldContainer[Lease]
    next_cursor: str
    def __init__(self, leases: _Optional[_Iterable[_Union[Lease, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class RenewLeaseRequest(_message.Message):
    __slots__ = ("intent_id", "lease_id", "duration_seconds")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    DURATION_SECONDS_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    lease_id: str
    duration_seconds: int
    def __init__(self, intent_id: _Optional[str] = ..., lease_id: _Optional[str] = ..., duration_seconds: _Optional[int] = ...) -> None: ...

class ReleaseLeaseRequest(_message.Message):
    __slots__ = ("intent_id", "lease_id")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    lease_id: str
    def __init__(self, intent_id: _Optional[str] = ..., lease_id: _Optional[str] = ...) -> None: ...

class ReleaseLeaseResponse(_message.Message):
    __slots__ = ("message", "lease")
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    message: str
    lease: Lease
    def __init__(self, message: _Optional[str] = ..., lease: _Optional[_Union[Lease, _Mapping]] = ...) -> None: ...

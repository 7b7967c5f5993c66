import datetime

from google.protobuf import empty_pb2 as _empty_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from openintent_channels._generated import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AccessPolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACCESS_POLICY_UNSPECIFIED: _ClassVar[AccessPolicy]
    ACCESS_POLICY_OPEN: _ClassVar[AccessPolicy]
    ACCESS_POLICY_CLOSED: _ClassVar[AccessPolicy]

class PrincipalType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PRINCIPAL_TYPE_UNSPECIFIED: _ClassVar[PrincipalType]
    PRINCIPAL_TYPE_USER: _ClassVar[PrincipalType]
    PRINCIPAL_TYPE_AGENT: _ClassVar[PrincipalType]
    PRINCIPAL_TYPE_GROUP: _ClassVar[PrincipalType]
ACCESS_POLICY_UNSPECIFIED: AccessPolicy
ACCESS_POLICY_OPEN: AccessPolicy
ACCESS_POLICY_CLOSED: AccessPolicy
PRINCIPAL_TYPE_UNSPECIFIED: PrincipalType
PRINCIPAL_TYPE_USER: PrincipalType
PRINCIPAL_TYPE_AGENT: PrincipalType
PRINCIPAL_TYPE_GROUP: PrincipalType

class AccessControl(_message.Message):
    __slots__ = ("intent_id", "default_policy", "entries", "next_cursor")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_POLICY_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    default_policy: AccessPolicy
    entries: _containers.RepeatedCompositeFieldContainer[AccessEntry]
    next_cursor: str
    def __init__(self, intent_id: _Optional[str] = ..., default_policy: _Optional[_Union[AccessPolicy, str]] = ..., entries: _Optional[_Iterable[_Union[AccessEntry, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class AccessEntry(_message.Message):
    __slots__ = ("id", "intent_id", "principal_id", "principal_type", "permission", "granted_by", "granted_at", "expires_at", "reason")
    ID_FIELD_NUMBER: _ClassVar[int]
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_ID_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_TYPE_FIELD_NUMBER: _ClassVar[int]
    PERMISSION_FIELD_NUMBER: _ClassVar[int]
    GRANTED_BY_FIELD_NUMBER: _ClassVar[int]
    GRANTED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    id: str
    intent_id: str
    principal_id: str
    principal_type: PrincipalType
    permission: _common_pb2.Permission
    granted_by: str
    granted_at: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    reason: str
    def __init__(self, id: _Optional[str] = ..., intent_id: _Optional[str] = ..., principal_id: _Optional[str] = ..., principal_type: _Optional[_Union[PrincipalType, str]] = ..., permission: _Optional[_Union[_common_pb2.Permission, str]] = ..., granted_by: _Optional[str] = ..., granted_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class AccessEntryInput(_message.Message):
    __slots__ = ("principal_id", "principal_type", "permission", "expires_at", "reason")
    PRINCIPAL_ID_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_TYPE_FIELD_NUMBER: _ClassVar[int]
    PERMISSION_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    principal_id: str
    principal_type: PrincipalType
    permission: _common_pb2.Permission
    expires_at: _timestamp_pb2.Timestamp
    reason: str
    def __init__(self, principal_id: _Optional[str] = ..., principal_type: _Optional[_Union[PrincipalType, str]] = ..., permission: _Optional[_Union[_common_pb2.Permission, str]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class GetAccessControlRequest(_message.Message):
    __slots__ = ("intent_id", "limit", "cursor")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    limit: int
    cursor: str
    def __init__(self, intent_id: _Optional[str] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class SetAccessControlRequest(_message.Message):
    __slots__ = ("intent_id", "default_policy", "entries")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_POLICY_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    default_policy: AccessPolicy
    entries: _containers.RepeatedCompositeFieldContainer[AccessEntryInput]
    def __init__(self, intent_id: _Optional[str] = ..., default_policy: _Optional[_Union[AccessPolicy, str]] = ..., entries: _Optional[_Iterable[_Union[AccessEntryInput, _Mapping]]] = ...) -> None: ...

class CreateAccessEntryRequest(_message.Message):
    __slots__ = ("intent_id", "principal_id", "principal_type", "permission", "expires_at", "reason")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_ID_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_TYPE_FIELD_NUMBER: _ClassVar[int]
    PERMISSION_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    principal_id: str
    principal_type: PrincipalType
    permission: _common_pb2.Permission
    expires_at: _timestamp_pb2.Timestamp
    reason: str
    def __init__(self, intent_id: _Optional[str] = ..., principal_id: _Optional[str] = ..., principal_type: _Optional[_Union[PrincipalType, str]] = ..., permission: _Optional[_Union[_common_pb2.Permission, str]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class DeleteAccessEntryRequest(_message.Message):
    __slots__ = ("intent_id", "entry_id")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    entry_id: str
    def __init__(self, intent_id: _Optional[str] = ..., entry_id: _Optional[str] = ...) -> None: ...

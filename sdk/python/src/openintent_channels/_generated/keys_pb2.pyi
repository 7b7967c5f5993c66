import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class KeyStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    KEY_STATUS_UNSPECIFIED: _ClassVar[KeyStatus]
    KEY_STATUS_ACTIVE: _ClassVar[KeyStatus]
    KEY_STATUS_EXPIRED: _ClassVar[KeyStatus]
    KEY_STATUS_REVOKED: _ClassVar[KeyStatus]
KEY_STATUS_UNSPECIFIED: KeyStatus
KEY_STATUS_ACTIVE: KeyStatus
KEY_STATUS_EXPIRED: KeyStatus
KEY_STATUS_REVOKED: KeyStatus

class Key(_message.Message):
    __slots__ = ("id", "label", "status", "operator", "agents", "roles", "read_only", "human", "messages_per_second", "bytes_per_second", "created_at", "created_by", "expires_at", "last_used_at", "former_secret_expires_at", "revoked_at", "version", "intents", "channels", "paused", "paused_reason", "rows_per_second", "stored_bytes_per_second")
    ID_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    OPERATOR_FIELD_NUMBER: _ClassVar[int]
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    HUMAN_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    BYTES_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_USED_AT_FIELD_NUMBER: _ClassVar[int]
    FORMER_SECRET_EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    REVOKED_AT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    INTENTS_FIELD_NUMBER: _ClassVar[int]
    CHANNELS_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    PAUSED_REASON_FIELD_NUMBER: _ClassVar[int]
    ROWS_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    STORED_BYTES_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    id: str
    label: str
    status: KeyStatus
    operator: bool
    agents: _containers.RepeatedScalarFieldContainer[str]
    roles: _containers.RepeatedScalarFieldContainer[str]
    read_only: bool
    human: bool
    messages_per_second: int
    bytes_per_second: int
    created_at: _timestamp_pb2.Timestamp
    created_by: str
    expires_at: _timestamp_pb2.Timestamp
    last_used_at: _timestamp_pb2.Timestamp
    former_secret_expires_at: _timestamp_pb2.Timestamp
    revoked_at: _timestamp_pb2.Timestamp
    version: int
    intents: _containers.RepeatedScalarFieldContainer[str]
    channels: _containers.RepeatedScalarFieldContainer[str]
    paused: PausedByKey
    paused_reason: str
    rows_per_second: int
    stored_bytes_per_second: int
    def __init__(self, id: _Optional[str] = ..., label: _Optional[str] = ..., status: _Optional[_Union[KeyStatus, str]] = ..., operator: bool = ..., agents: _Optional[_Iterable[str]] = ..., roles: _Optional[_Iterable[str]] = ..., read_only: bool = ..., human: bool = ..., messages_per_second: _Optional[int] = ..., bytes_per_second: _Optional[int] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., created_by: _Optional[str] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_used_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., former_secret_expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., revoked_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., version: _Optional[int] = ..., intents: _Optional[_Iterable[str]] = ..., channels: _Optional[_Iterable[str]] = ..., paused: _Optional[_Union[PausedByKey, _Mapping]] = ..., paused_reason: _Optional[str] = ..., rows_per_second: _Optional[int] = ..., stored_bytes_per_second: _Optional[int] = ...) -> None: ...

class PausedByKey(_message.Message):
    __slots__ = ("subscription_ids", "more_subscriptions", "invite_ids", "more_invites")
    SUBSCRIPTION_IDS_FIELD_NUMBER: _ClassVar[int]
    MORE_SUBSCRIPTIONS_FIELD_NUMBER: _ClassVar[int]
    INVITE_IDS_FIELD_NUMBER: _ClassVar[int]
    MORE_INVITES_FIELD_NUMBER: _ClassVar[int]
    subscription_ids: _containers.RepeatedScalarFieldContainer[str]
    more_subscriptions: bool
    invite_ids: _containers.RepeatedScalarFieldContainer[str]
    more_invites: bool
    def __init__(self, subscription_ids: _Optional[_Iterable[str]] = ..., more_subscriptions: bool = ..., invite_ids: _Optional[_Iterable[str]] = ..., more_invites: bool = ...) -> None: ...

class IssuedKey(_message.Message):
    __slots__ = ("key", "secret")
    KEY_FIELD_NUMBER: _ClassVar[int]
    SECRET_FIELD_NUMBER: _ClassVar[int]
    key: Key
    secret: str
    def __init__(self, key: _Optional[_Union[Key, _Mapping]] = ..., secret: _Optional[str] = ...) -> None: ...

class CreateKeyRequest(_message.Message):
    __slots__ = ("label", "agents", "operator", "roles", "read_only", "human", "messages_per_second", "bytes_per_second", "expires_at", "intents", "channels", "rows_per_second", "stored_bytes_per_second")
    LABEL_FIELD_NUMBER: _ClassVar[int]
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    OPERATOR_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    HUMAN_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    BYTES_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    INTENTS_FIELD_NUMBER: _ClassVar[int]
    CHANNELS_FIELD_NUMBER: _ClassVar[int]
    ROWS_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    STORED_BYTES_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    label: str
    agents: _containers.RepeatedScalarFieldContainer[str]
    operator: bool
    roles: _containers.RepeatedScalarFieldContainer[str]
    read_only: bool
    human: bool
    messages_per_second: int
    bytes_per_second: int
    expires_at: _timestamp_pb2.Timestamp
    intents: _containers.RepeatedScalarFieldContainer[str]
    channels: _containers.RepeatedScalarFieldContainer[str]
    rows_per_second: int
    stored_bytes_per_second: int
    def __init__(self, label: _Optional[str] = ..., agents: _Optional[_Iterable[str]] = ..., operator: bool = ..., roles: _Optional[_Iterable[str]] = ..., read_only: bool = ..., human: bool = ..., messages_per_second: _Optional[int] = ..., bytes_per_second: _Optional[int] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., intents: _Optional[_Iterable[str]] = ..., channels: _Optional[_Iterable[str]] = ..., rows_per_second: _Optional[int] = ..., stored_bytes_per_second: _Optional[int] = ...) -> None: ...

class ListKeysRequest(_message.Message):
    __slots__ = ("status", "limit", "cursor")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    status: KeyStatus
    limit: int
    cursor: str
    def __init__(self, status: _Optional[_Union[KeyStatus, str]] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class ListKeysResponse(_message.Message):
    __slots__ = ("keys", "next_cursor")
    KEYS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedCompositeFieldContainer[Key]
    next_cursor: str
    def __init__(self, keys: _Optional[_Iterable[_Union[Key, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class GetKeyRequest(_message.Message):
    __slots__ = ("key_id",)
    KEY_ID_FIELD_NUMBER: _ClassVar[int]
    key_id: str
    def __init__(self, key_id: _Optional[str] = ...) -> None: ...

class RevokeKeyRequest(_message.Message):
    __slots__ = ("key_id",)
    KEY_ID_FIELD_NUMBER: _ClassVar[int]
    key_id: str
    def __init__(self, key_id: _Optional[str] = ...) -> None: ...

class RotateKeyRequest(_message.Message):
    __slots__ = ("key_id", "grace_seconds", "expected_version")
    KEY_ID_FIELD_NUMBER: _ClassVar[int]
    GRACE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    key_id: str
    grace_seconds: int
    expected_version: int
    def __init__(self, key_id: _Optional[str] = ..., grace_seconds: _Optional[int] = ..., expected_version: _Optional[int] = ...) -> None: ...

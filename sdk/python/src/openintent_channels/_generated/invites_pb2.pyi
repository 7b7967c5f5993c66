import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from openintent_channels._generated import keys_pb2 as _keys_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Invite(_message.Message):
    __slots__ = ("id", "channel_id", "label", "status", "agents", "expected_agents", "max_agents", "read_only", "created_at", "created_by", "expires_at", "last_used_at", "revoked_at", "paused_reason")
    ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_AGENTS_FIELD_NUMBER: _ClassVar[int]
    MAX_AGENTS_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_USED_AT_FIELD_NUMBER: _ClassVar[int]
    REVOKED_AT_FIELD_NUMBER: _ClassVar[int]
    PAUSED_REASON_FIELD_NUMBER: _ClassVar[int]
    id: str
    channel_id: str
    label: str
    status: _keys_pb2.KeyStatus
    agents: _containers.RepeatedScalarFieldContainer[str]
    expected_agents: _containers.RepeatedScalarFieldContainer[str]
    max_agents: int
    read_only: bool
    created_at: _timestamp_pb2.Timestamp
    created_by: str
    expires_at: _timestamp_pb2.Timestamp
    last_used_at: _timestamp_pb2.Timestamp
    revoked_at: _timestamp_pb2.Timestamp
    paused_reason: str
    def __init__(self, id: _Optional[str] = ..., channel_id: _Optional[str] = ..., label: _Optional[str] = ..., status: _Optional[_Union[_keys_pb2.KeyStatus, str]] = ..., agents: _Optional[_Iterable[str]] = ..., expected_agents: _Optional[_Iterable[str]] = ..., max_agents: _Optional[int] = ..., read_only: bool = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., created_by: _Optional[str] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_used_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., revoked_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., paused_reason: _Optional[str] = ...) -> None: ...

class IssuedInvite(_message.Message):
    __slots__ = ("invite", "secret")
    INVITE_FIELD_NUMBER: _ClassVar[int]
    SECRET_FIELD_NUMBER: _ClassVar[int]
    invite: Invite
    secret: str
    def __init__(self, invite: _Optional[_Union[Invite, _Mapping]] = ..., secret: _Optional[str] = ...) -> None: ...

class CreateInviteRequest(_message.Message):
    __slots__ = ("channel_id", "label", "agents", "max_agents", "read_only", "expires_at")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    MAX_AGENTS_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    label: str
    agents: _containers.RepeatedScalarFieldContainer[str]
    max_agents: int
    read_only: bool
    expires_at: _timestamp_pb2.Timestamp
    def __init__(self, channel_id: _Optional[str] = ..., label: _Optional[str] = ..., agents: _Optional[_Iterable[str]] = ..., max_agents: _Optional[int] = ..., read_only: bool = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListInvitesRequest(_message.Message):
    __slots__ = ("channel_id", "limit", "cursor")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    limit: int
    cursor: str
    def __init__(self, channel_id: _Optional[str] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class ListInvitesResponse(_message.Message):
    __slots__ = ("invites", "next_cursor")
    INVITES_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    invites: _containers.RepeatedCompositeFieldContainer[Invite]
    next_cursor: str
    def __init__(self, invites: _Optional[_Iterable[_Union[Invite, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class UpdateInviteRequest(_message.Message):
    __slots__ = ("channel_id", "invite_id")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    INVITE_ID_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    invite_id: str
    def __init__(self, channel_id: _Optional[str] = ..., invite_id: _Optional[str] = ...) -> None: ...

class RevokeInviteRequest(_message.Message):
    __slots__ = ("channel_id", "invite_id")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    INVITE_ID_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    invite_id: str
    def __init__(self, channel_id: _Optional[str] = ..., invite_id: _Optional[str] = ...) -> None: ...

import datetime

from google.protobuf import field_mask_pb2 as _field_mask_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class MemberPolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MEMBER_POLICY_UNSPECIFIED: _ClassVar[MemberPolicy]
    MEMBER_POLICY_EXPLICIT: _ClassVar[MemberPolicy]
    MEMBER_POLICY_INTENT: _ClassVar[MemberPolicy]

class ChannelHistory(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CHANNEL_HISTORY_UNSPECIFIED: _ClassVar[ChannelHistory]
    CHANNEL_HISTORY_ALL: _ClassVar[ChannelHistory]
    CHANNEL_HISTORY_FROM_JOIN: _ClassVar[ChannelHistory]

class ChannelStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CHANNEL_STATUS_UNSPECIFIED: _ClassVar[ChannelStatus]
    CHANNEL_STATUS_OPEN: _ClassVar[ChannelStatus]
    CHANNEL_STATUS_CLOSED: _ClassVar[ChannelStatus]
MEMBER_POLICY_UNSPECIFIED: MemberPolicy
MEMBER_POLICY_EXPLICIT: MemberPolicy
MEMBER_POLICY_INTENT: MemberPolicy
CHANNEL_HISTORY_UNSPECIFIED: ChannelHistory
CHANNEL_HISTORY_ALL: ChannelHistory
CHANNEL_HISTORY_FROM_JOIN: ChannelHistory
CHANNEL_STATUS_UNSPECIFIED: ChannelStatus
CHANNEL_STATUS_OPEN: ChannelStatus
CHANNEL_STATUS_CLOSED: ChannelStatus

class ChannelOptions(_message.Message):
    __slots__ = ("audit", "ttl_seconds", "max_messages", "history", "turn_budget", "conversation_budget")
    AUDIT_FIELD_NUMBER: _ClassVar[int]
    TTL_SECONDS_FIELD_NUMBER: _ClassVar[int]
    MAX_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    TURN_BUDGET_FIELD_NUMBER: _ClassVar[int]
    CONVERSATION_BUDGET_FIELD_NUMBER: _ClassVar[int]
    audit: bool
    ttl_seconds: int
    max_messages: int
    history: ChannelHistory
    turn_budget: int
    conversation_budget: int
    def __init__(self, audit: bool = ..., ttl_seconds: _Optional[int] = ..., max_messages: _Optional[int] = ..., history: _Optional[_Union[ChannelHistory, str]] = ..., turn_budget: _Optional[int] = ..., conversation_budget: _Optional[int] = ...) -> None: ...

class Channel(_message.Message):
    __slots__ = ("id", "intent_id", "task_id", "name", "created_by", "members", "member_policy", "options", "status", "created_at", "closed_at", "message_count", "last_message_at", "address")
    ID_FIELD_NUMBER: _ClassVar[int]
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    MEMBER_POLICY_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    CLOSED_AT_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    LAST_MESSAGE_AT_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    id: str
    intent_id: str
    task_id: str
    name: str
    created_by: str
    members: _containers.RepeatedScalarFieldContainer[str]
    member_policy: MemberPolicy
    options: ChannelOptions
    status: ChannelStatus
    created_at: _timestamp_pb2.Timestamp
    closed_at: _timestamp_pb2.Timestamp
    message_count: int
    last_message_at: _timestamp_pb2.Timestamp
    address: str
    def __init__(self, id: _Optional[str] = ..., intent_id: _Optional[str] = ..., task_id: _Optional[str] = ..., name: _Optional[str] = ..., created_by: _Optional[str] = ..., members: _Optional[_Iterable[str]] = ..., member_policy: _Optional[_Union[MemberPolicy, str]] = ..., options: _Optional[_Union[ChannelOptions, _Mapping]] = ..., status: _Optional[_Union[ChannelStatus, str]] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., closed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., message_count: _Optional[int] = ..., last_message_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., address: _Optional[str] = ...) -> None: ...

class CreateChannelRequest(_message.Message):
    __slots__ = ("intent_id", "name", "members", "member_policy", "options", "task_id", "created_by", "dictatable")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    MEMBER_POLICY_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    DICTATABLE_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    name: str
    members: _containers.RepeatedScalarFieldContainer[str]
    member_policy: MemberPolicy
    options: ChannelOptions
    task_id: str
    created_by: str
    dictatable: bool
    def __init__(self, intent_id: _Optional[str] = ..., name: _Optional[str] = ..., members: _Optional[_Iterable[str]] = ..., member_policy: _Optional[_Union[MemberPolicy, str]] = ..., options: _Optional[_Union[ChannelOptions, _Mapping]] = ..., task_id: _Optional[str] = ..., created_by: _Optional[str] = ..., dictatable: bool = ...) -> None: ...

class ListChannelsRequest(_message.Message):
    __slots__ = ("intent_id", "status", "limit", "cursor")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    status: ChannelStatus
    limit: int
    cursor: str
    def __init__(self, intent_id: _Optional[str] = ..., status: _Optional[_Union[ChannelStatus, str]] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class ListChannelsResponse(_message.Message):
    __slots__ = ("channels", "next_cursor")
    CHANNELS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    channels: _containers.RepeatedCompositeFieldContainer[Channel]
    next_cursor: str
    def __init__(self, channels: _Optional[_Iterable[_Union[Channel, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class GetChannelRequest(_message.Message):
    __slots__ = ("channel_id", "address")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    address: str
    def __init__(self, channel_id: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class UpdateChannelRequest(_message.Message):
    __slots__ = ("channel", "update_mask")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    channel: Channel
    update_mask: _field_mask_pb2.FieldMask
    def __init__(self, channel: _Optional[_Union[Channel, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ...) -> None: ...

class AddChannelMembersRequest(_message.Message):
    __slots__ = ("channel_id", "members")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    members: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, channel_id: _Optional[str] = ..., members: _Optional[_Iterable[str]] = ...) -> None: ...

class RemoveChannelMemberRequest(_message.Message):
    __slots__ = ("channel_id", "agent_id")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    agent_id: str
    def __init__(self, channel_id: _Optional[str] = ..., agent_id: _Optional[str] = ...) -> None: ...

class DeleteChannelRequest(_message.Message):
    __slots__ = ("channel_id",)
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    def __init__(self, channel_id: _Optional[str] = ...) -> None: ...

class DeleteChannelResponse(_message.Message):
    __slots__ = ("status", "channel_id")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    status: ChannelStatus
    channel_id: str
    def __init__(self, status: _Optional[_Union[ChannelStatus, str]] = ..., channel_id: _Optional[str] = ...) -> None: ...

import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Claim(_message.Message):
    __slots__ = ("message_id", "holder", "fence", "expires_at")
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    message_id: str
    holder: str
    fence: int
    expires_at: _timestamp_pb2.Timestamp
    def __init__(self, message_id: _Optional[str] = ..., holder: _Optional[str] = ..., fence: _Optional[int] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ClaimMessageRequest(_message.Message):
    __slots__ = ("channel_id", "message_id", "ttl_seconds", "fence", "idempotency_key")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    TTL_SECONDS_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    message_id: str
    ttl_seconds: int
    fence: int
    idempotency_key: str
    def __init__(self, channel_id: _Optional[str] = ..., message_id: _Optional[str] = ..., ttl_seconds: _Optional[int] = ..., fence: _Optional[int] = ..., idempotency_key: _Optional[str] = ...) -> None: ...

class ReleaseClaimRequest(_message.Message):
    __slots__ = ("channel_id", "message_id", "fence")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    message_id: str
    fence: int
    def __init__(self, channel_id: _Optional[str] = ..., message_id: _Optional[str] = ..., fence: _Optional[int] = ...) -> None: ...

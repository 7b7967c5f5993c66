from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class StreamAcknowledgementsRequest(_message.Message):
    __slots__ = ("subscription_id", "numbers")
    SUBSCRIPTION_ID_FIELD_NUMBER: _ClassVar[int]
    NUMBERS_FIELD_NUMBER: _ClassVar[int]
    subscription_id: str
    numbers: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, subscription_id: _Optional[str] = ..., numbers: _Optional[_Iterable[int]] = ...) -> None: ...

class StreamAcknowledgementsResponse(_message.Message):
    __slots__ = ("acknowledged",)
    ACKNOWLEDGED_FIELD_NUMBER: _ClassVar[int]
    acknowledged: int
    def __init__(self, acknowledged: _Optional[int] = ...) -> None: ...

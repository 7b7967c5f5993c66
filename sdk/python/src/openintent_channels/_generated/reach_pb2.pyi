import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ReachLevel(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REACH_LEVEL_UNSPECIFIED: _ClassVar[ReachLevel]
    REACH_LEVEL_UNKNOWN: _ClassVar[ReachLevel]
    REACH_LEVEL_NONE: _ClassVar[ReachLevel]
    REACH_LEVEL_WAKEABLE: _ClassVar[ReachLevel]
    REACH_LEVEL_LIVE: _ClassVar[ReachLevel]
REACH_LEVEL_UNSPECIFIED: ReachLevel
REACH_LEVEL_UNKNOWN: ReachLevel
REACH_LEVEL_NONE: ReachLevel
REACH_LEVEL_WAKEABLE: ReachLevel
REACH_LEVEL_LIVE: ReachLevel

class Reach(_message.Message):
    __slots__ = ("agent_id", "level", "paths", "last_heard_at", "last_offered_at", "last_surfaced_at", "surfaces_in_ms", "waiting")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    PATHS_FIELD_NUMBER: _ClassVar[int]
    LAST_HEARD_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_OFFERED_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_SURFACED_AT_FIELD_NUMBER: _ClassVar[int]
    SURFACES_IN_MS_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    level: ReachLevel
    paths: _containers.RepeatedCompositeFieldContainer[ReachPath]
    last_heard_at: _timestamp_pb2.Timestamp
    last_offered_at: _timestamp_pb2.Timestamp
    last_surfaced_at: _timestamp_pb2.Timestamp
    surfaces_in_ms: int
    waiting: ReachWaiting
    def __init__(self, agent_id: _Optional[str] = ..., level: _Optional[_Union[ReachLevel, str]] = ..., paths: _Optional[_Iterable[_Union[ReachPath, _Mapping]]] = ..., last_heard_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_offered_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_surfaced_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., surfaces_in_ms: _Optional[int] = ..., waiting: _Optional[_Union[ReachWaiting, _Mapping]] = ...) -> None: ...

class ReachPath(_message.Message):
    __slots__ = ("kind", "since", "proven_at")
    KIND_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    PROVEN_AT_FIELD_NUMBER: _ClassVar[int]
    kind: str
    since: _timestamp_pb2.Timestamp
    proven_at: _timestamp_pb2.Timestamp
    def __init__(self, kind: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., proven_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ReachWaiting(_message.Message):
    __slots__ = ("count", "oldest_at")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    OLDEST_AT_FIELD_NUMBER: _ClassVar[int]
    count: int
    oldest_at: _timestamp_pb2.Timestamp
    def __init__(self, count: _Optional[int] = ..., oldest_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class GetReachRequest(_message.Message):
    __slots__ = ("agent_id",)
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    def __init__(self, agent_id: _Optional[str] = ...) -> None: ...

class ProbeAgentRequest(_message.Message):
    __slots__ = ("agent_id",)
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    def __init__(self, agent_id: _Optional[str] = ...) -> None: ...

class ProbeAgentResponse(_message.Message):
    __slots__ = ("probe_id", "reach", "paths")
    PROBE_ID_FIELD_NUMBER: _ClassVar[int]
    REACH_FIELD_NUMBER: _ClassVar[int]
    PATHS_FIELD_NUMBER: _ClassVar[int]
    probe_id: str
    reach: Reach
    paths: _containers.RepeatedCompositeFieldContainer[ProbedPath]
    def __init__(self, probe_id: _Optional[str] = ..., reach: _Optional[_Union[Reach, _Mapping]] = ..., paths: _Optional[_Iterable[_Union[ProbedPath, _Mapping]]] = ...) -> None: ...

class ProbedPath(_message.Message):
    __slots__ = ("kind", "offered_at", "confirmed_at")
    KIND_FIELD_NUMBER: _ClassVar[int]
    OFFERED_AT_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_AT_FIELD_NUMBER: _ClassVar[int]
    kind: str
    offered_at: _timestamp_pb2.Timestamp
    confirmed_at: _timestamp_pb2.Timestamp
    def __init__(self, kind: _Optional[str] = ..., offered_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., confirmed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ConfirmProbeRequest(_message.Message):
    __slots__ = ("agent_id", "probe_id")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    PROBE_ID_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    probe_id: str
    def __init__(self, agent_id: _Optional[str] = ..., probe_id: _Optional[str] = ...) -> None: ...

class ConfirmProbeResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

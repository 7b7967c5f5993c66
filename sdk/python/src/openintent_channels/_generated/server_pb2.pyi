import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetServerRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Server(_message.Message):
    __slots__ = ("version", "commit", "started_at", "replica", "replicas", "database", "figures", "settings")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COMMIT_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    DATABASE_FIELD_NUMBER: _ClassVar[int]
    FIGURES_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    version: str
    commit: str
    started_at: _timestamp_pb2.Timestamp
    replica: str
    replicas: _containers.RepeatedCompositeFieldContainer[Replica]
    database: ServerDatabase
    figures: _containers.RepeatedCompositeFieldContainer[ServerFigure]
    settings: _containers.RepeatedCompositeFieldContainer[ServerSetting]
    def __init__(self, version: _Optional[str] = ..., commit: _Optional[str] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., replica: _Optional[str] = ..., replicas: _Optional[_Iterable[_Union[Replica, _Mapping]]] = ..., database: _Optional[_Union[ServerDatabase, _Mapping]] = ..., figures: _Optional[_Iterable[_Union[ServerFigure, _Mapping]]] = ..., settings: _Optional[_Iterable[_Union[ServerSetting, _Mapping]]] = ...) -> None: ...

class Replica(_message.Message):
    __slots__ = ("name", "seen_at")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SEEN_AT_FIELD_NUMBER: _ClassVar[int]
    name: str
    seen_at: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., seen_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ServerDatabase(_message.Message):
    __slots__ = ("engine", "stores")
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    STORES_FIELD_NUMBER: _ClassVar[int]
    engine: str
    stores: bool
    def __init__(self, engine: _Optional[str] = ..., stores: bool = ...) -> None: ...

class ServerFigure(_message.Message):
    __slots__ = ("name", "value", "per_second")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: float
    per_second: float
    def __init__(self, name: _Optional[str] = ..., value: _Optional[float] = ..., per_second: _Optional[float] = ...) -> None: ...

class ServerSetting(_message.Message):
    __slots__ = ("name", "value", "is_default")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    IS_DEFAULT_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: str
    is_default: bool
    def __init__(self, name: _Optional[str] = ..., value: _Optional[str] = ..., is_default: bool = ...) -> None: ...

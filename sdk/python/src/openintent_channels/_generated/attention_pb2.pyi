import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Directedness(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DIRECTEDNESS_UNSPECIFIED: _ClassVar[Directedness]
    DIRECTEDNESS_TO_ME: _ClassVar[Directedness]
    DIRECTEDNESS_TO_MY_ROLE: _ClassVar[Directedness]
    DIRECTEDNESS_AMBIENT: _ClassVar[Directedness]

class ResponsePolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RESPONSE_POLICY_UNSPECIFIED: _ClassVar[ResponsePolicy]
    RESPONSE_POLICY_MUST_RESPOND: _ClassVar[ResponsePolicy]
    RESPONSE_POLICY_MAY_RESPOND: _ClassVar[ResponsePolicy]
    RESPONSE_POLICY_ACK_ONLY: _ClassVar[ResponsePolicy]
    RESPONSE_POLICY_MUST_NOT_RESPOND: _ClassVar[ResponsePolicy]

class Injection(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    INJECTION_UNSPECIFIED: _ClassVar[Injection]
    INJECTION_IMMEDIATE: _ClassVar[Injection]
    INJECTION_BUFFERED: _ClassVar[Injection]
    INJECTION_NOTIFY: _ClassVar[Injection]
    INJECTION_DIGEST: _ClassVar[Injection]
    INJECTION_TOOL_MAILBOX: _ClassVar[Injection]

class Priority(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PRIORITY_UNSPECIFIED: _ClassVar[Priority]
    PRIORITY_LOW: _ClassVar[Priority]
    PRIORITY_NORMAL: _ClassVar[Priority]
    PRIORITY_HIGH: _ClassVar[Priority]
    PRIORITY_URGENT: _ClassVar[Priority]

class Blocks(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BLOCKS_UNSPECIFIED: _ClassVar[Blocks]
    BLOCKS_HALTED: _ClassVar[Blocks]
    BLOCKS_DEGRADED: _ClassVar[Blocks]
    BLOCKS_NONE: _ClassVar[Blocks]
DIRECTEDNESS_UNSPECIFIED: Directedness
DIRECTEDNESS_TO_ME: Directedness
DIRECTEDNESS_TO_MY_ROLE: Directedness
DIRECTEDNESS_AMBIENT: Directedness
RESPONSE_POLICY_UNSPECIFIED: ResponsePolicy
RESPONSE_POLICY_MUST_RESPOND: ResponsePolicy
RESPONSE_POLICY_MAY_RESPOND: ResponsePolicy
RESPONSE_POLICY_ACK_ONLY: ResponsePolicy
RESPONSE_POLICY_MUST_NOT_RESPOND: ResponsePolicy
INJECTION_UNSPECIFIED: Injection
INJECTION_IMMEDIATE: Injection
INJECTION_BUFFERED: Injection
INJECTION_NOTIFY: Injection
INJECTION_DIGEST: Injection
INJECTION_TOOL_MAILBOX: Injection
PRIORITY_UNSPECIFIED: Priority
PRIORITY_LOW: Priority
PRIORITY_NORMAL: Priority
PRIORITY_HIGH: Priority
PRIORITY_URGENT: Priority
BLOCKS_UNSPECIFIED: Blocks
BLOCKS_HALTED: Blocks
BLOCKS_DEGRADED: Blocks
BLOCKS_NONE: Blocks

class Obligation(_message.Message):
    __slots__ = ("blocks", "delegate")
    BLOCKS_FIELD_NUMBER: _ClassVar[int]
    DELEGATE_FIELD_NUMBER: _ClassVar[int]
    blocks: Blocks
    delegate: str
    def __init__(self, blocks: _Optional[_Union[Blocks, str]] = ..., delegate: _Optional[str] = ...) -> None: ...

class Attention(_message.Message):
    __slots__ = ("directedness", "policy", "injection", "reason", "priority", "deadline_ms", "claim", "knock")
    DIRECTEDNESS_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    INJECTION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_MS_FIELD_NUMBER: _ClassVar[int]
    CLAIM_FIELD_NUMBER: _ClassVar[int]
    KNOCK_FIELD_NUMBER: _ClassVar[int]
    directedness: Directedness
    policy: ResponsePolicy
    injection: Injection
    reason: str
    priority: Priority
    deadline_ms: int
    claim: AttentionClaim
    knock: Knock
    def __init__(self, directedness: _Optional[_Union[Directedness, str]] = ..., policy: _Optional[_Union[ResponsePolicy, str]] = ..., injection: _Optional[_Union[Injection, str]] = ..., reason: _Optional[str] = ..., priority: _Optional[_Union[Priority, str]] = ..., deadline_ms: _Optional[int] = ..., claim: _Optional[_Union[AttentionClaim, _Mapping]] = ..., knock: _Optional[_Union[Knock, _Mapping]] = ...) -> None: ...

class AttentionClaim(_message.Message):
    __slots__ = ("holder", "expires_in_ms", "fence")
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_IN_MS_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    holder: str
    expires_in_ms: int
    fence: int
    def __init__(self, holder: _Optional[str] = ..., expires_in_ms: _Optional[int] = ..., fence: _Optional[int] = ...) -> None: ...

class Knock(_message.Message):
    __slots__ = ("where", "topic", "pull_with")
    FROM_FIELD_NUMBER: _ClassVar[int]
    WHERE_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PULL_WITH_FIELD_NUMBER: _ClassVar[int]
    where: str
    topic: str
    pull_with: str
    def __init__(self, where: _Optional[str] = ..., topic: _Optional[str] = ..., pull_with: _Optional[str] = ..., **kwargs) -> None: ...

class GetAttentionRequest(_message.Message):
    __slots__ = ("channel_id", "message_id", "agent_id")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    message_id: str
    agent_id: str
    def __init__(self, channel_id: _Optional[str] = ..., message_id: _Optional[str] = ..., agent_id: _Optional[str] = ...) -> None: ...

class GetAttentionResponse(_message.Message):
    __slots__ = ("directedness", "policy", "injection", "reason", "priority", "deadline_ms", "claim", "knock", "rules")
    DIRECTEDNESS_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    INJECTION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_MS_FIELD_NUMBER: _ClassVar[int]
    CLAIM_FIELD_NUMBER: _ClassVar[int]
    KNOCK_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    directedness: Directedness
    policy: ResponsePolicy
    injection: Injection
    reason: str
    priority: Priority
    deadline_ms: int
    claim: AttentionClaim
    knock: Knock
    rules: _containers.RepeatedCompositeFieldContainer[AttentionRule]
    def __init__(self, directedness: _Optional[_Union[Directedness, str]] = ..., policy: _Optional[_Union[ResponsePolicy, str]] = ..., injection: _Optional[_Union[Injection, str]] = ..., reason: _Optional[str] = ..., priority: _Optional[_Union[Priority, str]] = ..., deadline_ms: _Optional[int] = ..., claim: _Optional[_Union[AttentionClaim, _Mapping]] = ..., knock: _Optional[_Union[Knock, _Mapping]] = ..., rules: _Optional[_Iterable[_Union[AttentionRule, _Mapping]]] = ...) -> None: ...

class AttentionRule(_message.Message):
    __slots__ = ("rule", "effect")
    RULE_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    rule: str
    effect: str
    def __init__(self, rule: _Optional[str] = ..., effect: _Optional[str] = ...) -> None: ...

class SetDispositionRequest(_message.Message):
    __slots__ = ("channel_id", "message_id", "disposition", "reason", "until")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    DISPOSITION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    message_id: str
    disposition: str
    reason: str
    until: _timestamp_pb2.Timestamp
    def __init__(self, channel_id: _Optional[str] = ..., message_id: _Optional[str] = ..., disposition: _Optional[str] = ..., reason: _Optional[str] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class MessageDisposition(_message.Message):
    __slots__ = ("message_id", "agent_id", "disposition", "reason", "until", "disposed_at")
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    DISPOSITION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    DISPOSED_AT_FIELD_NUMBER: _ClassVar[int]
    message_id: str
    agent_id: str
    disposition: str
    reason: str
    until: _timestamp_pb2.Timestamp
    disposed_at: _timestamp_pb2.Timestamp
    def __init__(self, message_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., disposition: _Optional[str] = ..., reason: _Optional[str] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., disposed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class MarkSurfacedRequest(_message.Message):
    __slots__ = ("agent_id", "message_ids")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_IDS_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    message_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, agent_id: _Optional[str] = ..., message_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class MarkSurfacedResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[SurfacedMessage]
    def __init__(self, messages: _Optional[_Iterable[_Union[SurfacedMessage, _Mapping]]] = ...) -> None: ...

class HandOverRequest(_message.Message):
    __slots__ = ("agent_id", "message_ids")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_IDS_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    message_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, agent_id: _Optional[str] = ..., message_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class HandOverResponse(_message.Message):
    __slots__ = ("message_ids",)
    MESSAGE_IDS_FIELD_NUMBER: _ClassVar[int]
    message_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, message_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class SurfacedMessage(_message.Message):
    __slots__ = ("message_id", "surfaced_at")
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    SURFACED_AT_FIELD_NUMBER: _ClassVar[int]
    message_id: str
    surfaced_at: _timestamp_pb2.Timestamp
    def __init__(self, message_id: _Optional[str] = ..., surfaced_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

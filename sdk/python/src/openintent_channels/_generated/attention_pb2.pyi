from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
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

import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ContactKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONTACT_KIND_UNSPECIFIED: _ClassVar[ContactKind]
    CONTACT_KIND_WEBHOOK: _ClassVar[ContactKind]
    CONTACT_KIND_NTFY: _ClassVar[ContactKind]
    CONTACT_KIND_SLACK: _ClassVar[ContactKind]
    CONTACT_KIND_MAIL: _ClassVar[ContactKind]
    CONTACT_KIND_WEB_PUSH: _ClassVar[ContactKind]

class ContactState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONTACT_STATE_UNSPECIFIED: _ClassVar[ContactState]
    CONTACT_STATE_UNPROVED: _ClassVar[ContactState]
    CONTACT_STATE_ON: _ClassVar[ContactState]
    CONTACT_STATE_OFF: _ClassVar[ContactState]
    CONTACT_STATE_PAUSED: _ClassVar[ContactState]
CONTACT_KIND_UNSPECIFIED: ContactKind
CONTACT_KIND_WEBHOOK: ContactKind
CONTACT_KIND_NTFY: ContactKind
CONTACT_KIND_SLACK: ContactKind
CONTACT_KIND_MAIL: ContactKind
CONTACT_KIND_WEB_PUSH: ContactKind
CONTACT_STATE_UNSPECIFIED: ContactState
CONTACT_STATE_UNPROVED: ContactState
CONTACT_STATE_ON: ContactState
CONTACT_STATE_OFF: ContactState
CONTACT_STATE_PAUSED: ContactState

class NewContact(_message.Message):
    __slots__ = ("contact_id", "kind", "address", "push")
    CONTACT_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    PUSH_FIELD_NUMBER: _ClassVar[int]
    contact_id: str
    kind: ContactKind
    address: str
    push: PushSubscription
    def __init__(self, contact_id: _Optional[str] = ..., kind: _Optional[_Union[ContactKind, str]] = ..., address: _Optional[str] = ..., push: _Optional[_Union[PushSubscription, _Mapping]] = ...) -> None: ...

class PushSubscription(_message.Message):
    __slots__ = ("endpoint", "p256dh", "auth")
    ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    P256DH_FIELD_NUMBER: _ClassVar[int]
    AUTH_FIELD_NUMBER: _ClassVar[int]
    endpoint: str
    p256dh: str
    auth: str
    def __init__(self, endpoint: _Optional[str] = ..., p256dh: _Optional[str] = ..., auth: _Optional[str] = ...) -> None: ...

class Contact(_message.Message):
    __slots__ = ("contact_id", "kind", "shown", "state", "created_at", "proved_at", "failing_since", "last_problem")
    CONTACT_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SHOWN_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    PROVED_AT_FIELD_NUMBER: _ClassVar[int]
    FAILING_SINCE_FIELD_NUMBER: _ClassVar[int]
    LAST_PROBLEM_FIELD_NUMBER: _ClassVar[int]
    contact_id: str
    kind: ContactKind
    shown: str
    state: ContactState
    created_at: _timestamp_pb2.Timestamp
    proved_at: _timestamp_pb2.Timestamp
    failing_since: _timestamp_pb2.Timestamp
    last_problem: str
    def __init__(self, contact_id: _Optional[str] = ..., kind: _Optional[_Union[ContactKind, str]] = ..., shown: _Optional[str] = ..., state: _Optional[_Union[ContactState, str]] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., proved_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., failing_since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_problem: _Optional[str] = ...) -> None: ...

class Contacts(_message.Message):
    __slots__ = ("contacts",)
    CONTACTS_FIELD_NUMBER: _ClassVar[int]
    contacts: _containers.RepeatedCompositeFieldContainer[Contact]
    def __init__(self, contacts: _Optional[_Iterable[_Union[Contact, _Mapping]]] = ...) -> None: ...

class SetContactsRequest(_message.Message):
    __slots__ = ("agent_id", "contacts")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    CONTACTS_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    contacts: _containers.RepeatedCompositeFieldContainer[NewContact]
    def __init__(self, agent_id: _Optional[str] = ..., contacts: _Optional[_Iterable[_Union[NewContact, _Mapping]]] = ...) -> None: ...

class ListContactsRequest(_message.Message):
    __slots__ = ("agent_id",)
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    def __init__(self, agent_id: _Optional[str] = ...) -> None: ...

class ProveContactRequest(_message.Message):
    __slots__ = ("agent_id", "contact_id", "code")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    CONTACT_ID_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    contact_id: str
    code: str
    def __init__(self, agent_id: _Optional[str] = ..., contact_id: _Optional[str] = ..., code: _Optional[str] = ...) -> None: ...

class SendContactCodeRequest(_message.Message):
    __slots__ = ("agent_id", "contact_id")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    CONTACT_ID_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    contact_id: str
    def __init__(self, agent_id: _Optional[str] = ..., contact_id: _Optional[str] = ...) -> None: ...

class GetWebPushKeyRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class WebPushKey(_message.Message):
    __slots__ = ("public_key",)
    PUBLIC_KEY_FIELD_NUMBER: _ClassVar[int]
    public_key: str
    def __init__(self, public_key: _Optional[str] = ...) -> None: ...

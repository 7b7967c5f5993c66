import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from openintent_channels._generated import attention_pb2 as _attention_pb2
from openintent_channels._generated import events_pb2 as _events_pb2
from openintent_channels._generated import messages_pb2 as _messages_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Subscription(_message.Message):
    __slots__ = ("id", "name", "subscriber_id", "intent_id", "channel_id", "event_types", "message_type", "correlation_id", "webhook_url", "use_endpoint", "secret", "active", "acknowledge_seconds", "max_attempts", "created_at", "expires_at", "acknowledged_through", "last_number", "outstanding_count", "dead_letter_count", "last_error", "include", "compose", "digest_seconds", "max_chars", "made_by", "paused_reason")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIBER_ID_FIELD_NUMBER: _ClassVar[int]
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    EVENT_TYPES_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_TYPE_FIELD_NUMBER: _ClassVar[int]
    CORRELATION_ID_FIELD_NUMBER: _ClassVar[int]
    WEBHOOK_URL_FIELD_NUMBER: _ClassVar[int]
    USE_ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    SECRET_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_FIELD_NUMBER: _ClassVar[int]
    ACKNOWLEDGE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    ACKNOWLEDGED_THROUGH_FIELD_NUMBER: _ClassVar[int]
    LAST_NUMBER_FIELD_NUMBER: _ClassVar[int]
    OUTSTANDING_COUNT_FIELD_NUMBER: _ClassVar[int]
    DEAD_LETTER_COUNT_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_FIELD_NUMBER: _ClassVar[int]
    COMPOSE_FIELD_NUMBER: _ClassVar[int]
    DIGEST_SECONDS_FIELD_NUMBER: _ClassVar[int]
    MAX_CHARS_FIELD_NUMBER: _ClassVar[int]
    MADE_BY_FIELD_NUMBER: _ClassVar[int]
    PAUSED_REASON_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    subscriber_id: str
    intent_id: str
    channel_id: str
    event_types: _containers.RepeatedScalarFieldContainer[str]
    message_type: _messages_pb2.MessageType
    correlation_id: str
    webhook_url: str
    use_endpoint: bool
    secret: str
    active: bool
    acknowledge_seconds: int
    max_attempts: int
    created_at: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    acknowledged_through: int
    last_number: int
    outstanding_count: int
    dead_letter_count: int
    last_error: str
    include: _containers.RepeatedScalarFieldContainer[str]
    compose: bool
    digest_seconds: int
    max_chars: int
    made_by: str
    paused_reason: str
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., subscriber_id: _Optional[str] = ..., intent_id: _Optional[str] = ..., channel_id: _Optional[str] = ..., event_types: _Optional[_Iterable[str]] = ..., message_type: _Optional[_Union[_messages_pb2.MessageType, str]] = ..., correlation_id: _Optional[str] = ..., webhook_url: _Optional[str] = ..., use_endpoint: bool = ..., secret: _Optional[str] = ..., active: bool = ..., acknowledge_seconds: _Optional[int] = ..., max_attempts: _Optional[int] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., acknowledged_through: _Optional[int] = ..., last_number: _Optional[int] = ..., outstanding_count: _Optional[int] = ..., dead_letter_count: _Optional[int] = ..., last_error: _Optional[str] = ..., include: _Optional[_Iterable[str]] = ..., compose: bool = ..., digest_seconds: _Optional[int] = ..., max_chars: _Optional[int] = ..., made_by: _Optional[str] = ..., paused_reason: _Optional[str] = ...) -> None: ...

class CreateSubscriptionRequest(_message.Message):
    __slots__ = ("name", "subscriber_id", "intent_id", "channel_id", "event_types", "message_type", "correlation_id", "webhook_url", "use_endpoint", "acknowledge_seconds", "max_attempts", "expires_at", "include", "compose", "digest_seconds", "max_chars")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIBER_ID_FIELD_NUMBER: _ClassVar[int]
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    EVENT_TYPES_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_TYPE_FIELD_NUMBER: _ClassVar[int]
    CORRELATION_ID_FIELD_NUMBER: _ClassVar[int]
    WEBHOOK_URL_FIELD_NUMBER: _ClassVar[int]
    USE_ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    ACKNOWLEDGE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_FIELD_NUMBER: _ClassVar[int]
    COMPOSE_FIELD_NUMBER: _ClassVar[int]
    DIGEST_SECONDS_FIELD_NUMBER: _ClassVar[int]
    MAX_CHARS_FIELD_NUMBER: _ClassVar[int]
    name: str
    subscriber_id: str
    intent_id: str
    channel_id: str
    event_types: _containers.RepeatedScalarFieldContainer[str]
    message_type: _messages_pb2.MessageType
    correlation_id: str
    webhook_url: str
    use_endpoint: bool
    acknowledge_seconds: int
    max_attempts: int
    expires_at: _timestamp_pb2.Timestamp
    include: _containers.RepeatedScalarFieldContainer[str]
    compose: bool
    digest_seconds: int
    max_chars: int
    def __init__(self, name: _Optional[str] = ..., subscriber_id: _Optional[str] = ..., intent_id: _Optional[str] = ..., channel_id: _Optional[str] = ..., event_types: _Optional[_Iterable[str]] = ..., message_type: _Optional[_Union[_messages_pb2.MessageType, str]] = ..., correlation_id: _Optional[str] = ..., webhook_url: _Optional[str] = ..., use_endpoint: bool = ..., acknowledge_seconds: _Optional[int] = ..., max_attempts: _Optional[int] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., include: _Optional[_Iterable[str]] = ..., compose: bool = ..., digest_seconds: _Optional[int] = ..., max_chars: _Optional[int] = ...) -> None: ...

class ListSubscriptionsRequest(_message.Message):
    __slots__ = ("subscriber_id", "intent_id", "limit", "cursor")
    SUBSCRIBER_ID_FIELD_NUMBER: _ClassVar[int]
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    subscriber_id: str
    intent_id: str
    limit: int
    cursor: str
    def __init__(self, subscriber_id: _Optional[str] = ..., intent_id: _Optional[str] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class ListSubscriptionsResponse(_message.Message):
    __slots__ = ("subscriptions", "next_cursor")
    SUBSCRIPTIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    subscriptions: _containers.RepeatedCompositeFieldContainer[Subscription]
    next_cursor: str
    def __init__(self, subscriptions: _Optional[_Iterable[_Union[Subscription, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class GetSubscriptionRequest(_message.Message):
    __slots__ = ("subscription_id",)
    SUBSCRIPTION_ID_FIELD_NUMBER: _ClassVar[int]
    subscription_id: str
    def __init__(self, subscription_id: _Optional[str] = ...) -> None: ...

class UpdateSubscriptionRequest(_message.Message):
    __slots__ = ("subscription_id", "webhook_url")
    SUBSCRIPTION_ID_FIELD_NUMBER: _ClassVar[int]
    WEBHOOK_URL_FIELD_NUMBER: _ClassVar[int]
    subscription_id: str
    webhook_url: str
    def __init__(self, subscription_id: _Optional[str] = ..., webhook_url: _Optional[str] = ...) -> None: ...

class DeleteSubscriptionRequest(_message.Message):
    __slots__ = ("subscription_id",)
    SUBSCRIPTION_ID_FIELD_NUMBER: _ClassVar[int]
    subscription_id: str
    def __init__(self, subscription_id: _Optional[str] = ...) -> None: ...

class DeleteSubscriptionResponse(_message.Message):
    __slots__ = ("subscription_id", "status")
    SUBSCRIPTION_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    subscription_id: str
    status: str
    def __init__(self, subscription_id: _Optional[str] = ..., status: _Optional[str] = ...) -> None: ...

class SubscriptionDelivery(_message.Message):
    __slots__ = ("subscription_id", "number", "attempt", "intent_id", "position", "channel_name", "message", "event", "standing_by", "annotation", "attention", "source_ids", "earlier", "digest", "probe_id", "caught_up")
    SUBSCRIPTION_ID_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_NAME_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    STANDING_BY_FIELD_NUMBER: _ClassVar[int]
    ANNOTATION_FIELD_NUMBER: _ClassVar[int]
    ATTENTION_FIELD_NUMBER: _ClassVar[int]
    SOURCE_IDS_FIELD_NUMBER: _ClassVar[int]
    EARLIER_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    PROBE_ID_FIELD_NUMBER: _ClassVar[int]
    CAUGHT_UP_FIELD_NUMBER: _ClassVar[int]
    subscription_id: str
    number: int
    attempt: int
    intent_id: str
    position: int
    channel_name: str
    message: _messages_pb2.Message
    event: _events_pb2.Event
    standing_by: bool
    annotation: _messages_pb2.Annotation
    attention: _attention_pb2.Attention
    source_ids: _containers.RepeatedScalarFieldContainer[str]
    earlier: _containers.RepeatedCompositeFieldContainer[EarlierMessage]
    digest: Digest
    probe_id: str
    caught_up: bool
    def __init__(self, subscription_id: _Optional[str] = ..., number: _Optional[int] = ..., attempt: _Optional[int] = ..., intent_id: _Optional[str] = ..., position: _Optional[int] = ..., channel_name: _Optional[str] = ..., message: _Optional[_Union[_messages_pb2.Message, _Mapping]] = ..., event: _Optional[_Union[_events_pb2.Event, _Mapping]] = ..., standing_by: bool = ..., annotation: _Optional[_Union[_messages_pb2.Annotation, _Mapping]] = ..., attention: _Optional[_Union[_attention_pb2.Attention, _Mapping]] = ..., source_ids: _Optional[_Iterable[str]] = ..., earlier: _Optional[_Iterable[_Union[EarlierMessage, _Mapping]]] = ..., digest: _Optional[_Union[Digest, _Mapping]] = ..., probe_id: _Optional[str] = ..., caught_up: bool = ...) -> None: ...

class EarlierMessage(_message.Message):
    __slots__ = ("intent_id", "position", "channel_name", "message", "attention")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_NAME_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ATTENTION_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    position: int
    channel_name: str
    message: _messages_pb2.Message
    attention: _attention_pb2.Attention
    def __init__(self, intent_id: _Optional[str] = ..., position: _Optional[int] = ..., channel_name: _Optional[str] = ..., message: _Optional[_Union[_messages_pb2.Message, _Mapping]] = ..., attention: _Optional[_Union[_attention_pb2.Attention, _Mapping]] = ...) -> None: ...

class Digest(_message.Message):
    __slots__ = ("message_count", "counts", "subjects", "spans", "left_out_count")
    MESSAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    SUBJECTS_FIELD_NUMBER: _ClassVar[int]
    SPANS_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_COUNT_FIELD_NUMBER: _ClassVar[int]
    message_count: int
    counts: _containers.RepeatedCompositeFieldContainer[DigestCount]
    subjects: _containers.RepeatedCompositeFieldContainer[DigestSubject]
    spans: _containers.RepeatedCompositeFieldContainer[DigestSpan]
    left_out_count: int
    def __init__(self, message_count: _Optional[int] = ..., counts: _Optional[_Iterable[_Union[DigestCount, _Mapping]]] = ..., subjects: _Optional[_Iterable[_Union[DigestSubject, _Mapping]]] = ..., spans: _Optional[_Iterable[_Union[DigestSpan, _Mapping]]] = ..., left_out_count: _Optional[int] = ...) -> None: ...

class DigestCount(_message.Message):
    __slots__ = ("channel_id", "channel_name", "sender", "kind", "count")
    CHANNEL_ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_NAME_FIELD_NUMBER: _ClassVar[int]
    SENDER_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    channel_id: str
    channel_name: str
    sender: str
    kind: str
    count: int
    def __init__(self, channel_id: _Optional[str] = ..., channel_name: _Optional[str] = ..., sender: _Optional[str] = ..., kind: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

class DigestSubject(_message.Message):
    __slots__ = ("message_id", "subject")
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    message_id: str
    subject: str
    def __init__(self, message_id: _Optional[str] = ..., subject: _Optional[str] = ...) -> None: ...

class DigestSpan(_message.Message):
    __slots__ = ("intent_id", "first_position", "last_position")
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    FIRST_POSITION_FIELD_NUMBER: _ClassVar[int]
    LAST_POSITION_FIELD_NUMBER: _ClassVar[int]
    intent_id: str
    first_position: int
    last_position: int
    def __init__(self, intent_id: _Optional[str] = ..., first_position: _Optional[int] = ..., last_position: _Optional[int] = ...) -> None: ...

class StreamDeliveriesRequest(_message.Message):
    __slots__ = ("subscription_id", "max_outstanding", "acknowledged_through", "announce_active", "take_over", "probes", "announce_caught_up")
    SUBSCRIPTION_ID_FIELD_NUMBER: _ClassVar[int]
    MAX_OUTSTANDING_FIELD_NUMBER: _ClassVar[int]
    ACKNOWLEDGED_THROUGH_FIELD_NUMBER: _ClassVar[int]
    ANNOUNCE_ACTIVE_FIELD_NUMBER: _ClassVar[int]
    TAKE_OVER_FIELD_NUMBER: _ClassVar[int]
    PROBES_FIELD_NUMBER: _ClassVar[int]
    ANNOUNCE_CAUGHT_UP_FIELD_NUMBER: _ClassVar[int]
    subscription_id: str
    max_outstanding: int
    acknowledged_through: int
    announce_active: bool
    take_over: bool
    probes: bool
    announce_caught_up: bool
    def __init__(self, subscription_id: _Optional[str] = ..., max_outstanding: _Optional[int] = ..., acknowledged_through: _Optional[int] = ..., announce_active: bool = ..., take_over: bool = ..., probes: bool = ..., announce_caught_up: bool = ...) -> None: ...

class FetchDeliveriesRequest(_message.Message):
    __slots__ = ("subscription_id", "limit", "wait_seconds")
    SUBSCRIPTION_ID_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    WAIT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    subscription_id: str
    limit: int
    wait_seconds: float
    def __init__(self, subscription_id: _Optional[str] = ..., limit: _Optional[int] = ..., wait_seconds: _Optional[float] = ...) -> None: ...

class FetchDeliveriesResponse(_message.Message):
    __slots__ = ("deliveries",)
    DELIVERIES_FIELD_NUMBER: _ClassVar[int]
    deliveries: _containers.RepeatedCompositeFieldContainer[SubscriptionDelivery]
    def __init__(self, deliveries: _Optional[_Iterable[_Union[SubscriptionDelivery, _Mapping]]] = ...) -> None: ...

class AcknowledgeDeliveriesRequest(_message.Message):
    __slots__ = ("subscription_id", "numbers", "through")
    SUBSCRIPTION_ID_FIELD_NUMBER: _ClassVar[int]
    NUMBERS_FIELD_NUMBER: _ClassVar[int]
    THROUGH_FIELD_NUMBER: _ClassVar[int]
    subscription_id: str
    numbers: _containers.RepeatedScalarFieldContainer[int]
    through: int
    def __init__(self, subscription_id: _Optional[str] = ..., numbers: _Optional[_Iterable[int]] = ..., through: _Optional[int] = ...) -> None: ...

class ListDeadLettersRequest(_message.Message):
    __slots__ = ("subscription_id", "limit", "after_number", "cursor")
    SUBSCRIPTION_ID_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    AFTER_NUMBER_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    subscription_id: str
    limit: int
    after_number: int
    cursor: str
    def __init__(self, subscription_id: _Optional[str] = ..., limit: _Optional[int] = ..., after_number: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class ListDeadLettersResponse(_message.Message):
    __slots__ = ("dead_letters", "next_cursor")
    DEAD_LETTERS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    dead_letters: _containers.RepeatedCompositeFieldContainer[DeadLetter]
    next_cursor: str
    def __init__(self, dead_letters: _Optional[_Iterable[_Union[DeadLetter, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class DeadLetter(_message.Message):
    __slots__ = ("delivery", "reason", "dead_at")
    DELIVERY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DEAD_AT_FIELD_NUMBER: _ClassVar[int]
    delivery: SubscriptionDelivery
    reason: str
    dead_at: _timestamp_pb2.Timestamp
    def __init__(self, delivery: _Optional[_Union[SubscriptionDelivery, _Mapping]] = ..., reason: _Optional[str] = ..., dead_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class RedriveDeadLettersRequest(_message.Message):
    __slots__ = ("subscription_id", "numbers")
    SUBSCRIPTION_ID_FIELD_NUMBER: _ClassVar[int]
    NUMBERS_FIELD_NUMBER: _ClassVar[int]
    subscription_id: str
    numbers: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, subscription_id: _Optional[str] = ..., numbers: _Optional[_Iterable[int]] = ...) -> None: ...

from google.rpc import status_pb2 as _status_pb2
from openintent_channels._generated import messages_pb2 as _messages_pb2
from openintent_channels._generated import reactions_pb2 as _reactions_pb2
from openintent_channels._generated import subscriptions_pb2 as _subscriptions_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ExchangeRequest(_message.Message):
    __slots__ = ("requests", "cancelled")
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    requests: _containers.RepeatedCompositeFieldContainer[NumberedRequest]
    cancelled: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, requests: _Optional[_Iterable[_Union[NumberedRequest, _Mapping]]] = ..., cancelled: _Optional[_Iterable[int]] = ...) -> None: ...

class NumberedRequest(_message.Message):
    __slots__ = ("number", "send", "send_by_name", "reply", "ask", "react", "acknowledge")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    SEND_FIELD_NUMBER: _ClassVar[int]
    SEND_BY_NAME_FIELD_NUMBER: _ClassVar[int]
    REPLY_FIELD_NUMBER: _ClassVar[int]
    ASK_FIELD_NUMBER: _ClassVar[int]
    REACT_FIELD_NUMBER: _ClassVar[int]
    ACKNOWLEDGE_FIELD_NUMBER: _ClassVar[int]
    number: int
    send: _messages_pb2.SendMessageRequest
    send_by_name: _messages_pb2.SendMessageByNameRequest
    reply: _messages_pb2.ReplyMessageRequest
    ask: _messages_pb2.AskRequest
    react: _reactions_pb2.AddReactionRequest
    acknowledge: _subscriptions_pb2.AcknowledgeDeliveriesRequest
    def __init__(self, number: _Optional[int] = ..., send: _Optional[_Union[_messages_pb2.SendMessageRequest, _Mapping]] = ..., send_by_name: _Optional[_Union[_messages_pb2.SendMessageByNameRequest, _Mapping]] = ..., reply: _Optional[_Union[_messages_pb2.ReplyMessageRequest, _Mapping]] = ..., ask: _Optional[_Union[_messages_pb2.AskRequest, _Mapping]] = ..., react: _Optional[_Union[_reactions_pb2.AddReactionRequest, _Mapping]] = ..., acknowledge: _Optional[_Union[_subscriptions_pb2.AcknowledgeDeliveriesRequest, _Mapping]] = ...) -> None: ...

class ExchangeResponse(_message.Message):
    __slots__ = ("answers",)
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    answers: _containers.RepeatedCompositeFieldContainer[NumberedAnswer]
    def __init__(self, answers: _Optional[_Iterable[_Union[NumberedAnswer, _Mapping]]] = ...) -> None: ...

class NumberedAnswer(_message.Message):
    __slots__ = ("number", "message", "reactions", "subscription", "refusal")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    REACTIONS_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIPTION_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    number: int
    message: _messages_pb2.Message
    reactions: _reactions_pb2.ListReactionsResponse
    subscription: _subscriptions_pb2.Subscription
    refusal: _status_pb2.Status
    def __init__(self, number: _Optional[int] = ..., message: _Optional[_Union[_messages_pb2.Message, _Mapping]] = ..., reactions: _Optional[_Union[_reactions_pb2.ListReactionsResponse, _Mapping]] = ..., subscription: _Optional[_Union[_subscriptions_pb2.Subscription, _Mapping]] = ..., refusal: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

"""The calls that an exchange carries, and how they look on its stream."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import Message as Wire

from . import _methods as methods
from ._generated import exchange_pb2, messages_pb2

EXCHANGE = "/openintent.v1.ExchangeService/Exchange"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of request of an exchange."""

    request: str
    """The field of the request in a NumberedRequest."""
    answer: str
    """The field of its answer in a NumberedAnswer."""
    ordered: bool = False
    """Whether it stores a message in the channel that it names, in the order in which such requests came."""
    asks: bool = False
    """Whether its answer is somebody else's message, for which it waits."""
    tag: bytes = field(init=False)

    def __post_init__(self) -> None:
        number = exchange_pb2.NumberedRequest.DESCRIPTOR.fields_by_name[self.request].number
        object.__setattr__(self, "tag", _tag(number))


def _tag(number: int) -> bytes:
    """Returns how a field that has a length begins."""
    return _varint(number << 3 | 2)


def _varint(number: int) -> bytes:
    """Writes a number as protobuf does: seven bits a byte, the lowest first."""
    if number < 128:
        return number.to_bytes(1, "little")
    written = bytearray()
    while number > 127:
        written.append(number & 127 | 128)
        number >>= 7
    written.append(number)
    return bytes(written)


KINDS: Mapping[str, Kind] = {
    methods.SEND_MESSAGE.path: Kind("send", "message", ordered=True),
    methods.REPLY_MESSAGE.path: Kind("reply", "message", ordered=True),
    methods.ASK.path: Kind("ask", "message", ordered=True, asks=True),
    methods.ADD_REACTION.path: Kind("react", "reactions"),
    methods.ACKNOWLEDGE_DELIVERIES.path: Kind("acknowledge", "subscription"),
}
"""The methods that an exchange carries, by their paths. All others, such as those that read, are calls of their own."""


@dataclass(eq=False, slots=True)
class Call:
    """A call that is under way on an exchange, or will be."""

    kind: Kind
    request: Any
    data: bytes
    """The request as it goes on the wire."""
    until: float
    """When nobody waits for its answer any more, on the clock of the event loop."""
    answer: Future[exchange_pb2.NumberedAnswer | None]
    """The answer; None if the call has to be made on its own."""
    number: int = 0
    """Its number on the stream; 0 as long as it has not been sent there."""
    repeated: bool = False
    """Whether an earlier stream was lost with it."""

    @property
    def channel(self) -> str | None:
        """The channel in which it has its place in an order."""
        return self.request.channel_id if self.kind.ordered else None


_REQUESTS = _tag(exchange_pb2.ExchangeRequest.REQUESTS_FIELD_NUMBER)
_CANCELLED = _tag(exchange_pb2.ExchangeRequest.CANCELLED_FIELD_NUMBER)
_NUMBER = _varint(exchange_pb2.NumberedRequest.NUMBER_FIELD_NUMBER << 3)


def frame_of(calls: Iterable[Call], cancelled: Iterable[int]) -> bytes:
    """Writes an ExchangeRequest. The requests in it are written already, and are not copied into messages again."""
    parts: list[bytes] = []
    for call in calls:
        head = b"".join((_NUMBER, _varint(call.number), call.kind.tag, _varint(len(call.data))))
        parts += (_REQUESTS, _varint(len(head) + len(call.data)), head, call.data)
    if numbers := b"".join(map(_varint, cancelled)):
        parts += (_CANCELLED, _varint(len(numbers)), numbers)
    return b"".join(parts)


def response_of(call: Call, answer: exchange_pb2.NumberedAnswer) -> Wire | None:
    """Returns the response of a call from its answer, which is no refusal. The server leaves out of a stored message what
    the client has sent. None if the response is another one's, or if the message was edited or deleted since, so that it is
    no more what was sent."""
    if answer.WhichOneof("answer") != call.kind.answer:
        return None
    response: Wire = getattr(answer, call.kind.answer)
    if isinstance(response, messages_pb2.Message) and not call.kind.asks:
        if response.revision > 1 or response.HasField("deleted_at"):
            return None
        response.payload.CopyFrom(call.request.payload)
        response.metadata.CopyFrom(call.request.metadata)
    return response

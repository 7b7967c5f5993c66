"""What is written by hand for exchanges agrees with the protos."""

from __future__ import annotations

from typing import Any

import pytest

from openintent_channels import _methods as methods
from openintent_channels._exchanged import EXCHANGE, KINDS, Call, Kind, frame_of, response_of
from openintent_channels._generated import exchange_pb2, messages_pb2, reactions_pb2
from openintent_channels._structs import from_struct, to_struct

SERVICE = exchange_pb2.DESCRIPTOR.services_by_name["ExchangeService"]
REQUESTS = exchange_pb2.NumberedRequest.DESCRIPTOR.fields_by_name
ANSWERS = exchange_pb2.NumberedAnswer.DESCRIPTOR.fields_by_name
METHODS = {value.path: value for value in vars(methods).values() if isinstance(value, methods.Method)}


def call(kind: Kind, request: Any, number: int = 1) -> Call:
    no_answer: Any = None
    return Call(kind, request, request.SerializeToString(), 0.0, no_answer, number)


def test_the_path_is_that_of_the_proto() -> None:
    method = SERVICE.methods_by_name["Exchange"]
    assert f"/{SERVICE.full_name}/{method.name}" == EXCHANGE


@pytest.mark.parametrize("path", KINDS)
def test_each_method_has_its_fields(path: str) -> None:
    method, kind = METHODS[path], KINDS[path]
    assert REQUESTS[kind.request].message_type is method.asked.DESCRIPTOR
    assert ANSWERS[kind.answer].message_type is method.answer.DESCRIPTOR
    request: Any = method.asked()
    assert not kind.ordered or hasattr(request, "channel_id")


def test_all_requests_are_carried_whose_methods_the_package_calls() -> None:
    called = {method.asked.DESCRIPTOR for method in METHODS.values()}
    assert {name for name, field in REQUESTS.items() if field.message_type in called} == {
        kind.request for kind in KINDS.values()
    }


def test_a_frame_reads_as_what_protobuf_would_write() -> None:
    def send(length: int) -> messages_pb2.SendMessageRequest:
        return messages_pb2.SendMessageRequest(channel_id="chan", payload=to_struct({"text": "x" * length}))

    kind = KINDS[methods.SEND_MESSAGE.path]
    sends = [(number, send(length)) for number, length in ((1, 0), (127, 50), (128, 120), (1 << 40, 16_000))]
    asks = [(1 << 41, messages_pb2.AskRequest(channel_id="chan", to="bob"))]
    cancelled = [1, 127, 128, 300, 1 << 40]
    calls = [call(kind, request, number) for number, request in sends]
    calls += [call(KINDS[methods.ASK.path], request, number) for number, request in asks]
    assert exchange_pb2.ExchangeRequest.FromString(frame_of(calls, cancelled)) == exchange_pb2.ExchangeRequest(
        requests=[
            *(exchange_pb2.NumberedRequest(number=number, send=request) for number, request in sends),
            *(exchange_pb2.NumberedRequest(number=number, ask=request) for number, request in asks),
        ],
        cancelled=cancelled,
    )
    assert frame_of([], []) == b""


def test_a_stored_message_has_what_was_sent_and_a_response_what_somebody_else_said() -> None:
    said = to_struct({"text": "hello"})
    answer = exchange_pb2.NumberedAnswer(message=messages_pb2.Message(id="m"))
    sent = response_of(call(KINDS[methods.SEND_MESSAGE.path], messages_pb2.SendMessageRequest(payload=said)), answer)
    assert isinstance(sent, messages_pb2.Message)
    assert from_struct(sent.payload) == {"text": "hello"}
    answer = exchange_pb2.NumberedAnswer(message=messages_pb2.Message(id="m"))
    asked = response_of(call(KINDS[methods.ASK.path], messages_pb2.AskRequest(payload=said)), answer)
    assert isinstance(asked, messages_pb2.Message)
    assert from_struct(asked.payload) == {}


def test_the_answer_to_something_else_and_what_is_no_more_what_was_sent_are_no_answers() -> None:
    sent = call(KINDS[methods.SEND_MESSAGE.path], messages_pb2.SendMessageRequest())
    deleted = messages_pb2.Message(id="m")
    deleted.deleted_at.GetCurrentTime()
    for answer in (
        exchange_pb2.NumberedAnswer(reactions=reactions_pb2.ListReactionsResponse()),
        exchange_pb2.NumberedAnswer(message=messages_pb2.Message(id="m", revision=2)),
        exchange_pb2.NumberedAnswer(message=deleted),
        exchange_pb2.NumberedAnswer(),
    ):
        assert response_of(sent, answer) is None

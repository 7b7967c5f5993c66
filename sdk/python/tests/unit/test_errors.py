"""A status becomes the error of its reason, or else of its code, with all that its details say."""

import grpc
import pytest
from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

from openintent_channels import errors
from openintent_channels._statuses import error_of


def trailers(*details: Message) -> list[tuple[str, str | bytes]]:
    status = status_pb2.Status()
    for detail in details:
        packed = Any()
        packed.Pack(detail)
        status.details.append(packed)
    return [("grpc-status-details-bin", status.SerializeToString())]


def info(reason: str, **metadata: str) -> error_details_pb2.ErrorInfo:
    return error_details_pb2.ErrorInfo(reason=reason, domain="openintent", metadata=metadata)


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_names_the_module_that_programs_import_it_from(name: str) -> None:
    kind = getattr(errors, name)
    assert f"{kind.__module__}.{kind.__qualname__}" == f"openintent_channels.errors.{name}"


@pytest.mark.parametrize(("reason", "kind"), errors.BY_REASON.items())
def test_each_reason_has_its_class(reason: str, kind: type[errors.OpenIntentError]) -> None:
    error = error_of(grpc.StatusCode.UNKNOWN, "text", trailers(info(reason)))
    assert type(error) is kind
    assert error.reason == reason


@pytest.mark.parametrize(("code", "kind"), errors.BY_CODE.items())
def test_each_code_has_its_class(code: str, kind: type[errors.OpenIntentError]) -> None:
    error = error_of(grpc.StatusCode[code], "text", trailers(info("SOMETHING_NEW")))
    assert type(error) is kind
    assert (error.code, error.reason) == (code, "SOMETHING_NEW")


@pytest.mark.parametrize("reason", ["MESSAGE_TIMEOUT", "NOBODY_THERE"])
def test_the_cause_says_why_nobody_answered(reason: str) -> None:
    assert error_of(grpc.StatusCode.UNKNOWN, "text", trailers(info(reason, cause="AWAY"))).cause == "AWAY"
    assert error_of(grpc.StatusCode.UNKNOWN, "text", trailers(info(reason))).cause is None


def test_details_are_read() -> None:
    bad = error_details_pb2.BadRequest(
        field_violations=[error_details_pb2.BadRequest.FieldViolation(field="to", description="it is empty")]
    )
    retry = error_details_pb2.RetryInfo(retry_delay=Duration(seconds=1, nanos=500_000_000))
    error = error_of(
        grpc.StatusCode.UNAVAILABLE, "busy", trailers(info("WRITE_QUEUE_FULL", message_id="msg_1"), bad, retry)
    )
    assert error.violations == (errors.Violation("to", "it is empty"),)
    assert error.retry_after == 1.5
    assert error.message_id == "msg_1"
    assert str(error) == "busy (WRITE_QUEUE_FULL)"


@pytest.mark.parametrize("given", [None, [], [("grpc-status-details-bin", b"\xff\xff")], [("other", "x")]])
def test_without_details_the_code_decides(given: list[tuple[str, str | bytes]] | None) -> None:
    error = error_of(grpc.StatusCode.NOT_FOUND, None, given)
    assert type(error) is errors.NotFoundError
    assert (error.reason, error.message, error.message_id) == ("", "NOT_FOUND", None)


def test_a_timeout_that_the_server_reports_is_a_timeout_error() -> None:
    error = error_of(grpc.StatusCode.DEADLINE_EXCEEDED, "late", trailers(info("MESSAGE_TIMEOUT", message_id="msg_1")))
    assert isinstance(error, TimeoutError)
    assert isinstance(error, errors.MessageTimeoutError)
    assert error.message_id == "msg_1"


def test_a_timeout_says_how_the_agent_is_reached() -> None:
    facts = {"reach": "none", "last_heard_at": "2026-11-29T09:14:02.350000Z"}
    error = error_of(grpc.StatusCode.DEADLINE_EXCEEDED, "late", trailers(info("MESSAGE_TIMEOUT", **facts)))
    assert isinstance(error, errors.MessageTimeoutError)
    assert error.metadata == facts


def test_silence_is_as_if_the_server_were_away() -> None:
    error = error_of(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded", None)
    assert type(error) is errors.UnavailableError
    assert (error.code, error.message) == ("UNAVAILABLE", "The server did not answer in time.")

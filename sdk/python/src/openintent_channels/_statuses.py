"""Turns the status of a call, as gRPC gives it, into an error of this package."""

from __future__ import annotations

from collections.abc import Iterable

import grpc
from google.protobuf import any_pb2
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from .errors import BY_CODE, BY_REASON, OpenIntentError, UnavailableError, Violation

_DETAILS = "grpc-status-details-bin"


def error_of(code: grpc.StatusCode, text: str | None, trailers: Iterable[tuple[str, str | bytes]] | None) -> OpenIntentError:
    """Returns the error for the status of a call. A time that ran out without a word of the server means that it was silent,
    which is as good as away."""
    return _error_of(code, text, _details(trailers))


def refusal_of(status: status_pb2.Status) -> OpenIntentError:
    """Returns the error for a status that the server sent in an answer."""
    return _error_of(_CODES.get(status.code, grpc.StatusCode.UNKNOWN), status.message, status.details)


_CODES = {code.value[0]: code for code in grpc.StatusCode}


def _error_of(code: grpc.StatusCode, text: str | None, details: Iterable[any_pb2.Any]) -> OpenIntentError:
    """It leaves empty what the details do not say, or say in a form that is unknown here."""
    reason, metadata, violations, retry_after = "", {}, [], None
    for detail in details:
        info, fields, retry = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest(), error_details_pb2.RetryInfo()
        if detail.Unpack(info):
            reason, metadata = info.reason, dict(info.metadata)
        elif detail.Unpack(fields):
            violations += [Violation(bad.field, bad.description) for bad in fields.field_violations]
        elif detail.Unpack(retry):
            retry_after = retry.retry_delay.seconds + retry.retry_delay.nanos / 1e9
    name = code.name
    if name == "DEADLINE_EXCEEDED" and not reason:
        return UnavailableError("The server did not answer in time.", code="UNAVAILABLE")
    kind = BY_REASON.get(reason) or BY_CODE.get(name, OpenIntentError)
    return kind(
        text or name, code=name, reason=reason, metadata=metadata, violations=violations, retry_after=retry_after
    )


def _details(trailers: Iterable[tuple[str, str | bytes]] | None) -> Iterable[any_pb2.Any]:
    """Returns the details in the trailers. Details that a proxy has garbled count as none."""
    for key, value in trailers or ():
        if key == _DETAILS and isinstance(value, bytes):
            try:
                status = status_pb2.Status.FromString(value)
                return tuple(status.details)
            except DecodeError:
                return ()
    return ()

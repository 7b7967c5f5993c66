"""What the blocking and the asynchronous connection have in common."""

from __future__ import annotations

import os
from typing import Any, Protocol, TypeVar

import grpc
from google.rpc import status_pb2

from ._advice import advised
from ._effects import Effect, Steps
from ._exchanged import EXCHANGE
from ._generated import exchange_pb2
from ._methods import Method
from ._securing import may_need_tls, needs_tls, speaks_tls, tls_failed
from ._settings import Settings, resolve
from ._statuses import error_of, refusal_of
from .errors import OpenIntentError

T = TypeVar("T")


class _Channel(Protocol):
    """What the channels of grpc and of grpc.aio have in common."""

    def unary_unary(self, method: str, **serializers: Any) -> Any: ...

    def unary_stream(self, method: str, **serializers: Any) -> Any: ...

    def stream_stream(self, method: str, **serializers: Any) -> Any: ...


class Stubs:
    """The server's methods as callables of one gRPC channel, each made once."""

    def __init__(self, channel: _Channel) -> None:
        self._channel = channel
        self._made: dict[str, Any] = {}

    def of(self, method: Method[Any, Any]) -> Any:
        """Returns the callable for a method."""
        stub = self._made.get(method.path)
        if stub is None:
            make = self._channel.unary_stream if method.streams else self._channel.unary_unary
            stub = self._made[method.path] = make(
                method.path,
                request_serializer=method.asked.SerializeToString,
                response_deserializer=method.answer.FromString,
            )
        return stub

    def exchange(self) -> Any:
        """Returns the callable that begins an exchange. Its requests are written already."""
        return self._channel.stream_stream(EXCHANGE, response_deserializer=exchange_pb2.ExchangeResponse.FromString)


def settings_from(
    server: str | None,
    api_key: str | None,
    agent_id: str | None,
    tls: bool | None,
    ca_file: str | os.PathLike[str] | None,
    intent_id: str | None,
) -> Settings:
    """Resolves the settings with the program's environment."""
    return resolve(os.environ, server, api_key, agent_id, tls, ca_file, intent_id)


def dial(settings: Settings, library: Any) -> Any:
    """Opens a channel of grpc or grpc.aio. It connects when it is first used, and reconnects whenever it must."""
    if settings.tls:
        credentials = grpc.ssl_channel_credentials(settings.certificates)
        return library.secure_channel(settings.target, credentials, options=settings.channel_options)
    return library.insecure_channel(settings.target, options=settings.channel_options)


def failed(failure: Any, settings: Settings) -> OpenIntentError:
    """Returns the error for a call of grpc or grpc.aio that failed."""
    error = error_of(failure.code(), failure.details(), failure.trailing_metadata())
    return tls_failed(error, settings) or advised(error, settings)


def refused(refusal: status_pb2.Status, settings: Settings) -> OpenIntentError:
    """Returns the error for a call of an exchange that the server refused."""
    return advised(refusal_of(refusal), settings)


def secured(error: OpenIntentError, settings: Settings) -> OpenIntentError:
    """Returns the error for a server that speaks TLS when that is why a call without it failed, and else the same one. It
    may look at the server, which blocks for a few seconds at most."""
    return needs_tls(settings) if may_need_tls(error, settings) and speaks_tls(settings.target) else error


def client_closed() -> OpenIntentError:
    """Returns the error for calls that are under way when the client is closed, and for calls after that."""
    return OpenIntentError("The client is closed.", code="CANCELLED")


def advance(steps: Steps[T], value: Any, error: BaseException | None) -> Effect:
    """Takes a rule one step further, with the result of its last effect or with its error."""
    if error is not None:
        return steps.throw(error)
    return steps.send(value)



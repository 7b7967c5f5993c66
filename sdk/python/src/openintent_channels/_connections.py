"""What the blocking and the asynchronous connection have in common."""

from __future__ import annotations

import os
from typing import Any, Protocol, TypeVar

import grpc

from ._advice import advised
from ._effects import Effect, Steps
from ._methods import Method
from ._settings import CHANNEL_OPTIONS, Settings, resolve
from ._statuses import error_of
from .errors import OpenIntentError

T = TypeVar("T")


class _Channel(Protocol):
    """What the channels of grpc and of grpc.aio have in common."""

    def unary_unary(self, method: str, **serializers: Any) -> Any: ...

    def unary_stream(self, method: str, **serializers: Any) -> Any: ...


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


def settings_from(server: str | None, api_key: str | None, agent_id: str | None, tls: bool | None) -> Settings:
    """Resolves the settings with the program's environment."""
    return resolve(os.environ, server, api_key, agent_id, tls)


def dial(settings: Settings, library: Any) -> Any:
    """Opens a channel of grpc or grpc.aio. It connects when it is first used, and reconnects whenever it must."""
    if settings.tls:
        return library.secure_channel(settings.target, grpc.ssl_channel_credentials(), options=CHANNEL_OPTIONS)
    return library.insecure_channel(settings.target, options=CHANNEL_OPTIONS)


def failed(failure: Any, settings: Settings) -> OpenIntentError:
    """Returns the error for a call of grpc or grpc.aio that failed."""
    return advised(error_of(failure.code(), failure.details(), failure.trailing_metadata()), settings)


def client_closed() -> OpenIntentError:
    """Returns the error for calls that are under way when the client is closed, and for calls after that."""
    return OpenIntentError("The client is closed.", code="CANCELLED")


def advance(steps: Steps[T], value: Any, error: BaseException | None) -> Effect:
    """Takes a rule one step further, with the result of its last effect or with its error."""
    if error is not None:
        return steps.throw(error)
    return steps.send(value)



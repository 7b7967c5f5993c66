"""What a person can do about a failure that comes from how a client is set up."""

from __future__ import annotations

import os
import shutil
import sysconfig

from ._settings import DEFAULT_SERVER, DEVELOPMENT_KEY, Settings
from .errors import OpenIntentError, UnavailableError

_NO_CONNECTION = ("failed to connect to all addresses", "DNS resolution failed")

NOT_GRPC = "NOT_GRPC"
"""The reason of the error for an address at which something answers that does not speak gRPC."""

# The words with which gRPC says what it met: a server of HTTP/1 in the first case, one of HTTP/2 in the second.
_HTTP1_ANSWER = "Trying to connect an http1.x server"
_HTTP2_ANSWER = "Received http2 header with status: 404"

_NAMED_DEFAULT = DEFAULT_SERVER.replace("127.0.0.1", "localhost")
_HOW_TO_GIVE_A_KEY = "Set OPENINTENT_API_KEY, or give the client an api_key."


def advised(error: OpenIntentError, settings: Settings) -> OpenIntentError:
    """Returns an error that says what to change in the settings when the failure comes from them, and else the same one."""
    if not error.reason and (_HTTP1_ANSWER in error.message or error.message.startswith(_HTTP2_ANSWER)):
        return UnavailableError(
            f"{settings.target} does not speak gRPC; it looks like the REST address. "
            f"Give the gRPC address ({DEFAULT_SERVER} by default).",
            code="UNAVAILABLE", reason=NOT_GRPC,
        )
    if not error.reason and error.message.startswith(_NO_CONNECTION):
        return _not_connected(error, settings)
    if error.reason == "API_KEY_MISSING":
        return _told(error, f"The server at {settings.target} needs an API key. {_HOW_TO_GIVE_A_KEY}")
    if error.reason == "API_KEY_UNKNOWN" and settings.api_key == DEVELOPMENT_KEY:
        return _told(
            error,
            f"The server at {settings.target} does not know {DEVELOPMENT_KEY}, the key for a server on this machine when no "
            f"other is given. {_HOW_TO_GIVE_A_KEY}",
        )
    return error


def _not_connected(error: OpenIntentError, settings: Settings) -> UnavailableError:
    """Returns the error of an attempt that got no connection. It says how to start a server when nobody listens on this
    machine."""
    text = error.message
    if settings.local and "refused" in text:
        where = "" if settings.target in (DEFAULT_SERVER, _NAMED_DEFAULT) else f" --grpc-addr {settings.target}"
        text = f"Nobody listens at {settings.target} (connection refused). Start a server with: {_program()} serve{where}"
    unavailable = UnavailableError(text, code="UNAVAILABLE")
    unavailable.unconnected = True
    return unavailable


def _program() -> str:
    """Returns the name that the server's program has here. The wheel calls it openintentd, because another project's package
    has a command openintent."""
    folders = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
    return "openintentd" if shutil.which("openintentd", path=folders) else "openintent"


def _told(error: OpenIntentError, text: str) -> OpenIntentError:
    return type(error)(text, code=error.code, reason=error.reason, metadata=error.metadata, violations=error.violations)

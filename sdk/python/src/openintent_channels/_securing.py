"""What a client says when its settings for TLS and the server's do not fit."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl

from ._settings import Settings
from .errors import OpenIntentError, UnavailableError

TLS_FAILED = "TLS_FAILED"
"""The reason of the error for a server that speaks no TLS while the client does, or the other way round, or whose
certificate is not trusted. Another attempt would not change that."""

_PROBE_SECONDS = 2.0
_HANDSHAKE = "handshake failed"
_WRONG_NAME = "Hostname Verification Check failed"
_UNTRUSTED = re.compile("CERTIFICATE_VERIFY_FAILED(?:: ([^:]+))?")
_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST")


def tls_failed(error: OpenIntentError, settings: Settings) -> UnavailableError | None:
    """Returns the error for a failure of TLS, with what to do about it; None for any other failure."""
    if error.reason or not settings.tls or (_HANDSHAKE not in error.message and _WRONG_NAME not in error.message):
        return None
    failed = f"TLS with the server at {settings.target} failed"
    if _WRONG_NAME in error.message:
        return _failed(f"{failed}: its certificate is for another name than {settings.target.rpartition(':')[0]}.")
    if found := _UNTRUSTED.search(error.message):
        return _failed(
            f"{failed}: its certificate is not trusted ({found[1] or 'unknown authority'}). Name a file with the "
            "certificates to trust in OPENINTENT_CA_FILE, or as ca_file."
        )
    if any(sign in error.message for sign in _NO_TLS):
        return _failed(
            f"The server at {settings.target} does not speak TLS, and this client does: give the address without https://, "
            "and no setting for TLS."
        )
    return _failed(f"{failed}: {error.message}")


def may_need_tls(error: OpenIntentError, settings: Settings) -> bool:
    """Whether a client without TLS may have met a server with it: something listens there, and does not speak to it."""
    return isinstance(error, UnavailableError) and error.unconnected and not error.reason and not (
        settings.tls or "refused" in error.message
    )


def speaks_tls(target: str) -> bool:
    """Whether a server begins a connection of TLS. It blocks for a few seconds at most, and sends nothing but a greeting."""
    host, _, port = target.rpartition(":")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    try:
        with contextlib.closing(socket.create_connection((host.strip("[]"), int(port)), _PROBE_SECONDS)) as plain:
            context.wrap_socket(plain).close()
    except ssl.SSLError as error:
        return "ALERT" in (error.reason or "")  # it refuses the handshake, in TLS's own words
    except OSError:
        return False
    return True


def needs_tls(settings: Settings) -> UnavailableError:
    """Returns the error of a client without TLS that met a server with it."""
    target = settings.target
    return _failed(
        f"The server at {target} speaks TLS, and this client does not: set OPENINTENT_TLS=1, or give the address as "
        f"https://{target}."
    )


def _failed(text: str) -> UnavailableError:
    return UnavailableError(text, code="UNAVAILABLE", reason=TLS_FAILED)

"""Where a server is: reading the address that somebody gave."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from .errors import InvalidArgumentError, Violation

_SCHEMES = {"http": False, "https": True}
_FOREIGN = frozenset("/?#@[]\\")
_LARGEST_PORT = 65_535


@dataclass(frozen=True, slots=True)
class Address:
    """An address of a server. `tls` is what its scheme says; None without a scheme."""

    target: str
    host: str
    tls: bool | None

    @property
    def is_loopback(self) -> bool:
        """Whether the server runs on this machine."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def read_address(setting: str, said: str) -> Address:
    """Reads `host:port`, `http://host:port` or `https://host:port`. Raises InvalidArgumentError, which names the setting."""
    scheme, separator, rest = said.partition("://")
    target = rest.removesuffix("/") if separator else said
    name, _, port = target.rpartition(":")
    bracketed = name.startswith("[") and name.endswith("]")
    host = name[1:-1] if bracketed else name
    if (separator and scheme not in _SCHEMES) or not _is_host(host, bracketed) or not _is_port(port):
        form = "host:port, http://host:port or https://host:port, with a port from 1 to 65535"
        raise bad_setting(setting, f"must be {form}, not {said!r}")
    return Address(target, host, _SCHEMES.get(scheme) if separator else None)


def bad_setting(setting: str, problem: str) -> InvalidArgumentError:
    """The refusal of a setting of a client."""
    return InvalidArgumentError(
        f"{setting} {problem}.", code="INVALID_ARGUMENT", violations=[Violation(setting, problem)]
    )


def _is_host(host: str, bracketed: bool) -> bool:
    plain = host.isprintable() and " " not in host and not _FOREIGN & set(host)
    return bool(host) and plain and (":" in host) == bracketed


def _is_port(port: str) -> bool:
    return port.isascii() and port.isdecimal() and 1 <= int(port) <= _LARGEST_PORT

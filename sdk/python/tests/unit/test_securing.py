"""Mistakes in TLS fail at once, with the reason and what to do."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from openintent_channels import Agent, AsyncOpenIntentClient, InvalidArgumentError, OpenIntentClient, UnavailableError
from openintent_channels._settings import resolve
from openintent_channels.agents import AgentBase
from unit.fake_server import in_loop

CERTIFICATE, KEY = Path(__file__).with_name("certificate.pem"), Path(__file__).with_name("key.pem")
"""A certificate for 127.0.0.1 and openintent.test, signed by itself, and its key."""


@contextlib.contextmanager
def listening(greet: Callable[[socket.socket], object]) -> Iterator[str]:
    """A server on this machine that greets each connection, and closes it."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection, contextlib.suppress(OSError):
                        greet(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def encrypted() -> Iterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE, KEY)
    context.set_alpn_protocols(["h2"])
    with listening(lambda plain: context.wrap_socket(plain, server_side=True).close()) as address:
        yield address


@pytest.fixture
def unencrypted() -> Iterator[str]:
    with listening(lambda plain: plain.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as address:
        yield address


def refusal(address: str, **options: Any) -> UnavailableError:
    with OpenIntentClient(address, retry_patience=60, **options) as client, pytest.raises(UnavailableError) as raised:
        client.get_channel("c")
    assert raised.value.reason == "TLS_FAILED"
    return raised.value


def test_a_client_without_tls_at_a_server_with_it(encrypted: str) -> None:
    assert refusal(encrypted).message == (
        f"The server at {encrypted} speaks TLS, and this client does not: set OPENINTENT_TLS=1, or give the address as "
        f"https://{encrypted}."
    )


@in_loop
async def test_the_client_for_asyncio_and_an_agent_say_the_same(encrypted: str) -> None:
    async with AsyncOpenIntentClient(encrypted, retry_patience=60) as client:
        with pytest.raises(UnavailableError, match="speaks TLS, and this client does not"):
            await client.get_channel("c")

    @Agent("me", server=encrypted)
    class Me(AgentBase): ...

    with pytest.raises(UnavailableError, match="speaks TLS, and this client does not"):
        await Me().serve()


def test_a_client_with_tls_at_a_server_without_it(unencrypted: str) -> None:
    assert f"The server at {unencrypted} does not speak TLS, and this client does" in refusal(f"https://{unencrypted}").message


def test_an_authority_that_is_not_trusted(encrypted: str) -> None:
    said = refusal(f"https://{encrypted}").message
    assert f"TLS with the server at {encrypted} failed: its certificate is not trusted (" in said
    assert said.endswith("Name a file with the certificates to trust in OPENINTENT_CA_FILE, or as ca_file.")


def test_another_name(encrypted: str) -> None:
    port = encrypted.rpartition(":")[2]
    said = refusal(f"localhost:{port}", ca_file=CERTIFICATE).message
    assert said == f"TLS with the server at localhost:{port} failed: its certificate is for another name than localhost."


def test_a_file_of_certificates_turns_tls_on_and_is_trusted(encrypted: str) -> None:
    settings = resolve({"OPENINTENT_CA_FILE": str(CERTIFICATE)}, encrypted, None, None, None)
    assert settings.tls
    assert settings.certificates == CERTIFICATE.read_bytes()
    assert not resolve({"OPENINTENT_CA_FILE": "/nowhere"}, "http://host:9", None, None, None).tls
    with OpenIntentClient(encrypted, ca_file=CERTIFICATE, retry_patience=0.1) as client:
        with pytest.raises(UnavailableError) as raised:  # the server greets and leaves, so TLS is not what failed
            client.get_channel("c")
        assert raised.value.reason == ""


def test_a_file_without_certificates_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="^ca_file must name a file with .*, and it cannot be read: "):
        OpenIntentClient("host:9", ca_file=tmp_path / "none.pem")
    with pytest.raises(InvalidArgumentError, match="^OPENINTENT_CA_FILE must name .* in PEM form, and .* has none"):
        resolve({"OPENINTENT_CA_FILE": __file__}, "host:9", None, None, None)

"""The server in a test: how it is found, started and ended."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from openintent_channels.testing import ServerError, find_program, run_server

pytest_plugins = ["pytester"]


def test_nothing_is_left_of_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with run_server() as server:
        server.peer("data-agent").stays_silent()
        host, _, port = server.grpc.rpartition(":")
        assert [*tmp_path.iterdir()]
    assert not [*tmp_path.iterdir()]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port))).close()


def listens(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port))).close()
    except OSError:
        return False
    return True


HOST = """
import sys
from openintent_channels.testing import run_server
with run_server() as server:
    print(server.grpc, flush=True)
    sys.stdin.read()
"""


def test_a_server_ends_with_a_process_that_is_killed(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", HOST], stdin=pipe, stdout=pipe, text=True, env=environment) as hosting:
        assert hosting.stdout
        address = hosting.stdout.readline().strip()
        assert listens(address)
        hosting.kill()
    end = time.monotonic() + 20
    while listens(address):
        assert time.monotonic() < end, "the server is still there"


def test_a_server_starts_soon() -> None:
    took = []
    for _ in range(3):
        before = time.monotonic()
        with run_server():
            took.append(time.monotonic() - before)
    assert min(took) < 3, took  # usually 0.3; the machine may be busy


def test_a_server_that_does_not_start_says_why() -> None:
    with pytest.raises(ServerError, match="(?s)did not start.*--max-streams must be above 0"), run_server(
        arguments=["--max-streams=0"]
    ):
        pass


def test_the_settings_of_whoever_tests_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENINTENT_API_KEYS", "another-key")
    with run_server() as server:
        assert server.client().intents.create("It serves").title == "It serves"


def program(folder: Path, name: str) -> Path:
    file = folder / name
    file.write_text("#!/bin/sh\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return file


def test_where_the_program_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENINTENT_PROGRAM", raising=False)
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path / "environment"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "environment" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    (tmp_path / "path").mkdir()
    (tmp_path / "environment").mkdir()
    with pytest.raises(ServerError, match="install the package openintentd"):
        find_program()
    for folder, name in (("path", "openintent"), ("path", "openintentd"), ("environment", "openintentd")):
        expected = program(tmp_path / folder, name)
        assert find_program() == str(expected)
    named = program(tmp_path, "named")
    monkeypatch.setenv("OPENINTENT_PROGRAM", str(named))
    assert find_program() == str(named)
    monkeypatch.setenv("OPENINTENT_PROGRAM", str(tmp_path / "none"))
    with pytest.raises(ServerError, match="OPENINTENT_PROGRAM must name"):
        find_program()


def test_the_log_is_shown_only_when_a_test_fails(pytester: pytest.Pytester) -> None:
    pytester.makeconftest('pytest_plugins = ["openintent_channels.testing"]')
    pytester.makepyfile(
        """
        def test_well(openintent_server, channel):
            assert channel.name == "test"

        def test_badly(openintent_server, intent):
            assert intent.title == "another"
        """
    )
    os.environ.setdefault("PYTHONPATH", os.pathsep.join(sys.path))
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    output = result.stdout.str()
    assert output.count("Log of the OpenIntent server") == 1
    assert "msg=listening" in output

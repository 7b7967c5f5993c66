"""The server's program: where it is, and one run of it for a test."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_STARTS_WITHIN = 30.0
_LOOK_SECONDS = 0.002


class ServerError(RuntimeError):
    """The server of a test was not found, did not start, or refused a call of the test kit."""


def find_program() -> str:
    """Returns the path of the server's program: the one that OPENINTENT_PROGRAM names, the installed package's, or
    `openintentd` or `openintent` on the PATH. Raises ServerError without any."""
    if named := os.environ.get("OPENINTENT_PROGRAM"):
        if found := shutil.which(named):
            return found
        raise ServerError(f"OPENINTENT_PROGRAM must name the server's program, and {named} is none that can be run")
    beside = os.pathsep.join({sysconfig.get_path("scripts"), str(Path(sys.executable).parent)})
    for name, path in (("openintentd", beside), ("openintentd", None), ("openintent", None)):
        if found := shutil.which(name, path=path):
            return found
    raise ServerError(
        "the server's program was not found: install the package openintentd, put openintent on the PATH, "
        "or name the program in OPENINTENT_PROGRAM"
    )


class Program:
    """A server that runs for a test, on free ports and a database of its own."""

    def __init__(self, arguments: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="openintent-test-"))
        self._log = self._folder / "log"
        try:
            self._process = self._begin(arguments, environment or {})
            self.http, self.grpc = self._await_addresses()
        except BaseException:
            self.stop()
            raise

    def _begin(self, arguments: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        own = {name: value for name, value in os.environ.items() if not name.startswith("OPENINTENT_")}
        own.update(TMPDIR=str(self._folder), **environment)
        command = [
            find_program(), "serve", "--http-addr=127.0.0.1:0", "--grpc-addr=127.0.0.1:0", "--log-format=text",
            f"--ready-file={self._ready}", "--until-input-ends", *arguments,
        ]
        with self._log.open("wb") as log:
            # The server's input ends with this process, however that ends, and then the server ends, too.
            return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=own, cwd=self._folder)

    @property
    def _ready(self) -> Path:
        return self._folder / "ready.json"

    def _await_addresses(self) -> tuple[str, str]:
        end = time.monotonic() + _STARTS_WITHIN
        while not self._ready.exists():
            if (code := self._process.poll()) is not None:
                raise ServerError(f"the server did not start (exit code {code}); it said:\n{self.log}")
            if time.monotonic() > end:
                raise ServerError(f"the server did not start within {_STARTS_WITHIN:g} s; it said:\n{self.log}")
            time.sleep(_LOOK_SECONDS)
        addresses = json.loads(self._ready.read_text())
        return addresses["http"], addresses["grpc"]

    @property
    def log(self) -> str:
        """What the server has said."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def stop(self) -> None:
        """Ends the server, and removes all that it wrote, which nobody needs any more. Stopping again does nothing."""
        process = getattr(self, "_process", None)
        if process is not None and process.poll() is None:
            process.kill()
            process.wait()
        if process is not None and process.stdin is not None:
            process.stdin.close()
        shutil.rmtree(self._folder, ignore_errors=True)

"""The log of a main program that has set up no logging goes to standard error."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading

import pytest

from openintent_channels._agent_log import AgentLog
from openintent_channels._console import console, without_stack
from openintent_channels.errors import OpenIntentError
from unit.playing import away

LOGGER = logging.getLogger("openintent_channels")


def set_up(monkeypatch: pytest.MonkeyPatch, *handlers: logging.Handler) -> None:
    """Has the program log to these handlers, and to none of the test's."""
    monkeypatch.setattr(logging.getLogger(), "handlers", list(handlers))


def test_a_main_program_without_logging_is_heard(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    set_up(monkeypatch)
    log = AgentLog("me", "host:9", lambda: 0.0)
    with console():
        log.connected(False)
        LOGGER.debug("a detail")
    log.lost("nobody hears this")
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith(" INFO agent me is connected to host:9 and receives\n")
    assert err.count("\n") == 1
    assert (LOGGER.handlers, LOGGER.level) == ([], logging.NOTSET)


def test_a_level_that_the_program_has_set_stays(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    set_up(monkeypatch)
    LOGGER.setLevel(logging.ERROR)
    log = AgentLog("me", "host:9", lambda: 0.0)
    with console():
        log.warn("is not well")
        log.gives_up(away())
    assert LOGGER.level == logging.ERROR
    LOGGER.setLevel(logging.NOTSET)
    assert capsys.readouterr().err.endswith(" ERROR agent me gives up: away (UNAVAILABLE)\n")


def test_logging_that_the_program_has_set_up_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = AgentLog("me", "host:9", lambda: 0.0)
    set_up(monkeypatch, logging.NullHandler())
    with console():
        log.warn("is not well")
    set_up(monkeypatch)
    monkeypatch.setattr(LOGGER, "handlers", [logging.NullHandler()])
    with console():
        log.warn("is not well")
    assert capsys.readouterr().err == ""


def test_only_the_main_thread_sets_up_logging(monkeypatch: pytest.MonkeyPatch) -> None:
    set_up(monkeypatch)
    handlers = list[logging.Handler]()

    def run() -> None:
        with console():
            handlers.extend(LOGGER.handlers)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert handlers == []


REFUSED = """
import logging, sys
from openintent_channels import Agent, AgentBase, UnauthenticatedError
from openintent_channels._membership import Membership

async def refuse(self):
    raise UnauthenticatedError("This key is not known.", code="UNAUTHENTICATED", reason="API_KEY_UNKNOWN")

Membership.register = refuse

@Agent("me", server="host:9", api_key="wrong")
class Me(AgentBase): ...

if "logging" in sys.argv:
    logging.basicConfig(filename="/dev/null")
Me.run()
"""


@pytest.mark.parametrize("logging_set_up", [False, True])
def test_an_error_that_ends_the_main_program_is_one_line(logging_set_up: bool) -> None:
    arguments = [sys.executable, "-c", REFUSED, *(["logging"] if logging_set_up else [])]
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False, env=found)
    assert ended.returncode == 1
    gives_up = [line for line in ended.stderr.splitlines() if "This key is not known. (API_KEY_UNKNOWN)" in line]
    assert len(gives_up) == 1
    assert "Traceback" not in ended.stderr
    if logging_set_up:
        assert ended.stderr == "UnauthenticatedError: This key is not known. (API_KEY_UNKNOWN)\n"


def test_other_errors_keep_their_stack(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    with pytest.raises(OpenIntentError) as raised, without_stack(False):
        raise away()
    other = ValueError("something else")
    sys.excepthook(ValueError, other, None)
    assert "ValueError: something else" in capsys.readouterr().err
    sys.excepthook(type(raised.value), raised.value, raised.tb)
    assert capsys.readouterr().err == "UnavailableError: away (UNAVAILABLE)\n"

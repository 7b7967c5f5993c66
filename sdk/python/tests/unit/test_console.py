"""The log of a main program that has set up no logging goes to standard error."""

from __future__ import annotations

import logging
import threading

import pytest

from openintent_channels._agent_log import AgentLog
from openintent_channels._console import console
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

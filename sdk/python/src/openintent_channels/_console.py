"""The log of a main program that has set up no logging."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
from collections.abc import Iterator
from types import TracebackType

from ._agent_log import logger
from .errors import OpenIntentError


@contextlib.contextmanager
def console() -> Iterator[bool]:
    """Writes what this package logs, from INFO on, to standard error meanwhile, unless the program has a handler for it. It
    does so in a main thread only: elsewhere, logging is the business of whoever began the thread. Yields whether it does."""
    if threading.current_thread() is not threading.main_thread() or logger.hasHandlers():
        yield False
        return
    handler, level = logging.StreamHandler(), logger.level
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(level or logging.INFO)
    try:
        yield True
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)


@contextlib.contextmanager
def without_stack(told: bool) -> Iterator[None]:
    """Has an error of this package that ends the main program end it without a stack, which would only show this package at
    work: the error itself says what is wrong. `told` says that standard error has it already. The exit status stays 1."""
    try:
        yield
    except OpenIntentError as error:
        if threading.current_thread() is threading.main_thread():
            _end_without_stack(error, told)
        raise


def _end_without_stack(ending: OpenIntentError, told: bool) -> None:
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if error is not ending:
            before(kind, error, trace)
        elif not told:
            print(f"{kind.__name__}: {error}", file=sys.stderr)

    sys.excepthook = hook

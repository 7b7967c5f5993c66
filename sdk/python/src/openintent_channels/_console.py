"""The log of a main program that has set up no logging."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator

from ._agent_log import logger


@contextlib.contextmanager
def console() -> Iterator[None]:
    """Writes what this package logs, from INFO on, to standard error meanwhile, unless the program has a handler for it. It
    does so in a main thread only: elsewhere, logging is the business of whoever began the thread."""
    if threading.current_thread() is not threading.main_thread() or logger.hasHandlers():
        yield
        return
    handler, level = logging.StreamHandler(), logger.level
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(level or logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)

"""The time by which clients and agents wait: the process's own, unless a test moves it (`openintent_channels.testing`)."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol


class Moved(Protocol):
    """Time that a test moves."""

    def now(self) -> float: ...

    async def pause(self, seconds: float, *ends: asyncio.Future[Any], working: bool = True) -> None: ...

    def wait(self, event: threading.Event, seconds: float, working: bool) -> bool: ...

    def begins(self, work: asyncio.Task[Any] | threading.Thread) -> None: ...

    def calling(self, method: str) -> AbstractContextManager[None]: ...


_moved: Moved | None = None


@contextlib.contextmanager
def moved_by(moved: Moved) -> Iterator[None]:
    """Lets a test move the time of this process, for the length of a block."""
    global _moved  # noqa: PLW0603
    before, _moved = _moved, moved
    try:
        yield
    finally:
        _moved = before


def now() -> float:
    """Returns the seconds since some moment; never goes back."""
    return time.monotonic() if _moved is None else _moved.now()


async def pause(seconds: float, *ends: asyncio.Future[Any], working: bool = True) -> None:
    """Waits for so long, or until one of the `ends` is done. `working` says that a test's time does not go on before this
    task has done what it does next."""
    if _moved is not None:
        await _moved.pause(seconds, *ends, working=working)
    elif not ends:
        await asyncio.sleep(seconds)
    else:
        await asyncio.wait(ends, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)


def wait(event: threading.Event, seconds: float | None, *, working: bool = False) -> bool:
    """Waits until an event is set, at most for so long. Reports whether it is."""
    if _moved is None or seconds is None:
        return event.wait(seconds)
    return _moved.wait(event, seconds, working)


def begins(work: asyncio.Task[Any] | threading.Thread) -> None:
    """Notes that something begins that will wait: a test's time does not go on before it does."""
    if _moved is not None:
        _moved.begins(work)


def calling(method: str) -> AbstractContextManager[None]:
    """Returns a context for one attempt at a call."""
    return contextlib.nullcontext() if _moved is None else _moved.calling(method)

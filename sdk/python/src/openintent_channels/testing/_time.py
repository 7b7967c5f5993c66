"""Time that flows, and that a test moves besides."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

_SHORT_CALLS = ("Heartbeat", "RenewLease", "ClaimMessage")
"""Calls that keep something, none of which waits for anybody."""

_SETTLES_WITHIN = 2.0
_LOOK_SECONDS = 0.005
_CYCLES = 5


@dataclass(eq=False, slots=True)
class _Sleeper:
    due: float
    wake: Callable[[], None]
    holder: Any


class MovedTime:
    """The time of a test's process: what a client holds is renewed by it, and agents send their heartbeats by it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._moved = 0.0
        self._sleepers: set[_Sleeper] = set()
        self._working: set[Any] = set()
        self._calls = 0
        self._loops: set[asyncio.AbstractEventLoop] = set()

    def now(self) -> float:
        """Returns the seconds since some moment."""
        return time.monotonic() + self._moved

    async def pause(self, seconds: float, *ends: asyncio.Future[Any], working: bool = True) -> None:
        """Waits until so much time has passed, or until one of the `ends` is done."""
        loop = asyncio.get_running_loop()
        woken: asyncio.Future[None] = loop.create_future()
        task = asyncio.current_task()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the loop was closed
                loop.call_soon_threadsafe(_wake, woken, task, self._ended)

        with self._asleep(_Sleeper(self.now() + seconds, wake, task if working else None)):
            self._loops.add(loop)
            await asyncio.wait([woken, *ends], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)

    def wait(self, event: threading.Event, seconds: float, working: bool = False) -> bool:
        """Waits until an event is set, at most until so much time has passed. Reports whether it is set."""
        due = self.now() + seconds
        with self._asleep(_Sleeper(due, lambda: None, threading.current_thread() if working else None)):
            while not event.wait(max(0.0, min(_LOOK_SECONDS, due - self.now()))):
                if self.now() >= due:
                    return False
        return True

    @contextlib.contextmanager
    def calling(self, method: str) -> Iterator[None]:
        """Notes that a call is under way."""
        counts = method in _SHORT_CALLS
        self._count(counts)
        try:
            yield
        finally:
            self._count(-counts)

    def begins(self, work: asyncio.Task[Any] | threading.Thread) -> None:
        """Notes that something begins that will wait by this time."""
        with self._changed:
            self._working.add(work)

    def until_next(self) -> float:
        """Returns the seconds until something is to be done; infinite if there is nothing."""
        with self._changed:
            return min((sleeper.due for sleeper in self._sleepers), default=float("inf")) - self.now()

    def move(self, seconds: float) -> None:
        """Lets so much time pass, and returns when what fell due in this process is done, or after two seconds."""
        with self._changed:
            self._moved += seconds
            due = [sleeper for sleeper in self._sleepers if sleeper.due <= self.now()]
            self._working.update(sleeper.holder for sleeper in due if sleeper.holder is not None)
        for sleeper in due:
            sleeper.wake()
        self.settle()

    def settle(self) -> None:
        """Returns when nothing is under way that renews something, or after two seconds."""
        end = time.monotonic() + _SETTLES_WITHIN
        while not self._settled(end - time.monotonic()) and time.monotonic() < end:
            pass

    def belongs_to_this_thread(self) -> bool:
        """Whether agents or clients of this thread's event loop wait by this time, so that the thread must not wait."""
        with contextlib.suppress(RuntimeError):
            return asyncio.get_running_loop() in self._loops
        return False

    def _settled(self, seconds: float) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: not self._busy(), max(0.0, seconds))
        for loop in [*self._loops]:  # what a task that has ended has set off may not have begun
            if loop.is_closed() or not loop.is_running():
                self._loops.discard(loop)
                continue
            with contextlib.suppress(Exception):
                asyncio.run_coroutine_threadsafe(_cycle(), loop).result(max(0.0, seconds))
        with self._changed:
            return not self._busy()

    def _busy(self) -> bool:
        """Whether something is under way. The lock is held."""
        self._working = {holder for holder in self._working if _lives(holder)}
        return bool(self._working) or self._calls > 0

    @contextlib.contextmanager
    def _asleep(self, sleeper: _Sleeper) -> Iterator[None]:
        with self._changed:
            self._working.discard(sleeper.holder)
            self._sleepers.add(sleeper)
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._sleepers.discard(sleeper)

    def _ended(self, _: Any) -> None:
        with self._changed:
            self._changed.notify_all()

    def _count(self, by: int) -> None:
        if by:
            with self._changed:
                self._calls += by
                self._changed.notify_all()


def _wake(
    woken: asyncio.Future[None], task: asyncio.Task[Any] | None, ended: Callable[[asyncio.Task[Any]], None]
) -> None:
    if not woken.done():
        woken.set_result(None)
    if task is not None:
        task.add_done_callback(ended)


def _lives(holder: asyncio.Task[Any] | threading.Thread) -> bool:
    return holder.ident is None or holder.is_alive() if isinstance(holder, threading.Thread) else not holder.done()


async def _cycle() -> None:
    for _ in range(_CYCLES):
        await asyncio.sleep(0)

"""Agents that run beside a test that blocks: in one event loop, in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from functools import lru_cache
from typing import Any, TypeVar

from ..agents import AgentBase, _Start

T = TypeVar("T")

_WITHIN = 10.0
_CYCLES = 5


class Apart:
    """An agent that runs beside the test."""

    def __init__(self, agent: AgentBase, server: str, key: str) -> None:
        self.agent = agent
        self._start = _Start(server=server, api_key=key, tls=False, watched=True)
        self._staying: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Starts the agent, and returns when it receives. Raises the error that kept it from that."""
        _run(self._begin()).result(_WITHIN)

    def leave(self) -> None:
        """Leaves, and returns when that is done. An agent that has died has left. Leaving again does nothing."""
        _run(self._end()).result(_WITHIN)

    async def _begin(self) -> None:
        await self.agent._start(self._start)
        self._staying = asyncio.create_task(self.agent._stay())
        for _ in range(_CYCLES):  # until it waits for its first heartbeat
            await asyncio.sleep(0)

    async def _end(self) -> None:
        if self._staying is not None:
            self.agent.leave()
            with contextlib.suppress(Exception):  # it may have died before
                await self._staying


def _run(work: Coroutine[Any, Any, T]) -> Future[T]:
    return asyncio.run_coroutine_threadsafe(work, _loop())


@lru_cache(maxsize=1)
def _loop() -> asyncio.AbstractEventLoop:
    """The loop of all of them. It is never closed: gRPC passes events on between the loops of a process, even to closed
    ones."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="openintent-testing", daemon=True).start()
    return loop

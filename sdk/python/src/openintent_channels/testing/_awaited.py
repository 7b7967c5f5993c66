"""What blocks, to be awaited."""

from __future__ import annotations

import asyncio
from typing import Any

_CYCLES = 5


class Awaited:
    """The methods of something that blocks, to be awaited: each runs in a thread."""

    def __init__(self, blocking: Any) -> None:
        self._blocking = blocking

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._blocking, name)

        async def call(*arguments: Any, **named: Any) -> Any:
            for _ in range(_CYCLES):  # what was begun before goes first
                await asyncio.sleep(0)
            return await asyncio.to_thread(method, *arguments, **named)

        return call

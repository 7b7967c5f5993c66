"""What an agent says that it is doing, and whether the server has heard it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from .errors import InvalidArgumentError, Violation

LONGEST = 200
"""How many characters a status note has at most."""

PAUSE = 1.0
"""The least time, in seconds, from one heartbeat to the next, however often the note changes."""


class StatusNote:
    """The note of one agent. Any thread may set it; the event loop of the agent tells the server."""

    def __init__(self) -> None:
        self._text: str | None = None
        self._untold = False
        self._wake: Callable[[], object] | None = None

    def set(self, text: str) -> None:
        """Says something new; an empty text takes the note away. Raises InvalidArgumentError for one that is too long."""
        if len(text) > LONGEST:
            problem = f"must have at most {LONGEST} characters, and this one has {len(text)}"
            raise InvalidArgumentError(
                f"The status note {problem}.", code="INVALID_ARGUMENT", reason="INVALID_FIELD",
                violations=[Violation("status_note", problem)],
            )
        self._text, self._untold = text, True
        if self._wake is not None:
            with contextlib.suppress(RuntimeError):  # the loop of the last run has ended
                self._wake()

    @property
    def next(self) -> str | None:
        """The note that the server has not heard, or None."""
        return self._text if self._untold else None

    def told(self, text: str | None) -> None:
        """Notes that the server has heard a note, or refuses it."""
        if text == self._text:
            self._untold = False

    def again(self) -> None:
        """Notes that the server has forgotten the note, as it does when the agent registers anew."""
        self._untold = self._text is not None

    async def changed(self) -> None:
        """Waits until there is a note that the server has not heard."""
        loop, event = asyncio.get_running_loop(), asyncio.Event()
        self._wake = lambda: loop.call_soon_threadsafe(event.set)
        while not self._untold:
            await event.wait()
            event.clear()

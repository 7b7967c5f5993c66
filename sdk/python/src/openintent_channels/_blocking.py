"""What only threads can do, for the modules generated from those named `async`: the counterpart of `_awaiting`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import grpc

from . import _pace
from ._connections import Stubs, client_closed, dial, failed, secured
from ._effects import Accepted, Effect, Invoke, Open, Pause, Receive
from ._settings import Settings


class Transport:
    """What carries out effects for any number of threads."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._metadata = settings.metadata
        self._channel = dial(settings, grpc)
        self._stubs = Stubs(self._channel)
        self._closed = threading.Event()

    def close(self) -> None:
        """Ends all calls, pauses and streams, and refuses new ones from then on. Closing again does nothing."""
        self._closed.set()
        self._channel.close()

    def perform(self, effect: Effect) -> Any:
        """Carries out one effect. Raises OpenIntentError when the server refuses it."""
        if isinstance(effect, Pause) and not _pace.wait(self._closed, effect.seconds):
            return None
        if self._closed.is_set():
            raise client_closed()
        try:
            match effect:  # the most frequent first
                case Invoke():
                    return self._stubs.of(effect.method)(
                        effect.request, timeout=effect.timeout, metadata=self._metadata + effect.metadata
                    )
                case Receive(stream):
                    return next(stream, None)  # type: ignore[call-overload]
                case Open():
                    return self._stubs.of(effect.method)(effect.request, metadata=self._metadata)
                case Accepted(stream):
                    return dict(stream.initial_metadata() or ())  # type: ignore[attr-defined]
        except grpc.RpcError as failure:
            error = client_closed() if self._closed.is_set() else failed(failure, self._settings)
            raise secured(error, self._settings) from None
        raise AssertionError(f"{effect} is not an effect of a call")


Turn = threading.Lock
"""Lets one caller at a time into a block of `with`."""

Guard = threading.RLock
"""Keeps two threads out of a block of `with`."""


class Signal:
    """Tells who waits that something has changed."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def give(self) -> None:
        """Tells it."""
        self._event.set()

    def clear(self) -> None:
        """Takes it back: who waits from now on waits for the next one."""
        self._event.clear()

    def wait(self, seconds: float | None) -> bool:
        """Waits until it is told, at most for so long. Reports whether it was."""
        return _pace.wait(self._event, seconds)


class Beside:
    """Work that goes on beside a block of `with`, in a thread. Python cannot stop a block from outside."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._ended = threading.Event()
        self._working: threading.Thread | None = None

    def begin(self, work: Callable[[], None]) -> None:
        """Begins the work."""
        self._ended.clear()
        self._working = threading.Thread(target=work, name=self._name, daemon=True)
        _pace.begins(self._working)
        self._working.start()

    def goes_on_after(self, seconds: float) -> bool:
        """Waits for so long, or until the block ends. Reports whether it has not ended."""
        return not _pace.wait(self._ended, seconds, working=True)

    def stop_block(self) -> None:
        """Does nothing."""

    def end(self) -> None:
        """Ends the work, and waits until it has ended."""
        self._ended.set()
        if self._working is not None:
            self._working.join()

    def has_stopped_block(self, kind: type[BaseException] | None) -> bool:
        """Reports that the work did not stop the block."""
        return False

"""Following a channel: from now on, or from a position on, until it is closed and drained."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from . import _methods as methods
from ._calls import Calls
from ._effects import Accepted, Began, Emit, Open, Pause, Receive, Steps, Stream
from ._generated import messages_pb2
from ._retrying import is_passing
from .attention import given_attention
from .conversations import annotation_of
from .errors import ChannelClosedError, OpenIntentError
from .models import message_of

_POSITION = "openintent-position"
_REMEMBERED = 10_000


@dataclass(slots=True)
class Following:
    """The rule of following. After a lost connection, the next stream goes on after the position of the last message. The
    rule remembers the newest ids too: a request from before the cursor does not move the position, and may have come
    already."""

    calls: Calls

    def follow(
        self, channel_id: str, after: int | None, include_own: bool, include: Sequence[str] = ()
    ) -> Steps[None]:
        """Emits each message once, in order, and with them the annotations, if they are included. The first stream must be
        accepted within the patience; after that the server may be away for as long as it likes."""
        cursor, began, given = after, False, Memory(_REMEMBERED)
        waits, deadline = self.calls.waits(), self.calls.deadline()
        while True:
            request = messages_pb2.SubscribeRequest(channel_id=channel_id, after_position=cursor, include=include)
            stream: Stream = yield Open(methods.SUBSCRIBE, request)
            try:
                header = yield Accepted(stream)
                if _POSITION in header:
                    waits.succeeded()
                    self.calls.answered()
                    cursor = int(header[_POSITION]) if cursor is None else cursor
                    if not began:
                        began = True
                        yield Began()
                while (delivery := (yield Receive(stream))) is not None:
                    cursor = max(cursor or 0, delivery.position)
                    if delivery.HasField("annotation"):
                        yield Emit(annotation_of(delivery.annotation))
                    if not delivery.HasField("message") or not given.add(delivery.message.id):
                        continue
                    if include_own or delivery.message.sender != self.calls.sender:
                        yield Emit(message_of(delivery.message, delivery.position, given_attention(delivery)))
                wait = waits.after()
            except ChannelClosedError:
                if not began:
                    yield Began()
                return
            except OpenIntentError as error:
                wait = waits.after(error)
                if not is_passing(error):
                    raise
                if not began:
                    self.calls.again(error, wait, deadline)
            finally:
                stream.cancel()
            yield Pause(wait)


class Memory:
    """Remembers the newest of the ids that were added to it."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._ids: OrderedDict[str, None] = OrderedDict()

    def add(self, id: str) -> bool:
        """Adds an id. Returns False when it is remembered already."""
        if id in self._ids:
            return False
        self._ids[id] = None
        if len(self._ids) > self._capacity:
            self._ids.popitem(last=False)
        return True

    def __contains__(self, id: str) -> bool:
        return id in self._ids

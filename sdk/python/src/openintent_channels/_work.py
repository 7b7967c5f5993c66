"""Which messages an agent works on, and which deliveries are done with. Nothing here waits."""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field

Number = tuple[str, int]
"""A subscription's id and the number of one of its deliveries."""

_REMEMBERED = 10_000
_PAGE = 1_000


@dataclass(slots=True, eq=False)
class Delivery:
    """One arrival of a delivery, and how much of what came with it has not ended. It is acknowledged when all has."""

    number: Number
    left: int = 1


@dataclass(slots=True)
class Work:
    """Recognizes repetitions, so that one process handles a message once. It remembers the newest ids of the messages that
    were handled. A delivery of a message that is being handled is done with when that message is."""

    _open: dict[str, list[Delivery]] = field(default_factory=dict)
    _done: OrderedDict[str, None] = field(default_factory=OrderedDict)
    _acknowledged: deque[Number] = field(default_factory=deque)
    _expected: set[str] = field(default_factory=set)
    """The messages that were found in the inbox while their deliveries were on their way."""

    def admit(self, message_id: str, delivery: Delivery | None) -> bool:
        """Notes a delivery, or with None a message that was found another way. Returns True when it is to be handled."""
        if delivery is not None:
            self._expected.discard(message_id)
        if message_id in self._done:
            self.pass_over(delivery)
            return False
        fresh = message_id not in self._open
        deliveries = self._open.setdefault(message_id, [])
        if delivery is not None:
            deliveries.append(delivery)
        return fresh

    def expect(self, message_id: str) -> None:
        """Notes that the delivery of a message that is handled is on its way, unless it has come already."""
        if not self._open[message_id] and len(self._expected) < _REMEMBERED:
            self._expected.add(message_id)

    @property
    def expects(self) -> bool:
        """Whether any such delivery has not come."""
        return bool(self._expected)

    def pass_over(self, delivery: Delivery | None) -> None:
        """Notes that a delivery needs no handling."""
        if delivery is not None:
            self._end(delivery)

    def _end(self, *deliveries: Delivery) -> None:
        for delivery in deliveries:
            delivery.left -= 1
            if delivery.left <= 0:
                self._acknowledged.append(delivery.number)

    def finish(self, message_id: str) -> None:
        """Notes that a message is handled and its answer stored."""
        self._end(*self._open.pop(message_id, ()))
        self._done[message_id] = None
        if len(self._done) > _REMEMBERED:
            self._done.popitem(last=False)

    def set_aside(self, message_id: str) -> None:
        """Notes that a message waits for another turn. Its deliveries are done with: the inbox has it until it is
        answered."""
        self._expected.discard(message_id)
        self._end(*self._open[message_id])
        self._open[message_id] = []

    def leave(self, message_id: str) -> None:
        """Forgets a message that waited for another turn and gets none in this process."""
        self._expected.discard(message_id)
        self._end(*self._open.pop(message_id, ()))

    def drop(self, message_id: str) -> None:
        """Forgets a message whose handling came to nothing: it will be delivered again."""
        self._expected.discard(message_id)
        self._open.pop(message_id, None)

    @property
    def unacknowledged(self) -> int:
        """How many deliveries are done with and not yet taken to be acknowledged."""
        return len(self._acknowledged)

    def acknowledgeable(self) -> tuple[str, list[int]] | None:
        """Takes the next deliveries that are done with: up to 1,000 of one subscription. Returns None without any."""
        if not self._acknowledged:
            return None
        subscription = self._acknowledged[0][0]
        numbers: list[int] = []
        while self._acknowledged and self._acknowledged[0][0] == subscription and len(numbers) < _PAGE:
            numbers.append(self._acknowledged.popleft()[1])
        return subscription, numbers

    def put_back(self, subscription: str, numbers: list[int]) -> None:
        """Returns deliveries that were taken. Nobody knows whether they are acknowledged, so they are to be once more."""
        self._acknowledged.extendleft((subscription, number) for number in reversed(numbers))

"""Which messages a mailbox holds, which of them come first, and which deliveries are done with. Nothing here waits."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from .attention import Attention
from .models import Message

_REMEMBERED = 10_000
_PAGE = 1_000
_FIRST_TURN, _LONGEST_TURN = 1.0, 10.0


def needs_claim(message: Message) -> bool:
    """Whether only the holder of a claim may answer a message: a request to a role that takes an exact number of answers."""
    exact = message.collect == "one" or isinstance(message.collect, dict)
    return exact and message.message_type == "request" and (message.to or "").startswith("role:")


@dataclass(slots=True, eq=False)
class Letter:
    """A message that a mailbox holds. `came` is when it came, on a clock that only runs forward, and `read` when its
    content was read last."""

    message: Message
    attention: Attention | None
    intent_id: str
    channel_name: str
    attempt: int
    came: float
    read: float
    numbers: set[int] = field(default_factory=set)
    """The numbers of its deliveries; none for what was found in the inbox."""
    taken: bool = False
    not_before: float = 0.0
    turns: int = 0

    @property
    def needs_claim(self) -> bool:
        """Whether only the holder of a claim may answer it."""
        return needs_claim(self.message)

    @property
    def waits_for_answer(self) -> bool:
        """Whether somebody waits for the agent to answer."""
        policy = self.attention.policy if self.attention else None
        asks = self.message.message_type == "request" and policy != "must_not_respond"
        return asks or policy == "must_respond"

    @property
    def rank(self) -> tuple[int, float, int, str]:
        """The place of the message among others: urgent ones first, then those that wait for an answer, and each by its
        position. Positions of different intents do not compare, so the time goes before them; within an intent it rises
        with them."""
        priority = self.attention.priority if self.attention else self.message.priority
        group = 0 if priority == "urgent" else 1 if self.waits_for_answer else 2
        return group, self.message.created_at.timestamp(), self.message.position or 0, self.message.id

    def is_over(self, now: float) -> bool:
        """Whether its time is over, so that nobody waits for an answer."""
        left = self.attention.deadline_ms if self.attention else None
        return left is not None and now >= self.came + left / 1_000

    def put_off(self, now: float) -> None:
        """Puts the message off because others hold the claims on it: for longer and longer."""
        self.not_before = now + min(_FIRST_TURN * 2.0 ** min(self.turns, 10), _LONGEST_TURN)
        self.turns += 1


@dataclass(slots=True)
class Mail:
    """The messages that a mailbox holds: those that wait, and those that were taken and not settled. It remembers the
    newest ids of what was settled, so that what comes again is not shown again."""

    _letters: dict[str, Letter] = field(default_factory=dict)
    _done: OrderedDict[str, None] = field(default_factory=OrderedDict)
    _finished: list[int] = field(default_factory=list)

    def arrive(self, letter: Letter, number: int | None) -> bool:
        """Takes in a message. Returns whether it is new."""
        known = self._letters.get(letter.message.id)
        if known is not None:
            if not known.numbers:  # it was found in the inbox, which does not say the attempt
                known.attempt = max(known.attempt, letter.attempt)
            if number is not None:
                known.numbers.add(number)
            return False
        if letter.message.id in self._done:
            self.pass_over(number)
            return False
        if number is not None:
            letter.numbers.add(number)
        self._letters[letter.message.id] = letter
        return True

    def pass_over(self, number: int | None) -> None:
        """Notes that a delivery is not for the mailbox."""
        if number is not None:
            self._finished.append(number)

    def waiting(self, now: float) -> list[Letter]:
        """Returns what waits, the most important first."""
        return sorted((x for x in self._letters.values() if not x.taken and x.not_before <= now), key=lambda x: x.rank)

    def next_turn(self, now: float) -> float | None:
        """Returns in how many seconds the next message that was put off has its turn; None: there is none."""
        times = [x.not_before - now for x in self._letters.values() if not x.taken and x.not_before > now]
        return min(times, default=None)

    def letter(self, message_id: str) -> Letter | None:
        """Returns a message that is held."""
        return self._letters.get(message_id)

    def put_back(self, message_id: str) -> None:
        """Lets a message that was taken wait again."""
        letter = self._letters.get(message_id)
        if letter is not None and letter.taken:
            letter.taken = False
            letter.attempt += 1

    def finish(self, message_id: str) -> None:
        """Notes that a message is done with, whether it has come or is about to. Its deliveries are to be acknowledged."""
        letter = self._letters.pop(message_id, None)
        if letter is not None:
            self._finished.extend(letter.numbers)
        self._done[message_id] = None
        if len(self._done) > _REMEMBERED:
            self._done.popitem(last=False)

    def stand_by(self) -> None:
        """Forgets what waits and what is to be acknowledged: another process has it now. What was taken stays."""
        self._letters = {name: letter for name, letter in self._letters.items() if letter.taken}
        self._finished.clear()

    @property
    def unacknowledged(self) -> int:
        """How many deliveries are done with and not acknowledged."""
        return len(self._finished)

    def acknowledgeable(self) -> list[int]:
        """Takes the next deliveries that are done with, up to 1,000."""
        page, self._finished = sorted(self._finished)[:_PAGE], sorted(self._finished)[_PAGE:]
        return page

    def put_back_numbers(self, numbers: Iterable[int]) -> None:
        """Returns deliveries that could not be acknowledged."""
        self._finished.extend(numbers)

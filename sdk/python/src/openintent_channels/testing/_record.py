"""What was said in an intent: to be read, and to be asserted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

Wanted = Any
"""A value that must be equal, or a function that returns whether a value will do."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message as the record has it. `to` is None if it is to everyone, and `dispositions` says, by recipient, what became
    of it."""

    id: str
    channel_id: str
    channel: str
    sender: str
    to: str | None
    message_type: str
    payload: dict[str, Any] = field(hash=False)
    correlation_id: str | None
    subject: str | None
    created_at: str
    dispositions: dict[str, str] = field(hash=False, default_factory=dict)

    def __str__(self) -> str:
        to = f" to {self.to}" if self.to else ""
        became = "".join(f"; {agent}: {word}" for agent, word in sorted(self.dispositions.items()))
        return f"{self.sender}{to} on {self.channel}, {self.message_type}: {self.payload}{became}"


@dataclass(frozen=True, slots=True)
class Heard:
    """A message as a scripted peer got it."""

    id: str
    channel_id: str
    channel: str
    sender: str
    message_type: str
    payload: dict[str, Any] = field(hash=False)


def is_as(value: Any, wanted: Wanted) -> bool:
    """Whether a value is equal to what is wanted, or will do for a function."""
    return bool(wanted(value) if callable(wanted) else value == wanted)


def matches(message: Said | Heard, wanted: dict[str, Wanted]) -> bool:
    """Whether a message has all that is wanted, by the names of its fields."""
    return all(is_as(getattr(message, name), value) for name, value in wanted.items())


def check_names(kind: Any, wanted: dict[str, Wanted]) -> None:
    """Raises TypeError for a field that such messages do not have."""
    known = [field.name for field in fields(kind)]
    for name in wanted:
        if name not in known:
            raise TypeError(f"a message has no {name!r}; it has {', '.join(known)}")


def described(wanted: dict[str, Wanted]) -> str:
    """Says what is wanted."""
    return ", ".join(f"{name} {_name(value)}" for name, value in wanted.items()) or "any message"


def listed(messages: Sequence[Said | Heard]) -> str:
    """Lists messages, each on a line of its own."""
    return "\n".join(f"  {message}" for message in messages) or "  nothing"


def _name(value: Wanted) -> str:
    return f"as {getattr(value, '__name__', 'a function')} wants it" if callable(value) else repr(value)

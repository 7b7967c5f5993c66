"""How a model is shown what others wrote: one line of JSON, in which the server's facts come first and each text of the
sender is the value of one member, which no text can end. The doors of the server show it in the same way
(`sdk/scenarios/vectors/fence.json` holds both to that).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from .attention import Attention
from .models import Message

_LARGEST_INTEGER = 2**53 - 1
_SMALLEST, _LARGEST = 1e-6, 1e21
_LINE_ENDS = {"\u2028": "\\u2028", "\u2029": "\\u2029"}


def fence(message: Message, attention: Attention | None, room: int | None = None) -> str:
    """Returns a message as a model is shown it, with at most `room` bytes of its payload; None: with the whole of it."""
    return _line(_facts(message, attention), _shown(message, room), message)


def fence_part(message: Message, start: int, room: int) -> tuple[str, int | None]:
    """Returns a message with the part of its payload that begins at a byte and has at most `room` bytes, and the byte at
    which the next part begins; None: there is none."""
    content, is_text = content_of(message.payload)
    whole = content.encode()
    start = _boundary(whole, min(max(start, 0), len(whole)))
    part = _beginning(whole[start:], room)
    end = start + len(part.encode())
    shown = _shown(message, room)
    if start:
        shown = {"cut_from_bytes": len(whole)}
    following = end if end < len(whole) else None
    if following is not None:
        shown = {"cut_from_bytes": len(whole), "cursor": str(following), **shown}
    if start:
        shown["text" if is_text else "payload_part"] = part
    return _line(_facts(message, None), shown, message), following


def fitted(message: Message, attention: Attention | None, most: int) -> str:
    """Returns a message as a model is shown it, in at most so many characters. A message that is cut says how to read it."""
    whole = fence(message, attention)
    if len(whole) <= most:
        return whole
    note = f'\nThis message is cut: read("{message.id}") shows it from its beginning, in parts.'
    for shorter, judged in _shorter(message, attention):
        if line := _longest(lambda room, m=shorter, a=judged: fence(m, a, room), shorter, most - len(note)):
            return line + note
    return note.strip()


def fitted_part(message: Message, start: int, most: int) -> str:
    """Returns the part of a message that begins at a byte, in at most so many characters. It says how to go on."""

    def shown(room: int) -> str:
        line, following = fence_part(message, start, room)
        if following is None:
            return line
        return f'{line}\nThere is more: read("{message.id}", "{following}") goes on.'

    return _longest(shown, message, most) or shown(_LEAST_PART)


_LEAST_PART = 100
"""How many bytes a part has at least, so that whoever reads on comes to the end."""


def content_of(payload: Mapping[str, Any]) -> tuple[str, bool]:
    """Returns a payload as a model reads it: the text in `{"text": T}`, and the JSON of any other; and whether it is a
    text."""
    if len(payload) == 1 and isinstance(text := payload.get("text"), str):
        return text, True
    return canonical(payload), False


def canonical(value: Any) -> str:
    """Writes JSON as the server does: ordered members, no spaces, and numbers as ECMAScript prints them, but integers that a
    double does not tell apart with an exponent."""
    if isinstance(value, Mapping):
        members = sorted(value.items(), key=lambda member: member[0].encode("utf-16-be"))
        return "{" + ",".join(f"{_quoted(key)}:{canonical(member)}" for key, member in members) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(canonical(member) for member in value) + "]"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _number(float(value))
    return json.dumps(value)


def _number(value: float) -> str:
    size = abs(value)
    if size == 0:
        return "0"
    if value.is_integer() and size <= _LARGEST_INTEGER:
        return str(int(value))
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    figures = "".join(map(str, digits))
    point = len(figures) + int(exponent)  # where the decimal point is, counted from the first figure
    if _SMALLEST <= size < _LARGEST and size <= _LARGEST_INTEGER:
        text = f"{figures[:point]}.{figures[point:]}" if point > 0 else "0." + "0" * -point + figures
    else:
        fraction = f".{figures[1:]}" if len(figures) > 1 else ""
        text = f"{figures[0]}{fraction}e{point - 1:+d}"
    return f"-{text}" if sign else text


def _facts(message: Message, attention: Attention | None) -> dict[str, Any]:
    """Returns what the server vouches for. What is false or empty is left out."""
    answers = message.correlation_id if message.message_type == "response" else None
    facts: dict[str, Any] = {
        "id": message.id,
        "from": message.sender,
        "from_kind": message.sender_kind,
        "to": message.to,
        "type": message.message_type,
        "channel": message.channel_id,
        "at": _moment(message.created_at),
        "answers": answers,
        "thread": message.thread_id if message.thread_id != message.id else None,
        "expires": _moment(message.expires_at),
        "edited": message.edited_at is not None,
        "deleted": message.deleted_at is not None,
    }
    if attention is not None:
        facts["policy"], facts["why"] = attention.policy, attention.reason
        facts["claimed_by"] = attention.claim.holder if attention.claim else None
    always = ("id", "from", "type", "at")
    return {name: value for name, value in facts.items() if value or name in always}


def _shown(message: Message, room: int | None) -> dict[str, Any]:
    """Returns the payload, or its beginning, under the name that says which."""
    content, is_text = content_of(message.payload)
    whole = content.encode()
    if room is None or len(whole) <= room:
        return {"text": content} if is_text else {"payload": content}
    return {"cut_from_bytes": len(whole), "text" if is_text else "payload_begins": _beginning(whole, room)}


def _line(facts: dict[str, Any], shown: dict[str, Any], message: Message) -> str:
    """Writes the line: facts, what the sender said of the message, and its payload."""
    members = dict(facts)
    for name in ("cut_from_bytes", "cursor"):
        if name in shown:
            members[name] = shown.pop(name)
    members |= {name: text for name, text in (("subject", message.subject), ("kind", message.kind)) if text}
    written = [f"{_quoted(name)}:{_escaped(value)}" for name, value in members.items()]
    # A whole payload is JSON already.
    written += [f"{_quoted(name)}:{text if name == 'payload' else _escaped(text)}" for name, text in shown.items()]
    return "{" + ",".join(written) + "}"


def _escaped(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    for character, instead in _LINE_ENDS.items():
        text = text.replace(character, instead)
    return text


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _beginning(whole: bytes, room: int) -> str:
    """Returns at most so many bytes of a text and no part of a character."""
    return whole[: _boundary(whole, room)].decode()


def _boundary(whole: bytes, at: int) -> int:
    """Returns the last byte up to this one at which a character begins, or the end."""
    if at >= len(whole):
        return len(whole)
    while at and whole[at] & 0xC0 == 0x80:
        at -= 1
    return at


def _moment(at: datetime | None) -> str:
    """Writes a time to the second, which is enough for a model."""
    return f"{at:%Y-%m-%dT%H:%M:%SZ}" if at else ""


def _shorter(message: Message, attention: Attention | None) -> list[tuple[Message, Attention | None]]:
    """Returns a message with less and less beside its payload, for the case that the rest alone is too long."""
    plain = replace(message, subject=None, kind=None)
    return [(message, attention), (plain, attention), (replace(plain, to=None, thread_id=None), None)]


def _longest(shown: Any, message: Message, most: int) -> str | None:
    """Returns what is shown with the most room for which it has at most so many characters; None if it has more without
    any."""
    if len(shown(0)) > most:
        return None
    low, high = 0, len(content_of(message.payload)[0].encode())
    while low < high:
        middle = (low + high + 1) // 2
        if len(shown(middle)) <= most:
            low = middle
        else:
            high = middle - 1
    line: str = shown(low)
    return line

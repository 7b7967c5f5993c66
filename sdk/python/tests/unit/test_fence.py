"""A model is shown messages by the server's doors and by mailboxes in the same way, within the room that there is."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from openintent_channels._fence import fence, fence_part, fitted, fitted_part
from openintent_channels.attention import Attention, AttentionClaim
from openintent_channels.models import Message
from unit.letters import message

VECTORS = json.loads(
    (Path(__file__).resolve().parents[4] / "sdk/scenarios/vectors/fence.json").read_text(encoding="utf-8")
)


def message_in(vector: dict[str, Any]) -> Message:
    said = dict(vector["message"])
    times = {name: datetime.fromisoformat(said.pop(name).replace("Z", "+00:00")) for name in ("created_at", "expires_at")
             if name in said}
    edited, deleted = said.pop("edited", False), said.pop("deleted", False)
    at = times["created_at"]
    return message(**said, **times, edited_at=at if edited else None, deleted_at=at if deleted else None)


def attention_in(vector: dict[str, Any]) -> Attention | None:
    said = vector.get("attention")
    if said is None:
        return None
    claim = AttentionClaim(said["claimed_by"], 1) if "claimed_by" in said else None
    return Attention("to_me", said["policy"], "buffered", said["reason"], "normal", claim=claim)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_the_fence_is_that_of_the_doors(vector: dict[str, Any]) -> None:
    if "cursor" in vector:
        line, _ = fence_part(message_in(vector), int(vector["cursor"] or 0), vector["room"])
    else:
        line = fence(message_in(vector), attention_in(vector), vector["room"])
    assert line == vector["line"]


def test_a_message_that_fits_is_shown_whole() -> None:
    short = message(payload={"text": "Hello"})
    assert fitted(short, None, len(fence(short, None))) == fence(short, None)


@pytest.mark.parametrize("payload", [{"text": "\x01\"é😀" * 2_000}, {"list": ["\x01\"é😀" * 2_000]}])
def test_a_long_message_is_cut_and_says_how_to_read_it(payload: dict[str, Any]) -> None:
    long = message(payload=payload)
    text = fitted(long, None, 2_000)
    line, note = text.split("\n")
    shown = json.loads(line)
    assert 1_980 < len(text) <= 2_000
    assert note == f'This message is cut: read("{long.id}") shows it from its beginning, in parts.'
    assert shown["cut_from_bytes"] > 2_000 and shown["id"] == long.id


def test_what_stands_beside_the_payload_may_be_too_long_itself() -> None:
    loud = message(subject="\x01" * 200, kind="\x01" * 64, to="<" * 256, thread_id="t" * 128, payload={"text": "x" * 9_000})
    text = fitted(loud, None, 2_000)
    assert len(text) <= 2_000 and json.loads(text.split("\n")[0])["id"] == loud.id
    louder = message(sender="\x01" * 400, payload={"text": "x" * 9_000})
    assert len(fitted(louder, None, 2_000)) <= 2_000


def test_the_parts_of_a_message_make_the_whole() -> None:
    content = "".join(f"{n}\n\"é😀" for n in range(2_000))
    for payload in ({"text": content}, {"a": content, "b": [content]}):
        long, cursor, parts = message(payload=payload), 0, []
        while True:
            text = fitted_part(long, cursor, 2_000)
            assert len(text) <= 2_000
            shown = json.loads(text.split("\n")[0])
            parts.append(shown.get("text") or shown.get("payload_part") or shown["payload_begins"])
            if "cursor" not in shown:
                assert "\n" not in text
                break
            assert f'There is more: read("{long.id}", "{shown["cursor"]}") goes on.' in text
            assert int(shown["cursor"]) > cursor
            cursor = int(shown["cursor"])
        whole = "".join(parts)
        assert whole == content if "text" in payload else json.loads(whole) == payload

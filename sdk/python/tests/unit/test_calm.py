"""When an agent is calm, so that a story may let time pass."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from openintent_channels.testing._calm import Calm, awaits_an_answer

NOW = datetime(2026, 7, 1, 12, 0, tzinfo=timezone.utc)
SOON, PAST = "2026-07-01T12:00:00.500Z", "2026-07-01T12:00:00Z"


def asked(**fields: Any) -> dict[str, Any]:
    question = {"id": "1", "sender": "lead", "message_type": "request", "status": "delivered", "expires_at": SOON}
    return {**question, "correlation_id": None, **fields}


def answer(number: int, to: str = "1") -> dict[str, Any]:
    said = {"id": f"answer {number}", "sender": f"builder-{number}", "message_type": "response", "status": "read"}
    return {**said, "expires_at": None, "correlation_id": to}


@pytest.mark.parametrize(
    ("messages", "awaits"),
    [
        pytest.param([], False, id="nothing was said"),
        pytest.param([asked()], True, id="it has asked"),
        pytest.param([asked(to="role:builder", collect="one")], True, id="it has asked a role"),
        pytest.param([asked(), answer(1, to="2")], True, id="another question was answered"),
        pytest.param([asked(), answer(1)], False, id="its question was answered"),
        pytest.param([asked(), answer(1), asked(id="2")], True, id="it has asked again"),
        pytest.param([asked(collect="any"), answer(1)], False, id="any answer will do"),
        pytest.param([asked(collect="one"), answer(1)], False, id="one answer will do"),
        pytest.param([asked(collect={"quorum": 2}), answer(1)], True, id="one of two answers came"),
        pytest.param([asked(collect={"quorum": 2}), answer(1), answer(2)], False, id="two of two answers came"),
        pytest.param([asked(collect="all"), answer(1), answer(2)], True, id="it collects answers until its time is over"),
        pytest.param([asked(collect="all", expires_at=PAST), answer(1)], False, id="the time of collecting is over"),
        pytest.param([asked(expires_at=PAST)], False, id="the time of its question is over"),
        pytest.param([asked(status="expired")], False, id="its question was withdrawn"),
        pytest.param([asked(expires_at=None)], False, id="it goes on without an answer"),
        pytest.param([asked(sender="other")], False, id="somebody else has asked"),
        pytest.param([asked(message_type="notify")], False, id="it has told something"),
    ],
)
def test_who_awaits_an_answer(messages: list[dict[str, Any]], awaits: bool) -> None:
    assert awaits_an_answer("lead", messages, NOW) is awaits


@pytest.mark.parametrize(
    ("at_work", "messages", "time_may_pass", "is_calm"),
    [
        pytest.param(False, [], True, True, id="it has nothing to do"),
        pytest.param(True, [], True, False, id="it is at work"),
        pytest.param(True, [asked()], True, True, id="it awaits an answer"),
        pytest.param(True, [asked(), answer(1)], True, False, id="it works with the answer"),
        pytest.param(True, [asked()], False, False, id="it awaits an answer that cannot come"),
    ],
)
def test_who_is_calm(at_work: bool, messages: list[dict[str, Any]], time_may_pass: bool, is_calm: bool) -> None:
    calm = Calm("lead", time_may_pass=time_may_pass)
    assert not calm.is_reached(10, at_work, messages, NOW)
    assert not calm.is_reached(10.125, at_work, messages, NOW)
    assert calm.is_reached(10.25, at_work, messages, NOW) is is_calm


def test_who_says_something_is_not_calm_yet() -> None:
    calm = Calm("lead")
    assert not calm.is_reached(10, True, [asked()], NOW)
    assert not calm.is_reached(11, True, [asked(), asked(id="2")], NOW)
    assert calm.is_reached(12, True, [asked(), asked(id="2"), asked(id="3", sender="other")], NOW)

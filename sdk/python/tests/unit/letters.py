"""Messages as a mailbox gets them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from openintent_channels._mail import Letter
from openintent_channels.attention import Attention
from openintent_channels.models import Message

AT = datetime(2026, 11, 30, 8, tzinfo=timezone.utc)


def message(**said: Any) -> Message:
    """Makes a message to the agent."""
    fields: dict[str, Any] = {
        "id": "msg_1", "channel_id": "chan_1", "sender": "bob", "to": None, "message_type": "notify", "correlation_id": None,
        "payload": {}, "metadata": {}, "status": "delivered", "created_at": AT,
    }
    return Message(**{**fields, **said})


def letter(number: int, policy: str | None = None, priority: str = "normal", **said: Any) -> Letter:
    """Makes a letter with the message of this number, which was sent at this second."""
    sent = AT + timedelta(seconds=number)
    wire = message(**{"id": f"m{number}", "position": number, "created_at": sent, **said})
    judged = None if policy is None else Attention("to_me", policy, "buffered", "direct_notify", priority)
    return Letter(wire, judged, "i", "talk", 1, 0.0, 0.0)

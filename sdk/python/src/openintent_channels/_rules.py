"""All rules of a client, put together."""

from __future__ import annotations

from typing import Any

from ._asking import Asking
from ._calls import Calls, Outage
from ._channels import Channels, Intents
from ._conversation import Conversation
from ._directory import Directory
from ._following import Following
from ._leases import Leases
from ._messages import Messages
from ._retrying import PATIENCE
from ._settings import Settings
from ._tracing import Tracing


class Rules:
    """What a client does, whichever way it is carried out."""

    def __init__(
        self, settings: Settings, patience: float | None, tracer_provider: Any, connect_timeout: float | None = None
    ) -> None:
        self.calls = Calls(
            sender=settings.sender, address=settings.target, patience=PATIENCE if patience is None else patience,
            local=settings.local, intent_id=settings.intent_id, connect_timeout=connect_timeout, outage=Outage(),
        )
        self.tracing = Tracing(tracer_provider)
        self.messages = Messages(self.calls, self.tracing)
        self.asking = Asking(self.calls, self.tracing)
        self.channels = Channels(self.calls)
        self.intents = Intents(self.calls)
        self.directory = Directory(self.calls)
        self.leases = Leases(self.calls)
        self.conversation = Conversation(self.calls)
        self.following = Following(self.calls)

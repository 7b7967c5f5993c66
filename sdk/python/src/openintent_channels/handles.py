"""The handle of a channel, for the blocking client. `async_handles` has the same for asyncio."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ._blocking import Iteration
from ._channel_calls import ChannelCalls
from ._channel_fields import ChannelFields
from .models import Channel, Message


class ChannelHandle(ChannelFields):
    """A channel and what can be done on it. Its fields are those of the channel when it was last read."""

    def __init__(self, client: ChannelCalls, channel: Channel) -> None:
        super().__init__(channel)
        self._client = client

    def ask(
        self,
        to: str,
        payload: Any,
        timeout: float = 30,
        *,
        sender: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Message:
        """Asks and returns the first response, as the client's `ask` does."""
        return self._client.ask(self.id, to, payload, timeout, sender=sender, metadata=metadata)

    def ask_all(
        self,
        to: str,
        payload: Any,
        timeout: float = 30,
        min_responses: int | None = None,
        *,
        sender: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> list[Message]:
        """Asks and gathers the responses, as the client's `ask_all` does."""
        return self._client.ask_all(self.id, to, payload, timeout, min_responses, sender=sender, metadata=metadata)

    def ask_all_iter(
        self,
        to: str,
        payload: Any,
        timeout: float = 30,
        min_responses: int | None = None,
        *,
        sender: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Iteration[Message]:
        """Asks and yields responses as they arrive, as the client's `ask_all_iter` does."""
        return self._client.ask_all_iter(self.id, to, payload, timeout, min_responses, sender=sender, metadata=metadata)

    def send(
        self,
        payload: Any,
        to: str | None = None,
        message_type: str = "notify",
        expires_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        *,
        sender: str | None = None,
        idempotency_key: str | None = None,
    ) -> Message:
        """Sends a message."""
        return self._client.send_message(
            self.id, payload, to, message_type, expires_at, metadata, sender=sender, idempotency_key=idempotency_key
        )

    def notify(self, to: str, payload: Any, *, metadata: Mapping[str, Any] | None = None) -> Message:
        """Tells an agent or a role something that needs no answer."""
        return self.send(payload, to, "notify", metadata=metadata)

    def broadcast(self, payload: Any, *, metadata: Mapping[str, Any] | None = None) -> Message:
        """Tells every participant something."""
        return self.send(payload, None, "broadcast", metadata=metadata)

    def messages(self, after: int | None = None, include_own: bool = True) -> Iteration[Message]:
        """Follows the channel until it is closed and drained: from when the iteration begins (at the first `next`, or on
        entering `with`), or from after a message's `position`. A lost connection is resumed, and nothing comes twice."""
        return self._client.follow(self.id, after, include_own)

    def close(self) -> Channel:
        """Closes the channel."""
        self._channel = self._client.close_channel(self.id)
        return self._channel

    def refresh(self) -> Channel:
        """Reads the channel again."""
        self._channel = self._client.get_channel(self.id)
        return self._channel

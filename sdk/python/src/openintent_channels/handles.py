# Generated from async_handles.py by generate_blocking.py; edit that.
"""The handle of a channel, for blocking programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, overload

from ._channel_calls import ChannelCalls
from ._channel_fields import ChannelFields
from ._conversation import DEFAULT_TTL, id_of
from ._holding import Claim
from ._running import Iteration
from .attention import Explanation
from .conversations import Annotation, Discharge, Reaction, Revision, Thread
from .models import Channel, Message

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._message_options import MessageOptions, RequestOptions, SendOptions


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
        **options: Unpack[RequestOptions],
    ) -> Message:
        """Asks and returns the first response, as the client's `ask` does."""
        return self._client.ask(self.id, to, payload, timeout, sender=sender, metadata=metadata, **options)

    def ask_all(
        self,
        to: str,
        payload: Any,
        timeout: float = 30,
        min_responses: int | None = None,
        *,
        sender: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        **options: Unpack[RequestOptions],
    ) -> list[Message]:
        """Asks and gathers the responses, as the client's `ask_all` does."""
        return self._client.ask_all(
            self.id, to, payload, timeout, min_responses, sender=sender, metadata=metadata, **options
        )

    def ask_all_iter(
        self,
        to: str,
        payload: Any,
        timeout: float = 30,
        min_responses: int | None = None,
        *,
        sender: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        **options: Unpack[RequestOptions],
    ) -> Iteration[Message]:
        """Asks and yields responses as they arrive, as the client's `ask_all_iter` does."""
        return self._client.ask_all_iter(
            self.id, to, payload, timeout, min_responses, sender=sender, metadata=metadata, **options
        )

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
        **options: Unpack[SendOptions],
    ) -> Message:
        """Sends a message."""
        return self._client.send_message(
            self.id, payload, to, message_type, expires_at, metadata, sender=sender, idempotency_key=idempotency_key,
            **options,
        )

    def notify(
        self, to: str, payload: Any, *, metadata: Mapping[str, Any] | None = None, **options: Unpack[MessageOptions]
    ) -> Message:
        """Tells an agent or a role something that needs no answer."""
        return self.send(payload, to, "notify", metadata=metadata, **options)

    def broadcast(
        self, payload: Any, *, metadata: Mapping[str, Any] | None = None, **options: Unpack[MessageOptions]
    ) -> Message:
        """Tells every participant something."""
        return self.send(payload, None, "broadcast", metadata=metadata, **options)

    @overload
    def messages(self, after: int | None = None, include_own: bool = True) -> Iteration[Message]: ...

    @overload
    def messages(
        self, after: int | None = None, include_own: bool = True, *, include: Sequence[str]
    ) -> Iteration[Message | Annotation]: ...

    def messages(
        self, after: int | None = None, include_own: bool = True, *, include: Sequence[str] = ()
    ) -> Iteration[Message] | Iteration[Message | Annotation]:
        """Follows the channel until it is closed and drained: from when the iteration begins (at the first `next`, or on
        entering `with`), or from after a message's `position`. A lost connection is resumed, and nothing comes
        twice. `include` may have `attention`, which each message then says for
        this client's agent, and `annotations`: what happens to messages then comes too, as `Annotation`."""
        return self._client.follow(self.id, after, include_own, include=include)

    def thread(self, message: Message | str) -> Thread:
        """Reads the whole thread of a message, which is given whole or by its id."""
        return self._client.get_thread(self.id, id_of(message))

    def edit(
        self,
        message: Message | str,
        *,
        payload: Any = None,
        metadata: Mapping[str, Any] | None = None,
        subject: str | None = None,
        mentions: Sequence[str] | None = None,
        supersede: bool = False,
    ) -> Message:
        """Gives a message new content, as the client's `edit_message` does."""
        return self._client.edit_message(
            self.id, id_of(message), payload=payload, metadata=metadata, subject=subject, mentions=mentions,
            supersede=supersede,
        )  # fmt: skip

    def delete(self, message: Message | str) -> Message:
        """Deletes the content of a message, as the client's `delete_message` does."""
        return self._client.delete_message(self.id, id_of(message))

    def revisions(self, message: Message | str) -> list[Revision]:
        """Lists what the content of a message was and is."""
        return self._client.list_revisions(self.id, id_of(message))

    def react(
        self, message: Message | str, signal: str, note: str | None = None, eta: str | None = None
    ) -> list[Reaction]:
        """Reacts to a message, as the client's `add_reaction` does."""
        return self._client.add_reaction(self.id, id_of(message), signal, note, eta)

    def unreact(self, message: Message | str, signal: str) -> list[Reaction]:
        """Takes a signal away, if it is there."""
        return self._client.remove_reaction(self.id, id_of(message), signal)

    def reactions(self, message: Message | str) -> list[Reaction]:
        """Lists the reactions to a message."""
        return self._client.list_reactions(self.id, id_of(message))

    def claim(self, message: Message | str, ttl: int = DEFAULT_TTL) -> Claim:
        """Returns a context that holds a claim on a message, as the client's `claim` does."""
        return self._client.claim(self.id, id_of(message), ttl)

    def discharge(self, message: Message | str, note: str | None = None) -> Discharge:
        """Closes the obligation of a request, as the client's `discharge` does."""
        return self._client.discharge(self.id, id_of(message), note)

    def attention(self, message: Message | str, agent_id: str | None = None) -> Explanation:
        """Tells what a message asks of an agent, and by which rules."""
        return self._client.get_attention(self.id, id_of(message), agent_id)

    def close(self) -> Channel:
        """Closes the channel."""
        self._channel = self._client.close_channel(self.id)
        return self._channel

    def refresh(self) -> Channel:
        """Reads the channel again."""
        self._channel = self._client.get_channel(self.id)
        return self._channel

# Generated from _async_mailbox_calls.py by generate_blocking.py; edit that.
"""What an agent says about the messages of its mailbox, for blocking programs, and the claims that it holds on them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ._blocking import Beside, Guard, Turn
from ._bounds import bad_field
from ._conversation import DEFAULT_TTL
from ._fence import fitted_part
from ._mail import Mail, needs_claim
from ._mailing import Mailing
from ._running import Connection
from .conversations import Reaction
from .errors import ClaimLostError, MessageDeletedError
from .mail import Answered
from .models import Message

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._message_options import RequestOptions, SendOptions

FRESH_SECONDS = 10.0
"""How long a message that waits counts as it came. Later it is read again before it is handed out, because it may have been
edited or deleted."""

_LOOK_SECONDS = 5.0
"""How often it looks, at least, whether a claim is to be renewed."""


class MailboxCalls:
    """What an agent does with messages by their ids. The mailbox inherits it."""

    def __init__(self, connection: Connection, mailing: Mailing, max_chars: int) -> None:
        self._connection = connection
        self._mailing = mailing
        self._max_chars = max_chars
        self._clock = mailing.rules.calls.clock
        self._guard = Guard()
        self._mail = Mail()
        self._keeping: Beside | None = None
        self._answering = Turn()
        self._known: dict[str, str] = {}

    def answer(self, message_id: str, payload: Any) -> Answered:
        """Answers a message: a request by a reply, any other by a message below it to its sender. An agent answers a message
        once: a second answer, whatever it says and however much later, is not stored, and the first one is returned."""
        message = self._message(message_id)
        with self._answering:
            return self._connection.run(self._mailing.answer(message, payload, needs_claim(message)))

    def decline(self, message_id: str, note: str | None = None) -> Answered:
        """Says no to a message, with a note of at most 200 characters. The first no stands, and so does an answer."""
        message = self._message(message_id)
        with self._answering:
            return self._connection.run(self._mailing.decline(message, note))

    def claim(self, message_id: str, ttl: int = DEFAULT_TTL) -> int:
        """Claims a message, so that others leave it to this agent, and returns the fence of the claim. It is renewed
        until the agent answers or declines, or the mailbox closes. Raises ClaimedError if somebody else holds it."""
        message = self._message(message_id)
        fence = (self._connection.run(self._mailing.claim(message, ttl))).fence
        self._keep()
        return fence

    def defer(self, message_id: str, reason: str | None = None, until: datetime | None = None) -> None:
        """Tells the sender of a message that the agent will do it later. It does not bring the message again."""
        message = self._message(message_id)
        rules = self._mailing.rules.conversation
        self._connection.run(rules.dispose(message.channel_id, message.id, "deferred", reason, until))

    def react(self, message_id: str, signal: str, note: str | None = None, eta: str | None = None) -> list[Reaction]:
        """Reacts to a message, as the client's `add_reaction` does. Repetitions are harmless."""
        message = self._message(message_id)
        rules = self._mailing.rules.conversation
        return self._connection.run(rules.react(message.channel_id, message.id, signal, note, eta))

    def send(
        self,
        channel: str,
        payload: Any,
        to: str | None = None,
        message_type: str | None = None,
        *,
        key: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        **options: Unpack[SendOptions],
    ) -> Message:
        """Sends a message on a channel, which is named by its id, or by its name if messages came from it or it is in the
        client's intent: to an agent, to `role:ROLE`, or to everybody. With a `key`, it is stored once for a day."""
        channel_id = self._connection.run(self._mailing.channel_id(channel, self._known))
        kind = message_type or ("notify" if to else "broadcast")
        steps = self._mailing.rules.messages.send(channel_id, payload, to, kind, None, metadata, None, key, options)
        return self._connection.run(steps)

    def ask(
        self,
        channel: str,
        to: str,
        payload: Any,
        timeout: float = 30,
        *,
        key: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        **options: Unpack[RequestOptions],
    ) -> Message:
        """Asks an agent or a role, and returns the first response, as the client's `ask` does. The response does not come
        into the mailbox, too."""
        channel_id = self._connection.run(self._mailing.channel_id(channel, self._known))
        steps = self._mailing.rules.asking.ask(channel_id, to, payload, timeout, None, metadata, key, options)
        response = self._connection.run(steps)
        with self._guard:
            self._mail.finish(response.id)
        return response

    def read(self, message_id: str, cursor: str | None = None) -> str:
        """Returns a message as a model is shown it, from its beginning or from the cursor of an earlier part on."""
        if cursor and not cursor.isdecimal():
            raise bad_field("cursor", "must be the number that an earlier part of this message named")
        return fitted_part(self._message(message_id), int(cursor or 0), self._max_chars)

    def _message(self, message_id: str) -> Message:
        with self._guard:
            letter = self._mail.letter(message_id)
        if letter is not None and self._clock() - letter.read <= FRESH_SECONDS:
            return letter.message
        message = self._connection.run(self._mailing.message(message_id))
        if message.deleted_at is not None:
            text = f"the message {message_id} was deleted"
            raise MessageDeletedError(text, code="FAILED_PRECONDITION", reason="MESSAGE_DELETED")
        return message

    def _keep(self) -> None:
        """Begins to renew claims, unless it does."""
        with self._guard:
            if self._keeping is not None:
                return
            self._keeping = Beside("openintent-mailbox-claims")
            self._keeping.begin(self._renew)

    def _renew(self) -> None:
        """Renews what it has claimed. A claim that is lost, or that an answer has ended, is forgotten."""
        keeping, seconds = self._keeping, 0.0
        while keeping is not None and keeping.goes_on_after(seconds):
            for message_id, held in [*self._mailing.claims.items()]:
                if held.renew_in(self._clock()) > 0:
                    continue
                try:
                    kept = self._connection.run(self._mailing.rules.conversation.renew(held))
                except ClaimLostError:
                    kept = False
                if not kept:
                    self._mailing.claims.pop(message_id, None)
            due = [held.renew_in(self._clock()) for held in [*self._mailing.claims.values()]]
            seconds = min([_LOOK_SECONDS, *due])

    def _end_claims(self) -> None:
        """Gives back what it has claimed."""
        if self._keeping is not None:
            self._keeping.end()
        for message_id in [*self._mailing.claims]:
            self._connection.run(self._mailing.release(message_id))

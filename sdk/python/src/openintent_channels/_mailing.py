"""The rules of a mailbox: its subscription, its inbox, and what an agent says about its messages. All of them may be
repeated."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import _methods as methods
from ._bounds import bad_field
from ._conversation import DEFAULT_TTL, Held
from ._effects import Steps
from ._generated import messages_pb2, subscriptions_pb2
from ._rules import Rules
from .errors import AlreadyExistsError, AnsweredError, NotFoundError, OpenIntentError
from .mail import Answered
from .models import Message, message_of

ACKNOWLEDGE_SECONDS, MAX_ATTEMPTS = 3_600, 100
"""How long the server waits for what a process holds before it sends it again, and how often it does. A process knows
what it holds, and does not show it again."""

MOST_OUTSTANDING = 1_000
"""How many messages a mailbox holds at most."""

LEAST_CHARS = 2_000
"""The least `max_chars`: what the server says beside a text must fit."""

_ANY_CHANNEL = "-"
_ANSWER_MARK = "openintent_answer"
"""The metadata key that marks an answer to a message that is no request; its value is that message's id."""

_PAGE = 1_000
_INBOX_PAGE = 100
_REFUSED = ("NOT_FOUND", "FAILED_PRECONDITION", "PERMISSION_DENIED")


@dataclass(slots=True)
class Mailing:
    """The rules of one mailbox."""

    rules: Rules
    agent_id: str
    channels: frozenset[str] | None = None
    """The names or ids of the channels that it takes messages of; None: of all."""
    claims: dict[str, Held] = field(default_factory=dict)
    """The claims that it holds, by message."""

    @property
    def name(self) -> str:
        """The name of its subscription. One with other channels is another mailbox."""
        if self.channels is None:
            return "mailbox"
        return "mailbox-" + hashlib.sha256("\n".join(sorted(self.channels)).encode()).hexdigest()[:16]

    def takes(self, channel_id: str, channel_name: str) -> bool:
        """Whether it takes messages of a channel."""
        return self.channels is None or channel_id in self.channels or channel_name in self.channels

    def subscribe(self) -> Steps[str]:
        """Returns the id of its subscription, and makes it when it is missing or has ended. What the server has put
        aside after too many attempts is delivered again."""
        calls = self.rules.calls
        while True:
            request = subscriptions_pb2.CreateSubscriptionRequest(
                name=self.name,
                subscriber_id=self.agent_id,
                event_types=["channel_message"],
                acknowledge_seconds=ACKNOWLEDGE_SECONDS,
                max_attempts=MAX_ATTEMPTS,
                include=["attention"],
            )
            try:
                made = yield from calls.call(methods.CREATE_SUBSCRIPTION, request)
                return made.id
            except AlreadyExistsError:
                found = yield from self._find()
            if found is not None and found.active:
                if found.dead_letter_count:
                    again = subscriptions_pb2.RedriveDeadLettersRequest(subscription_id=found.id)
                    yield from calls.call(methods.REDRIVE_DEAD_LETTERS, again)
                return found.id
            if found is not None:
                yield from self._forget(found.id)

    def _find(self) -> Steps[subscriptions_pb2.Subscription | None]:
        request = subscriptions_pb2.ListSubscriptionsRequest(subscriber_id=self.agent_id)
        while True:
            page = yield from self.rules.calls.call(methods.LIST_SUBSCRIPTIONS, request)
            found = next((s for s in page.subscriptions if s.name == self.name), None)
            if found is not None or not page.next_cursor:
                return found
            request.cursor = page.next_cursor

    def _forget(self, subscription_id: str) -> Steps[None]:
        request = subscriptions_pb2.DeleteSubscriptionRequest(subscription_id=subscription_id)
        try:
            yield from self.rules.calls.call(methods.DELETE_SUBSCRIPTION, request)
        except NotFoundError:
            return

    def waiting_requests(self) -> Steps[list[messages_pb2.InboxItem]]:
        """Lists the requests that wait for an answer and that the agent has not read, oldest first, as many as it may
        hold."""
        found: list[messages_pb2.InboxItem] = []
        request = messages_pb2.GetInboxRequest(agent_id=self.agent_id, limit=_INBOX_PAGE, include=["attention"])
        while len(found) < MOST_OUTSTANDING:
            page = yield from self.rules.calls.call(methods.GET_INBOX, request)
            found += [
                item for item in page.items
                if item.message.message_type == messages_pb2.MESSAGE_TYPE_REQUEST and not item.read
            ]
            if not page.HasField("next_cursor"):
                break
            request.cursor = page.next_cursor
        return found

    def message(self, message_id: str) -> Steps[Message]:
        """Reads a message by its id alone."""
        return (yield from self.rules.messages.get(_ANY_CHANNEL, message_id))

    def seen(self, message_ids: list[str], requests: list[str]) -> Steps[None]:
        """Says that the agent's model saw messages, and that the agent has read those of them that are requests, so that
        nobody finds them in its inbox as new."""
        yield from self._each(message_ids, lambda page: self.rules.conversation.surface(self.agent_id, page))
        yield from self._each(requests, self._mark_read)

    def _mark_read(self, message_ids: list[str]) -> Steps[None]:
        request = messages_pb2.MarkInboxReadRequest(agent_id=self.agent_id, message_ids=message_ids)
        yield from self.rules.calls.call(methods.MARK_INBOX_READ, request)

    def _each(self, message_ids: list[str], mark: Any) -> Steps[None]:
        """Marks messages. The server marks all or none, so those among which one is gone are marked in halves."""
        if not message_ids:
            return
        try:
            yield from mark(message_ids)
        except OpenIntentError as error:
            if error.code not in _REFUSED:
                raise
            if len(message_ids) > 1:
                half = len(message_ids) // 2
                yield from self._each(message_ids[:half], mark)
                yield from self._each(message_ids[half:], mark)

    def acknowledge(self, subscription_id: str, numbers: list[int]) -> Steps[None]:
        """Says that deliveries are done. One that a replaced stream had sent comes again, and is recognized then."""
        while numbers:
            request = subscriptions_pb2.AcknowledgeDeliveriesRequest(subscription_id=subscription_id, numbers=numbers)
            try:
                yield from self.rules.calls.call(methods.ACKNOWLEDGE_DELIVERIES, request)
                return
            except OpenIntentError as error:
                if error.code in ("UNAUTHENTICATED", "PERMISSION_DENIED", "UNAVAILABLE"):
                    raise
                first = int(error.metadata.get("number", 0))
                last = int(error.metadata.get("through", first))
                rest = [number for number in numbers if not first <= number <= last]
                if error.reason != "DELIVERY_COMES_AGAIN" or len(rest) == len(numbers):
                    return  # the server does not take them: they come again
                numbers = rest

    def answer(self, message: Message, payload: Any, needs_claim: bool) -> Steps[Answered]:
        """Answers a message, unless the agent has answered it before, whatever it said then. The key of the answer is
        made of the message alone. The server forgets keys after a day, so the answers that are there are looked at
        first."""
        standing = yield from self.standing(message)
        if standing is not None:
            return Answered(False, standing)
        key = f"mailbox-answer-{message.id}"
        try:
            if message.message_type == "request":
                fence = (yield from self.claim(message, DEFAULT_TTL)).fence if needs_claim else None
                said = {} if fence is None else {"fence": fence}
                stored = yield from self.rules.messages.reply(
                    message.channel_id, message.id, payload, None, None, key, said
                )
            else:
                stored = yield from self.rules.messages.send(
                    message.channel_id, payload, message.sender, "notify", None, {_ANSWER_MARK: message.id}, None, key,
                    {"parent": message.id},
                )
        except (AlreadyExistsError, AnsweredError) as error:
            standing = None if error.reason == "CLAIMED" else (yield from self.standing(message))
            if standing is None:
                raise
            stored = None
        if needs_claim:
            self.claims.pop(message.id, None)  # the answer has ended it
        else:
            yield from self.release(message.id)
        return Answered(False, standing) if stored is None else Answered(True, stored)

    def standing(self, message: Message) -> Steps[Message | None]:
        """Returns the agent's first answer to a message; None without one."""
        asks = message.message_type == "request"
        request = messages_pb2.ListMessagesRequest(
            channel_id=message.channel_id,
            since=message.id,
            limit=_PAGE,
            correlation_id=message.id if asks else None,
            thread_id=None if asks else message.thread_id or message.id,
        )
        while True:
            page = yield from self.rules.calls.call(methods.LIST_MESSAGES, request)
            for wire in page.messages:
                found = message_of(wire)
                if found.sender == self.agent_id and (asks or found.metadata.get(_ANSWER_MARK) == message.id):
                    return found
            if not page.bounded and not page.messages:  # a page may end early, because its texts are long
                return None
            request.since = page.next_since

    def decline(self, message: Message, note: str | None) -> Steps[Answered]:
        """Says no, unless the agent has answered or has said no before, whatever it said then."""
        standing = yield from self.standing(message)
        if standing is not None:
            return Answered(False, standing)
        for reaction in (yield from self.rules.conversation.reactions(message.channel_id, message.id)):
            if reaction.agent_id == self.agent_id and reaction.signal == "declined":
                return Answered(False, None, reaction.note or "")
        yield from self.rules.conversation.react(message.channel_id, message.id, "declined", note, None)
        yield from self.release(message.id)
        return Answered(True, None, note or "")

    def claim(self, message: Message, ttl: int) -> Steps[Held]:
        """Returns the claim that is held on a message, or takes one. Its key lets a process that begins again after a
        crash go on with the claim that it had."""
        held = self.claims.get(message.id)
        if held is None:
            key = f"mailbox-claim-{message.id}"
            held = yield from self.rules.conversation.claim(message.channel_id, message.id, ttl, key)
            self.claims[message.id] = held
        return held

    def release(self, message_id: str) -> Steps[None]:
        """Gives a claim back, if one is held. If the server cannot be told, the claim expires."""
        held = self.claims.pop(message_id, None)
        if held is not None:
            with contextlib.suppress(OpenIntentError):
                yield from self.rules.conversation.release(held)

    def channel_id(self, channel: str, known: Mapping[str, str]) -> Steps[str]:
        """Returns the id of a channel that is named by its id or its name: a name of a channel from which messages came,
        or of one in the client's intent. Raises InvalidArgumentError for a name that is neither."""
        if channel.startswith("chan_"):
            return channel
        if channel in known:
            return known[channel]
        intent_id = self.rules.calls.intent_id
        found = (yield from self.rules.channels.list(intent_id)) if intent_id else []
        for one in found:
            if one.name == channel and one.is_open:
                return one.id
        raise bad_field("channel", f"{channel!r} names no channel that is known here; give a channel's id")


def channels_of(channels: Sequence[str] | None) -> frozenset[str] | None:
    """Reads the option `channels`. Raises InvalidArgumentError for a text or an empty list."""
    if channels is None:
        return None
    if isinstance(channels, str) or not channels or not all(isinstance(name, str) and name for name in channels):
        raise bad_field("channels", "must be a list of one or more names or ids of channels, or be left out for all")
    return frozenset(channels)


def checked_chars(max_chars: int) -> int:
    """Reads the option `max_chars`. Raises InvalidArgumentError for one that is too small."""
    if isinstance(max_chars, bool) or not isinstance(max_chars, int) or max_chars < LEAST_CHARS:
        raise bad_field("max_chars", f"must be a whole number of {LEAST_CHARS} or more")
    return max_chars

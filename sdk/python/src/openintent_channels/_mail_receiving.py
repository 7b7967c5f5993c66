# Generated from _async_mail_receiving.py by generate_blocking.py; edit that.
"""How messages come into a mailbox, for blocking programs: over one stream, beside the program."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable

from . import _methods as methods
from ._blocking import Beside, Guard, Signal
from ._effects import Accepted, Invoke, Open, Receive, Stream
from ._generated import messages_pb2, reach_pb2, subscriptions_pb2
from ._mail import Letter, Mail
from ._mailing import MOST_OUTSTANDING, Mailing
from ._membership import ends_agent
from ._retrying import Waits
from ._running import Connection
from .attention import given_attention
from .errors import OpenIntentError
from .models import message_of

_POSITION = "openintent-position"
_ENDED = ("SUBSCRIPTION_ENDED", "SUBSCRIPTION_NOT_FOUND")
_PROBE_SECONDS = 10.0
_MANY = 100
"""How many deliveries that are not for the mailbox are acknowledged together."""


class MailReceiving:
    """Fills the mail of a mailbox. One process of an agent receives; the others stand by, and take over when it ends."""

    def __init__(self, connection: Connection, mailing: Mailing, mail: Mail, guard: Guard) -> None:
        self._connection = connection
        self._mailing = mailing
        self._mail = mail
        self._guard = guard
        self._clock = mailing.rules.calls.clock
        self._beside = Beside("openintent-mailbox")
        self._stream: Stream | None = None
        self._closed = False
        self.subscription = ""
        self.failure: OpenIntentError | None = None
        """What ended it, because no other attempt would change that."""
        self.ready = Signal()
        """Tells that it has what was due when it began, or stands by."""
        self.changed = Signal()
        """Tells that something came, or that it has failed."""
        self.callbacks: list[Callable[[], object]] = []

    def begin(self) -> None:
        """Subscribes, and receives from then on."""
        self.subscription = self._connection.run(self._mailing.subscribe())
        self._beside.begin(self._receive)

    def end(self) -> None:
        """Ends the stream, so that another process takes over."""
        self._closed = True
        if self._stream is not None:
            self._stream.cancel()
        self._beside.end()

    def acknowledge(self) -> None:
        """Tells the server which deliveries are done with."""
        while True:
            with self._guard:
                numbers = self._mail.acknowledgeable()
            if not numbers:
                return
            try:
                self._connection.run(self._mailing.acknowledge(self.subscription, numbers))
            except BaseException:
                with self._guard:
                    self._mail.put_back_numbers(numbers)
                raise

    def _receive(self) -> None:
        """Receives on a new stream whenever one is lost."""
        waits = self._mailing.rules.calls.waits()
        while not self._closed:
            try:
                self._follow(waits)
                wait = waits.after()
            except OpenIntentError as error:
                if self._closed:
                    return
                if ends_agent(error) or error.code == "CANCELLED":
                    self._fail(error)
                    return
                wait = waits.after(error)
            if not self._beside.goes_on_after(wait):
                return

    def _follow(self, waits: Waits) -> None:
        """Takes in what one stream brings, until it ends."""
        request = subscriptions_pb2.StreamDeliveriesRequest(
            subscription_id=self.subscription, max_outstanding=MOST_OUTSTANDING, announce_active=True,
            announce_caught_up=True, probes=True,
        )
        stream: Stream = self._connection.perform(Open(methods.STREAM_DELIVERIES, request))
        self._stream = stream
        try:
            if self._closed:  # while the stream began, in another thread
                return
            if _POSITION in self._connection.perform(Accepted(stream)):
                waits.succeeded()
            while (delivery := self._connection.perform(Receive(stream))) is not None:
                self._take_in(delivery)
        except OpenIntentError as error:
            if error.reason not in _ENDED:
                raise
            self.subscription = self._connection.run(self._mailing.subscribe())
        finally:
            stream.cancel()

    def _fail(self, error: OpenIntentError) -> None:
        self.failure = error
        self.ready.give()
        self.changed.give()

    def _take_in(self, delivery: subscriptions_pb2.SubscriptionDelivery) -> None:
        if delivery.probe_id:
            request = reach_pb2.ConfirmProbeRequest(agent_id=self._mailing.agent_id, probe_id=delivery.probe_id)
            with contextlib.suppress(OpenIntentError):
                self._connection.perform(Invoke(methods.CONFIRM_PROBE, request, _PROBE_SECONDS))
        elif delivery.standing_by:
            with self._guard:
                self._mail.stand_by()
            self.ready.give()
        elif delivery.caught_up:
            self._take_inbox()
            self.ready.give()
        elif delivery.number:
            self._accept(delivery)

    def _take_inbox(self) -> None:
        """Takes in the requests that the subscription does not bring, because they were sent before it was made, or
        before the agent took a role or gained access."""
        for item in self._connection.run(self._mailing.waiting_requests()):
            self._arrive(item, None, 1, item.intent_id, item.channel_name, None)

    def _accept(self, delivery: subscriptions_pb2.SubscriptionDelivery) -> None:
        if delivery.HasField("message"):
            self._arrive(
                delivery, delivery.position, delivery.attempt, delivery.intent_id, delivery.channel_name, delivery.number
            )
        else:
            with self._guard:
                self._mail.pass_over(delivery.number)
        if self._mail.unacknowledged >= _MANY:
            self.acknowledge()

    def _arrive(
        self,
        entry: subscriptions_pb2.SubscriptionDelivery | messages_pb2.InboxItem,
        position: int | None,
        attempt: int,
        intent_id: str,
        channel_name: str,
        number: int | None,
    ) -> None:
        """Takes in a message, unless it is the agent's own, deleted, or of a channel that the mailbox leaves out."""
        message = message_of(entry.message, position)
        own = message.sender == self._mailing.agent_id or message.deleted_at is not None
        now = self._clock()
        letter = Letter(message, given_attention(entry), intent_id, channel_name, attempt, now, now)
        with self._guard:
            if own or not self._mailing.takes(message.channel_id, channel_name):
                self._mail.pass_over(number)
                return
            if not self._mail.arrive(letter, number):
                return
        self.changed.give()
        for callback in [*self.callbacks]:
            self.call(callback)

    def call(self, callback: Callable[[], object]) -> None:
        """Calls a callback, whose failure is logged."""
        try:
            callback()
        except Exception:
            name = self._mailing.agent_id
            logging.getLogger("openintent_channels").exception("mailbox of %s: a callback failed", name)

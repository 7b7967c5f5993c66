"""The mailbox of an agent that is running, for asyncio."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

from ._async_mail_receiving import AsyncMailReceiving
from ._async_mailbox_calls import FRESH_SECONDS, AsyncMailboxCalls
from ._async_mailbox_tools import async_tools
from ._async_running import AsyncConnection
from ._awaiting import Turn
from ._bounds import bad_field
from ._conversation import DEFAULT_TTL
from ._fence import fitted
from ._mail import Letter
from ._mailing import Mailing, channels_of, checked_chars
from ._rules import Rules
from .errors import NotFoundError, OpenIntentError, PermissionDeniedError, UnavailableError
from .mail import MailboxMessage

_READY_SECONDS = 10.0
"""How long the first `take` waits for what the server has, when the server says nothing."""


class AsyncBatch:
    """What one `take` returned, for asyncio: `messages`, the most important first."""

    def __init__(self, mailbox: AsyncMailbox, messages: tuple[MailboxMessage, ...]) -> None:
        self._mailbox = mailbox
        self.messages = messages

    async def settle(self, except_: Collection[str] = ()) -> None:
        """Says that the model has seen the messages and that the step is stored: they do not come again. Those whose ids
        are in `except_` come again at the next `take`. Settling again does nothing."""
        await self._mailbox._settle([message.id for message in self.messages], except_)


class AsyncMailbox(AsyncMailboxCalls):
    """Messages for an agent that is running, for asyncio: `async with client.mailbox("agent") as mailbox:`.

    `take` hands out what came, as texts that a model may be shown; `settle` of its batch says that the model has seen
    them. What was taken and not settled comes again after a restart. One process of the agent receives; others stand by.
    Claims that it has taken are renewed for as long as it is open. It opens at the first `take`, or on entering the
    block."""

    def __init__(
        self, connection: AsyncConnection, rules: Rules, agent_id: str, channels: Sequence[str] | None, attention: bool,
        max_chars: int, *, owns_connection: bool = False,
    ) -> None:
        mailing = Mailing(rules, agent_id, channels_of(channels))
        super().__init__(connection, mailing, checked_chars(max_chars))
        self._owns_connection = owns_connection
        self._attention = attention
        self._receiving = AsyncMailReceiving(connection, mailing, self._mail, self._guard)
        self._opening, self._taking = Turn(), Turn()
        self._open = self._closed = False
        self.agent_id = agent_id

    async def open(self) -> None:
        """Begins to receive, unless it has. Raises RuntimeError for a mailbox that was closed."""
        async with self._opening:
            if self._closed:
                raise RuntimeError("the mailbox is closed; make another one")
            if not self._open:
                await self._receiving.begin()
                self._open = True

    async def close(self) -> None:
        """Ends receiving, so that another process takes over, and gives its claims back. What was taken and not settled
        comes again when a mailbox of the agent opens."""
        async with self._opening:
            opened, self._open, self._closed = self._open, False, True
        if opened:
            await self._end_claims()
            with contextlib.suppress(OpenIntentError):
                await self._receiving.acknowledge()
            await self._receiving.end()
            self._receiving.changed.give()
        if self._owns_connection:
            await self._connection.close()

    async def __aenter__(self) -> AsyncMailbox:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def waiting(self) -> int:
        """How many messages wait, as far as this process knows; to ask takes none. A process that stands by knows of
        none."""
        with self._guard:
            return len(self._mail.waiting(self._clock()))

    def wake(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Has a callback called when something came, and at once if something waits. Returns what ends that. The
        callback must not wait for anything."""
        self._receiving.callbacks.append(callback)
        if self.waiting:
            self._receiving.call(callback)

        def end() -> None:
            if callback in self._receiving.callbacks:
                self._receiving.callbacks.remove(callback)

        return end

    async def take(self, wait: float = 0) -> AsyncBatch:
        """Hands out what waits, the most important first: urgent messages, then those that wait for an answer, then the
        rest. While there is nothing, it waits for so many seconds. Empty is no error. The texts of a batch have at most
        `max_chars` characters together; what does not fit waits for the next `take`. What this process holds is not
        handed out again."""
        async with self._taking:
            await self.open()
            until = self._clock() + wait
            await self._receiving.ready.wait(max(_READY_SECONDS, wait))
            while True:
                self._receiving.changed.clear()
                if self._receiving.failure is not None:
                    raise self._receiving.failure
                messages = await self._gathered()
                left = until - self._clock()
                if messages or left <= 0 or self._closed:
                    return AsyncBatch(self, tuple(messages))
                with self._guard:
                    turn = self._mail.next_turn(self._clock())
                await self._receiving.changed.wait(left if turn is None else min(left, turn))

    async def _gathered(self) -> list[MailboxMessage]:
        """Takes as many messages as fit. Nothing is taken before all are known, so a call that is cut short takes none."""
        room, fitting = self._max_chars, list[tuple[Letter, str]]()
        with self._guard:
            waiting = self._mail.waiting(self._clock())
        for letter in waiting:
            if not await self._is_current(letter):
                continue
            text = fitted(letter.message, letter.attention if self._attention else None, self._max_chars)
            if len(text) > room:
                break
            if letter.needs_claim and not await self._claimed(letter):
                continue
            room -= len(text)
            fitting.append((letter, text))
        with self._guard:
            # Meanwhile another process may have taken over.
            fitting = [(letter, text) for letter, text in fitting if self._mail.letter(letter.message.id) is letter]
            for letter, _ in fitting:
                letter.taken = True
        return [self._handed(letter, text) for letter, text in fitting]

    def _handed(self, letter: Letter, text: str) -> MailboxMessage:
        message = letter.message
        self._known[letter.channel_name] = message.channel_id
        return MailboxMessage(
            id=message.id,
            sender=message.sender,
            sender_kind=message.sender_kind,
            channel=letter.channel_name,
            policy=letter.attention.policy if letter.attention and self._attention else None,
            waits_for_answer=letter.waits_for_answer,
            attempt=letter.attempt,
            text=text,
            message=message,
            intent_id=letter.intent_id,
        )

    async def _is_current(self, letter: Letter) -> bool:
        """Reads a message again that has waited for long. Returns False for one that is gone or over, which is done with."""
        now, gone = self._clock(), False
        if now - letter.read > FRESH_SECONDS:
            try:
                fresh = await self._connection.run(self._mailing.message(letter.message.id))
            except (NotFoundError, PermissionDeniedError):
                gone = True
            else:
                letter.message, letter.read = replace(fresh, position=letter.message.position), now
                gone = fresh.deleted_at is not None
        if gone or letter.is_over(now):
            with self._guard:
                self._mail.finish(letter.message.id)
            return False
        return True

    async def _claimed(self, letter: Letter) -> bool:
        """Claims a request that takes an exact number of answers. If others hold the claims on it, it waits; if it has its
        answers, it is done with."""
        try:
            await self._connection.run(self._mailing.claim(letter.message, DEFAULT_TTL))
        except UnavailableError:
            raise
        except OpenIntentError as error:
            with self._guard:
                if error.reason == "CLAIMED":
                    letter.put_off(self._clock())
                else:
                    self._mail.finish(letter.message.id)
            return False
        self._keep()
        return True

    async def _settle(self, message_ids: list[str], except_: Collection[str]) -> None:
        if isinstance(except_, str):
            raise bad_field("except_", "must be a list of ids of messages")
        with self._guard:
            letters = [x for name in message_ids if (x := self._mail.letter(name)) is not None and x.taken]
        seen = [x.message.id for x in letters if x.message.id not in except_]
        requests = [x.message.id for x in letters if x.message.id in seen and x.message.message_type == "request"]
        await self._connection.run(self._mailing.seen(seen, requests))
        with self._guard:
            for name in seen:
                self._mail.finish(name)
            for letter in letters:
                if letter.message.id in except_:
                    self._mail.put_back(letter.message.id)
        if any(x.message.id in except_ for x in letters):
            self._receiving.changed.give()
        await self._receiving.acknowledge()

    def tools(self, key: Callable[[], str | None] | None = None) -> list[Callable[..., Any]]:
        """Returns what an agent does with its mailbox as plain functions with types and docstrings, of which frameworks make
        their tools. They take texts and return texts, also for what the server refuses. To take and to settle is not among
        them: that is for the framework's side, which knows when a step is stored. `key` returns the key of the call that is
        under way, with which `send` and `ask` happen once for a day; None: the call has none."""
        return async_tools(self, key or _no_key)


def _no_key() -> str | None:
    """The key of calls that nothing repeats."""
    return None

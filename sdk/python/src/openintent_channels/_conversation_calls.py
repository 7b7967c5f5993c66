# Generated from _async_conversation_calls.py by generate_blocking.py; edit that.
"""The calls on a message, for blocking programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ._conversation import DEFAULT_TTL, Conversation
from ._holding import Claim
from ._running import Runner
from .attention import Explanation
from .conversations import Discharge, Reaction, Revision, Thread
from .models import Message
from .search import SearchPage


class ConversationCalls:
    """What a client can do with a message after it was sent."""

    def __init__(self, connection: Runner, conversation: Conversation) -> None:
        self.connection = connection
        self.conversation = conversation

    def get_thread(self, channel_id: str, message_id: str) -> Thread:
        """Reads the whole thread to which a message belongs, as far as the caller may see it."""
        return self.connection.run(self.conversation.thread(channel_id, message_id))

    def search_messages(
        self,
        q: str,
        *,
        intent_id: str | None = None,
        channel_id: str | None = None,
        thread_id: str | None = None,
        sender: str | None = None,
        to: str | None = None,
        kind: str | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> SearchPage:
        """Finds messages by words, all of which must occur, and "phrases" in double quotes, the newest first, among those
        that the caller may see. `to` is an address exactly as messages were sent to it. `limit` is up to 100, else 20.
        `cursor` is the page's before, with the same query."""
        filters = {
            "intent_id": intent_id,
            "channel_id": channel_id,
            "thread_id": thread_id,
            "sender": sender,
            "to": to,
            "kind": kind,
        }
        return self.connection.run(self.conversation.search(q, filters, after, before, limit, cursor))

    def edit_message(
        self,
        channel_id: str,
        message_id: str,
        *,
        payload: Any = None,
        metadata: Mapping[str, Any] | None = None,
        subject: str | None = None,
        mentions: Sequence[str] | None = None,
        supersede: bool = False,
    ) -> Message:
        """Gives a message of the caller's new content, and returns it. What is None stays as it is, and an empty subject
        takes the subject away. Raises AnsweredError for a request that has an answer, unless the edit supersedes."""
        steps = self.conversation.edit(channel_id, message_id, payload, metadata, subject, mentions, supersede)
        return self.connection.run(steps)

    def delete_message(self, channel_id: str, message_id: str) -> Message:
        """Deletes the content of a message, and all its revisions; its place stays. Its sender may do so, and a manager of
        the channel. A request expires with it. Repetitions are harmless."""
        return self.connection.run(self.conversation.delete(channel_id, message_id))

    def list_revisions(self, channel_id: str, message_id: str) -> list[Revision]:
        """Lists what the content of a message was and is, oldest first; nothing of a deleted one."""
        return self.connection.run(self.conversation.revisions(channel_id, message_id))

    def add_reaction(
        self, channel_id: str, message_id: str, signal: str, note: str | None = None, eta: str | None = None
    ) -> list[Reaction]:
        """Reacts to a message: with `seen`, `agree`, `working`, `queued`, `claimed`, `done`, `declined`, `blocked`,
        `unclear` or one's own `x-...`. Returns all reactions to it. Repetitions are harmless."""
        return self.connection.run(self.conversation.react(channel_id, message_id, signal, note, eta))

    def remove_reaction(self, channel_id: str, message_id: str, signal: str) -> list[Reaction]:
        """Takes a signal away, if it is there. Returns all reactions to the message."""
        return self.connection.run(self.conversation.unreact(channel_id, message_id, signal))

    def list_reactions(self, channel_id: str, message_id: str) -> list[Reaction]:
        """Lists the reactions to a message, in the order in which they were set."""
        return self.connection.run(self.conversation.reactions(channel_id, message_id))

    def claim(self, channel_id: str, message_id: str, ttl: int = DEFAULT_TTL) -> Claim:
        """Returns a context that claims a message and renews the claim until its block ends. `ttl` is how many seconds the
        claim outlives a program that cannot renew it. On entry it raises ClaimedError when others hold the message, and
        AnsweredError when it has its answers."""
        return Claim(self.connection, self.conversation, channel_id, message_id, ttl)

    def get_attention(self, channel_id: str, message_id: str, agent_id: str | None = None) -> Explanation:
        """Tells what a message asks of an agent, of the caller when none is named, and by which rules."""
        return self.connection.run(self.conversation.explain(channel_id, message_id, agent_id))

    def set_disposition(
        self,
        channel_id: str,
        message_id: str,
        disposition: str,
        reason: str | None = None,
        until: datetime | None = None,
    ) -> None:
        """Says what the caller did with a message: `responded`, `acknowledged`, `deferred` (`until` a time), `claimed`,
        `ignored`, `superseded` or `failed`. The last one counts."""
        self.connection.run(self.conversation.dispose(channel_id, message_id, disposition, reason, until))

    def discharge(self, channel_id: str, message_id: str, note: str | None = None) -> Discharge:
        """Closes the obligation of a request. Its sender may do so, its delegate and the operator. Repetitions are harmless,
        and return what the first one did."""
        return self.connection.run(self.conversation.discharge(channel_id, message_id, note))

    def list_obligations(self, agent_id: str, side: str = "owes") -> list[Message]:
        """Lists the open obligations of an agent, oldest first: with `owes` what it owes, or its role, with `owed` what
        others owe to it."""
        return self.connection.run(self.conversation.obligations(agent_id, side))

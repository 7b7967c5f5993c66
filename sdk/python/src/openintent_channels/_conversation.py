"""What agents do with messages after they were sent: threads, edits, reactions, claims, and what messages ask of agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from . import _methods as methods
from ._calls import Calls
from ._effects import Steps
from ._generated import attention_pb2, claims_pb2, messages_pb2, obligations_pb2, reactions_pb2, search_pb2
from ._messages import stamp
from ._retrying import Deadline
from ._structs import to_struct
from ._words import number
from .attention import Explanation, explanation_of
from .conversations import Discharge, Reaction, Revision, Thread, discharge_of, reaction_of, revision_of
from .errors import ClaimLostError, FailedPreconditionError, NotFoundError, OpenIntentError
from .models import Message, message_of
from .payloads import encode
from .search import SearchPage, page_of

RENEWALS = 3
"""How often a claim is renewed in its time."""

DEFAULT_TTL = 90
"""How many seconds a claim lasts unless it is renewed."""


@dataclass(slots=True)
class Held:
    """A claim that was taken. `asked` is when its last term was asked for, so it lasts from then on at least."""

    channel_id: str
    message_id: str
    fence: int
    ttl: int
    asked: float
    expires_at: datetime

    def renew_in(self, now: float) -> float:
        """Returns the seconds until it has to be renewed."""
        return max(0.0, self.asked + self.ttl / RENEWALS - now)


@dataclass(slots=True)
class Place:
    """Where replies to a message find the fence of the claim that is held on it."""

    fence: int | None = None


@dataclass(slots=True)
class Conversation:
    """The rules of calls on messages. All of them may be repeated, so they are made again while the server is away."""

    calls: Calls

    def thread(self, channel_id: str, message_id: str) -> Steps[Thread]:
        """Reads the whole thread of a message, page by page."""
        request = messages_pb2.GetThreadRequest(channel_id=channel_id, message_id=message_id)
        messages: list[Message] = []
        participants: dict[str, None] = {}
        while True:
            page = yield from self.calls.call(methods.GET_THREAD, request)
            messages += [message_of(wire) for wire in page.messages]
            participants.update(dict.fromkeys(page.participants))
            if not page.next_cursor:
                root = message_of(page.root) if page.HasField("root") else None
                return Thread(root, tuple(messages), tuple(participants), page.last_position)
            request.cursor = page.next_cursor

    def search(
        self, q: str, filters: Mapping[str, str | None], after: datetime | None, before: datetime | None,
        limit: int | None, cursor: str | None,
    ) -> Steps[SearchPage]:
        """Finds a page of messages by their words. A filter that is None narrows nothing."""
        request = search_pb2.SearchMessagesRequest(
            q=q, after=stamp(after), before=stamp(before), limit=limit, cursor=cursor, **filters
        )
        return page_of((yield from self.calls.call(methods.SEARCH_MESSAGES, request)))

    def edit(
        self,
        channel_id: str,
        message_id: str,
        payload: Any,
        metadata: Mapping[str, Any] | None,
        subject: str | None,
        mentions: Sequence[str] | None,
        supersede: bool,
    ) -> Steps[Message]:
        """Gives a message new content. What is None stays as it is."""
        request = messages_pb2.UpdateMessageRequest(
            channel_id=channel_id,
            message_id=message_id,
            payload=None if payload is None else to_struct(encode(payload)),
            metadata=None if metadata is None else to_struct(metadata, "metadata"),
            subject=subject,
            supersede=supersede,
        )
        if mentions is not None:
            request.mentions.SetInParent()
            request.mentions.extend(list(mentions))
        return message_of((yield from self.calls.call(methods.UPDATE_MESSAGE, request)))

    def delete(self, channel_id: str, message_id: str) -> Steps[Message]:
        """Deletes the content of a message."""
        request = messages_pb2.DeleteMessageRequest(channel_id=channel_id, message_id=message_id)
        return message_of((yield from self.calls.call(methods.DELETE_MESSAGE, request)))

    def revisions(self, channel_id: str, message_id: str) -> Steps[list[Revision]]:
        """Lists all revisions of a message, page by page."""
        request = messages_pb2.ListRevisionsRequest(channel_id=channel_id, message_id=message_id)
        found: list[Revision] = []
        while True:
            page = yield from self.calls.call(methods.LIST_REVISIONS, request)
            found += [revision_of(wire) for wire in page.revisions]
            if not page.next_cursor:
                return found
            request.cursor = page.next_cursor

    def react(
        self, channel_id: str, message_id: str, signal: str, note: str | None, eta: str | None
    ) -> Steps[list[Reaction]]:
        """Sets a signal on a message."""
        request = reactions_pb2.AddReactionRequest(
            channel_id=channel_id, message_id=message_id, signal=signal, note=note, eta=eta
        )
        answer = yield from self.calls.call(methods.ADD_REACTION, request)
        return [reaction_of(wire) for wire in answer.reactions]

    def unreact(self, channel_id: str, message_id: str, signal: str) -> Steps[list[Reaction]]:
        """Takes a signal away."""
        request = reactions_pb2.RemoveReactionRequest(channel_id=channel_id, message_id=message_id, signal=signal)
        answer = yield from self.calls.call(methods.REMOVE_REACTION, request)
        return [reaction_of(wire) for wire in answer.reactions]

    def reactions(self, channel_id: str, message_id: str) -> Steps[list[Reaction]]:
        """Lists all reactions to a message, page by page."""
        request = reactions_pb2.ListReactionsRequest(channel_id=channel_id, message_id=message_id)
        found: list[Reaction] = []
        while True:
            page = yield from self.calls.call(methods.LIST_REACTIONS, request)
            found += [reaction_of(wire) for wire in page.reactions]
            if not page.next_cursor:
                return found
            request.cursor = page.next_cursor

    def explain(self, channel_id: str, message_id: str, agent_id: str | None) -> Steps[Explanation]:
        """Tells what a message asks of an agent, and why."""
        request = attention_pb2.GetAttentionRequest(channel_id=channel_id, message_id=message_id, agent_id=agent_id)
        return explanation_of((yield from self.calls.call(methods.GET_ATTENTION, request)))

    def dispose(
        self, channel_id: str, message_id: str, disposition: str, reason: str | None, until: datetime | None
    ) -> Steps[None]:
        """Says what the caller did with a message."""
        request = attention_pb2.SetDispositionRequest(
            channel_id=channel_id, message_id=message_id, disposition=disposition, reason=reason, until=stamp(until)
        )
        yield from self.calls.call(methods.SET_DISPOSITION, request)

    def surface(self, agent_id: str, message_ids: list[str]) -> Steps[None]:
        """Says that an agent's model saw messages."""
        request = attention_pb2.MarkSurfacedRequest(agent_id=agent_id, message_ids=message_ids)
        yield from self.calls.call(methods.MARK_SURFACED, request)

    def discharge(self, channel_id: str, message_id: str, note: str | None) -> Steps[Discharge]:
        """Closes an obligation."""
        request = obligations_pb2.DischargeObligationRequest(channel_id=channel_id, message_id=message_id, note=note)
        return discharge_of((yield from self.calls.call(methods.DISCHARGE_OBLIGATION, request)))

    def obligations(self, agent_id: str, side: str) -> Steps[list[Message]]:
        """Lists all open obligations of one side, page by page."""
        request = obligations_pb2.ListObligationsRequest(
            agent_id=agent_id, side=number(obligations_pb2.ObligationSide, "OBLIGATION_SIDE_", side, "side")
        )
        found: list[Message] = []
        while True:
            page = yield from self.calls.call(methods.LIST_OBLIGATIONS, request)
            found += [message_of(wire) for wire in page.messages]
            if not page.next_cursor:
                return found
            request.cursor = page.next_cursor

    def claim(self, channel_id: str, message_id: str, ttl: int, key: str | None = None) -> Steps[Held]:
        """Claims a message. Its key lets a repeated call get the same claim."""
        request = claims_pb2.ClaimMessageRequest(
            channel_id=channel_id, message_id=message_id, ttl_seconds=ttl, idempotency_key=key or self.calls.key()
        )
        asked = self.calls.clock()
        taken = yield from self.calls.call(methods.CLAIM_MESSAGE, request)
        return Held(channel_id, message_id, taken.fence, ttl, asked, taken.expires_at.ToDatetime())

    def renew(self, held: Held) -> Steps[bool]:
        """Renews a claim. Returns False when the message was answered, which ends the claim in order. Raises ClaimLostError
        when it has ended otherwise, or may be over before an answer comes."""
        request = claims_pb2.ClaimMessageRequest(
            channel_id=held.channel_id, message_id=held.message_id, ttl_seconds=held.ttl, fence=held.fence
        )
        asked = self.calls.clock()
        deadline = Deadline(self.calls.clock, held.asked + held.ttl, held.ttl)
        try:
            yield from self.calls.call(methods.CLAIM_MESSAGE, request, deadline=deadline)
        except ClaimLostError:
            raise
        except OpenIntentError as error:
            if error.reason == "ANSWERED":
                return False
            raise ClaimLostError(
                f"The claim is lost: {error.message}", code=error.code, reason="CLAIM_LOST", metadata=error.metadata
            ) from error
        held.asked = asked
        return True

    def release(self, held: Held) -> Steps[bool]:
        """Gives a claim back. Returns False when it had ended before, as it does with an answer."""
        request = claims_pb2.ReleaseClaimRequest(
            channel_id=held.channel_id, message_id=held.message_id, fence=held.fence
        )
        try:
            yield from self.calls.call(methods.RELEASE_CLAIM, request)
        except (FailedPreconditionError, NotFoundError):
            return False
        return True


def takes_claims(wire: messages_pb2.Message) -> bool:
    """Whether only holders of claims may answer a message: a request to a role that takes a certain number of answers."""
    exact = wire.HasField("collect") and (
        wire.collect.string_value == "one" or wire.collect.HasField("struct_value")
    )
    return exact and wire.message_type == messages_pb2.MESSAGE_TYPE_REQUEST and wire.to.startswith("role:")


def id_of(message: Message | str) -> str:
    """Returns the id of a message that is given whole or by its id."""
    return message if isinstance(message, str) else message.id

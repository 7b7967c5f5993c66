"""What a search for messages finds, as plain immutable objects."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ._generated import search_pb2
from .models import Message, message_of, optional_time


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A message that a search has found. `snippet` is the text around what was found, up to 200 characters."""

    message: Message
    snippet: str
    intent_id: str
    channel_name: str


@dataclass(frozen=True, slots=True)
class SearchPage:
    """A page of what a search has found, the newest first. `next_cursor` goes on; it is None on the last page.
    `complete_through` is the time up to which the server's index has all messages, those of the named intent or of all; it
    is None while there is no such time. `complete_from` is the time from which it has those of the named intent; None is
    the beginning. `messages_left` is how many messages of the named intent are not indexed yet, at most; they are being
    indexed, the newest first, so search again. `intents_not_indexed` is how many of the intents that the client may search
    are not wholly indexed, if the search names none; one that names an intent has it indexed. `bounded` tells that the page
    ended because the server had looked at as many messages as one page may, so there may be more to find."""

    messages: tuple[FoundMessage, ...]
    next_cursor: str | None
    complete_through: datetime | None
    bounded: bool
    complete_from: datetime | None = None
    messages_left: int = 0
    intents_not_indexed: int = 0


def page_of(wire: search_pb2.SearchMessagesResponse) -> SearchPage:
    """Reads a page from the wire."""
    found = (
        FoundMessage(message_of(one.message), one.snippet, one.intent_id, one.channel_name) for one in wire.messages
    )
    return SearchPage(
        messages=tuple(found),
        next_cursor=wire.next_cursor or None,
        complete_through=optional_time(wire, "complete_through"),
        bounded=wire.bounded,
        complete_from=optional_time(wire, "complete_from"),
        messages_left=wire.messages_left,
        intents_not_indexed=wire.intents_not_indexed,
    )

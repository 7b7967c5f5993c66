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
    `complete_through` is the time up to which the server's index has all messages; it is None while the index is first
    being filled. `bounded` tells that the page ended because the server had looked at as many messages as one page may, so
    there may be more to find."""

    messages: tuple[FoundMessage, ...]
    next_cursor: str | None
    complete_through: datetime | None
    bounded: bool


def page_of(wire: search_pb2.SearchMessagesResponse) -> SearchPage:
    """Reads a page from the wire."""
    found = (
        FoundMessage(message_of(one.message), one.snippet, one.intent_id, one.channel_name) for one in wire.messages
    )
    return SearchPage(tuple(found), wire.next_cursor or None, optional_time(wire, "complete_through"), wire.bounded)

"""Handlers: how they are marked, found, matched and called. Nothing here speaks to a server."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from . import payloads
from .errors import OpenIntentError
from .models import Message

F = TypeVar("F", bound=Callable[..., Any])

_MARK = "__openintent_channels__"
_MENTION_MARK = "__openintent_mentions__"
_OBLIGATION_MARK = "__openintent_obligations__"
_DIGEST_MARK = "__openintent_digests__"
DIGEST = "digest"
"""What handlers of digests are about."""

_MARKS = {"": _MARK, "mention": _MENTION_MARK, "obligation": _OBLIGATION_MARK, DIGEST: _DIGEST_MARK}
_LONGEST_TEXT = 8_192


def on_message(channel: str | None = None) -> Callable[[F], F]:
    """Marks a method as a handler of the messages on channels of that name. Without a name, it handles the messages that no
    other handler takes. A method may be marked several times."""
    return _marking("on_message", _MARK, channel)


def on_mention(channel: str | None = None) -> Callable[[F], F]:
    """Marks a method as a handler of the messages that mention the agent, on channels of that name or, without one, on all
    that have no such handler. It is called in place of those of `on_message`. An agent that has one attends to messages."""
    return _marking("on_mention", _MENTION_MARK, channel)


def on_obligation(channel: str | None = None) -> Callable[[F], F]:
    """Marks a method as a handler of the requests whose obligation is open, and of the server's reminders of them, on
    channels of that name or, without one, on all that have no such handler. It is called in place of the others. The
    reminders come on the channel `_system`; `message.attention.knock` says where the request is. An agent that has one
    attends to messages."""
    return _marking("on_obligation", _OBLIGATION_MARK, channel)


def on_digest() -> Callable[[F], F]:
    """Marks a method as a handler of the digests that the agent's `digest_seconds` asks for. Its parameter is the Digest.
    Its result is ignored, and its error logged. Without a handler the agent leaves digests out."""
    return _marking("on_digest", _DIGEST_MARK, None)


def _marking(decorator: str, attribute: str, channel: str | None) -> Callable[[F], F]:
    if channel is not None and not isinstance(channel, str):
        raise TypeError(f"{decorator} takes a channel's name: write @{decorator}() for a handler without one")

    def mark(function: F) -> F:
        setattr(function, attribute, (*getattr(function, attribute, ()), channel))
        return function

    return mark


@dataclass(frozen=True, slots=True)
class Handler:
    """A callable that takes the messages on channels of one name, or with None those that no other handler takes. `typed`
    has, for each parameter, the type that the payload is read as; None where the parameter gets the message itself.
    `about` is what its messages are about: `mention` for those that mention the agent, `obligation` for those about an open
    obligation, and else nothing. A handler about `digest` takes digests and no messages."""

    channel: str | None
    function: Callable[..., Any]
    typed: tuple[Any, ...]
    about: str = ""
    is_async: bool = field(init=False)
    """Whether it runs in the event loop; others run in a thread."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_async", _is_async(self.function))

    @classmethod
    def of(cls, channel: str | None, function: Callable[..., Any], about: str = "") -> Handler:
        """Makes a handler of a function by reading its parameters. Raises TypeError when they cannot be filled."""
        typed = tuple(_parameter_types(function))
        return cls(channel, function, (None,) * len(typed) if about == DIGEST else typed, about)

    @property
    def attends(self) -> bool:
        """Whether it must know what its messages ask of the agent."""
        return self.about not in ("", DIGEST)

    def arguments(self, message: Any) -> list[Any]:
        """Returns the arguments to call it with for a message or a digest. Raises PayloadError when the payload does not
        have the form it asks for."""
        return [message if kind is None else message.payload_as(kind) for kind in self.typed]


def _is_async(function: Callable[..., Any]) -> bool:
    if not inspect.isfunction(function) and not inspect.ismethod(function):
        function = getattr(function, "__call__", function)  # noqa: B004
    return inspect.iscoroutinefunction(function)


def _parameter_types(function: Callable[..., Any]) -> Iterable[Any]:
    """Yields what fills each parameter: the payload for a dataclass, a pydantic model or dict, and else the message."""
    target = function if inspect.isroutine(function) else type(function).__call__
    try:
        hints = typing.get_type_hints(target)
    except NameError as error:
        name = getattr(function, "__qualname__", repr(function))
        raise TypeError(f"the annotations of {name} cannot be read: {error}; use types that its module names") from error
    parameters = [
        p
        for p in inspect.signature(function).parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
    ]
    for parameter in parameters:
        hint = hints.get(parameter.name)
        if (typing.get_origin(hint) or hint) in (dict, Mapping):
            yield dict
        elif payloads.is_typed(hint) and not (isinstance(hint, type) and issubclass(hint, Message)):
            yield hint
        else:
            yield None


def handlers_of(agent: object) -> list[Handler]:
    """Returns an agent's handlers: those of its base classes first, and those of each class in the order of its text."""
    names: dict[str, None] = {}
    for owner in reversed(type(agent).__mro__):
        names.update(dict.fromkeys(name for name, member in vars(owner).items() if _is_marked(member)))
    found = []
    for name in names:
        function = getattr(agent, name)
        for about, mark in _MARKS.items():
            found += [Handler.of(channel, function, about) for channel in reversed(getattr(function, mark, ()))]
    return found


def _is_marked(member: object) -> bool:
    return any(hasattr(member, mark) for mark in _MARKS.values())


def matching(handlers: Iterable[Handler], channel_name: str, about: str = "") -> list[Handler]:
    """Returns the handlers of a message on a channel: those for the channel's name, or else those without a name. Those of
    what the message is about come in place of the others."""
    all_of_them = list(handlers)
    if about and (told := _matching([h for h in all_of_them if h.about == about], channel_name)):
        return told
    return _matching([h for h in all_of_them if not h.about], channel_name)


def about_of(reason: str | None) -> str:
    """Returns what a message is about by the reason of its attention."""
    return {"mention": "mention", "obligation": "obligation", "obligation_return": "obligation"}.get(reason or "", "")


def _matching(handlers: list[Handler], channel_name: str) -> list[Handler]:
    named = [h for h in handlers if h.channel == channel_name]
    return named or [h for h in handlers if h.channel is None]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a handler answered."""

    payload: dict[str, Any]
    failed: bool = False


def answer_of(result: Any) -> Answer | None:
    """Returns the answer that a result stands for, and None for None. Raises PayloadError when it is not an object."""
    return None if result is None else Answer(payloads.encode(result, "result"))


def failure_of(error: BaseException) -> Answer:
    """Returns the answer that reports a failure, for the asker's RemoteError. It leaves out what no payload may hold."""
    try:
        text = error.message if isinstance(error, OpenIntentError) else str(error)
    except Exception:  # an error that cannot even say what it is
        text = ""
    text = text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")[:_LONGEST_TEXT]
    return Answer({"error": {"type": type(error).__name__, "message": text}}, failed=True)



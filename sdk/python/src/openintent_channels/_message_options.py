"""What a message may say beside its payload, and how that is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from ._environment import distance
from ._generated import attention_pb2
from ._structs import to_struct
from ._words import number

if TYPE_CHECKING:
    from .models import Message


class MessageOptions(TypedDict, total=False):
    """What any message may say. `parent` is the message that it belongs under, or its id. `priority` is `low`, `normal`,
    `high` or `urgent`. `mentions` are agents and `role:` names; they replace those that the server finds in the text, and an
    empty list means none. `directedness` and `policy` lower what the message asks of its recipients."""

    parent: Message | str | None
    subject: str | None
    kind: str | None
    task_id: str | None
    priority: str | None
    mentions: Sequence[str] | None
    directedness: str | None
    policy: str | None


class RequestOptions(MessageOptions, total=False):
    """What a request may say too. `collect` is how many answers it takes: `any`, `one`, `all` or `{"quorum": n}`.
    `obligation` keeps it open until somebody discharges it: what it blocks, `halted`, `degraded` or `none`, or
    `{"blocks": ..., "delegate": ...}`. With `fail_fast` it is refused, and nothing is sent, if nobody is there to answer
    (FailedPreconditionError with the reason NOBODY_THERE)."""

    collect: str | Mapping[str, int] | None
    obligation: Mapping[str, str | None] | str | None
    fail_fast: bool | None


class SendOptions(RequestOptions, total=False):
    """What a message may say too that is sent and not awaited. `document` makes it the present content of the channel's
    document that is called `kind`, which is kept however many messages come after it. `replaces` is the message that must be
    the document's content now, or its id; an empty text if there must be none."""

    document: bool | None
    replaces: Message | str | None


class ReplyOptions(MessageOptions, total=False):
    """What a reply may say too: the `fence` of the claim under which it answers."""

    fence: int | None


_PLAIN = ("subject", "kind", "task_id", "fence", "document", "fail_fast")
_MESSAGES = {"parent": "parent_id", "replaces": "replaces"}
_ARGUMENTS = {
    "timeout": "timeout_seconds", "min_responses": "min_responses", "metadata": "metadata", "sender": "sender",
    "expires_at": "expires_at", "message_type": "message_type", "idempotency_key": "idempotency_key",
}
"""The arguments of calls that are not options, with their fields: somebody who misspells one gives an option."""

_ENUMS: Mapping[str, tuple[Any, str]] = {
    "priority": (attention_pb2.Priority, "PRIORITY_"),
    "directedness": (attention_pb2.Directedness, "DIRECTEDNESS_"),
    "policy": (attention_pb2.ResponsePolicy, "RESPONSE_POLICY_"),
}
_OPTIONS = (*_PLAIN, *_MESSAGES, *_ENUMS, "mentions", "collect", "obligation")
_FARTHEST = 2


def say(request: Any, options: Mapping[str, Any] | None) -> None:
    """Writes options into a request. Raises TypeError for one that the request does not have."""
    for name, value in (options or {}).items():
        field = _MESSAGES.get(name, name)
        if name not in _OPTIONS or field not in request.DESCRIPTOR.fields_by_name:
            raise TypeError(f"there is no option {name!r} for this call{_meant(name, request)}")
        if value is None:
            continue
        if name in _ENUMS:
            setattr(request, field, number(*_ENUMS[name], value, name))
        elif name in _MESSAGES:
            setattr(request, field, value if isinstance(value, str) else value.id)
        elif name == "mentions":
            request.mentions.SetInParent()
            request.mentions.extend(list(value))
        elif name == "collect":
            _say_collect(request.collect, value)
        elif name == "obligation":
            _say_obligation(request.obligation, value)
        else:
            setattr(request, field, value)


def _meant(name: str, request: Any) -> str:
    """Returns a question after the option or the argument that somebody may have meant, or nothing when none is near."""
    fields = {option: _MESSAGES.get(option, option) for option in _OPTIONS} | _ARGUMENTS
    known = [option for option, field in fields.items() if field in request.DESCRIPTOR.fields_by_name]
    near = min(known, key=lambda option: distance(name, option))
    return f"; did you mean {near}?" if distance(name, near) <= _FARTHEST else ""


def exactly(collect: str | Mapping[str, int] | None) -> int | None:
    """Returns how many answers a request takes exactly, or None when there is no such number."""
    if isinstance(collect, Mapping):
        return collect.get("quorum")
    return 1 if collect == "one" else None


def _say_collect(target: Any, value: str | Mapping[str, int]) -> None:
    if isinstance(value, str):
        target.string_value = value
    else:
        target.struct_value.CopyFrom(to_struct(value, "collect"))


def _say_obligation(target: Any, value: str | Mapping[str, str | None]) -> None:
    said = {"blocks": value} if isinstance(value, str) else dict(value)
    if unknown := said.keys() - {"blocks", "delegate"}:
        raise TypeError(f"an obligation has blocks and delegate, and no {min(unknown)!r}")
    target.SetInParent()
    if (blocks := said.get("blocks")) is not None:
        target.blocks = number(attention_pb2.Blocks, "BLOCKS_", blocks, "obligation.blocks")
    if (delegate := said.get("delegate")) is not None:
        target.delegate = delegate

"""Channels, and the few calls on intents that conversations need."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _methods as methods
from ._bounds import check_channel_name
from ._calls import Calls
from ._effects import Steps
from ._generated import access_pb2, channels_pb2, intents_pb2
from ._retrying import Deadline, never_began
from ._structs import to_struct
from .directory import IntentPage, intent_page_of
from .errors import ChannelNameTakenError, InvalidArgumentError, OpenIntentError, Violation
from .models import Channel, ChannelOptions, Intent, channel_of, intent_of, number

Options = ChannelOptions | Mapping[str, Any]
"""A channel's options: ChannelOptions, or a dict with some of `audit`, `ttl_seconds`, `max_messages`, `history`,
`turn_budget` and `conversation_budget`."""

_OPTIONS = ("audit", "ttl_seconds", "max_messages", "history", "turn_budget", "conversation_budget")


@dataclass(slots=True)
class _Lost:
    """Whether an attempt at a call may have taken effect without an answer."""

    any: bool = False

    def note(self, error: OpenIntentError) -> bool:
        """Notes an attempt that failed, and has the call made again."""
        self.any = self.any or not never_began(error)
        return True


@dataclass(slots=True)
class Channels:
    """The rules of channels."""

    calls: Calls

    def create(
        self,
        intent_id: str,
        name: str,
        members: Sequence[str],
        member_policy: str,
        options: Options | None,
        task_id: str | None,
        dictatable: bool = False,
        deadline: Deadline | None = None,
    ) -> Steps[Channel]:
        """Creates a channel. The call carries no key. So when the outcome of an attempt is unknown, and the next one finds
        the name taken by an open channel that this sender created, the earlier attempt created it."""
        check_channel_name(name)
        request = channels_pb2.CreateChannelRequest(
            intent_id=intent_id,
            name=name,
            members=members,
            member_policy=number(channels_pb2.MemberPolicy, "MEMBER_POLICY_", member_policy, "member_policy"),
            options=_options(options),
            task_id=task_id,
            dictatable=dictatable,
        )
        deadline, lost = deadline or self.calls.deadline(), _Lost()
        try:
            return channel_of((yield from self.calls.call(methods.CREATE_CHANNEL, request, (), deadline, lost.note)))
        except ChannelNameTakenError:
            made = (yield from self._find(intent_id, name, deadline)) if lost.any else None
            if made is None or made.created_by != self.calls.sender:
                raise
            return made

    def open(
        self,
        name: str,
        intent_id: str | None,
        members: Sequence[str],
        member_policy: str,
        options: Options | None,
    ) -> Steps[Channel]:
        """Gets the intent's open channel of that name, or creates it. When several callers do so at once, one creates it."""
        intent_id = self.calls.intent("channels.open", intent_id)
        check_channel_name(name)
        deadline = self.calls.deadline()
        while True:
            found = yield from self._find(intent_id, name, deadline)
            if found is not None:
                return found
            try:
                return (yield from self.create(intent_id, name, members, member_policy, options, None, deadline=deadline))
            except ChannelNameTakenError:
                continue

    def list(self, intent_id: str | None) -> Steps[list[Channel]]:
        """Lists an intent's channels, open ones first."""
        request = channels_pb2.ListChannelsRequest(intent_id=self.calls.intent("list_channels", intent_id))
        return (yield from self._every(request, self.calls.deadline()))

    def get(self, channel_id: str) -> Steps[Channel]:
        """Reads a channel."""
        request = channels_pb2.GetChannelRequest(channel_id=channel_id)
        return channel_of((yield from self.calls.call(methods.GET_CHANNEL, request)))

    def close(self, channel_id: str) -> Steps[Channel]:
        """Closes a channel. A closed one stays closed."""
        request = channels_pb2.UpdateChannelRequest(
            channel=channels_pb2.Channel(id=channel_id, status=channels_pb2.CHANNEL_STATUS_CLOSED)
        )
        request.update_mask.paths.append("status")
        return channel_of((yield from self.calls.call(methods.UPDATE_CHANNEL, request)))

    def _find(self, intent_id: str, name: str, deadline: Deadline) -> Steps[Channel | None]:
        request = channels_pb2.ListChannelsRequest(intent_id=intent_id, status=channels_pb2.CHANNEL_STATUS_OPEN)
        every = yield from self._every(request, deadline)
        return next((channel for channel in every if channel.name == name), None)

    def _every(
        self, request: channels_pb2.ListChannelsRequest, deadline: Deadline
    ) -> Steps[builtins.list[Channel]]:
        """Gathers the pages of a list of channels."""
        found = []
        while True:
            page = yield from self.calls.call(methods.LIST_CHANNELS, request, deadline=deadline)
            found += [channel_of(wire) for wire in page.channels]
            if not page.next_cursor:
                return found
            request.cursor = page.next_cursor


@dataclass(slots=True)
class Intents:
    """The rules of intents. Creating one carries no key, so it is tried again only when the last attempt certainly had no
    effect."""

    calls: Calls

    def create(
        self,
        title: str,
        description: str | None,
        status: str | None,
        state: Mapping[str, Any] | None,
        constraints: Mapping[str, Any] | None,
        parent_intent_id: str | None,
        depends_on: Sequence[str],
        default_policy: str | None,
    ) -> Steps[Intent]:
        """Creates an intent."""
        request = intents_pb2.CreateIntentRequest(
            title=title, description=description, parent_intent_id=parent_intent_id, depends_on=depends_on
        )
        if status is not None:
            request.status = number(intents_pb2.IntentStatus, "INTENT_STATUS_", status, "status")
        if default_policy is not None:
            request.default_policy = number(
                access_pb2.AccessPolicy, "ACCESS_POLICY_", default_policy, "default_policy"
            )
        if state is not None:
            request.state.CopyFrom(to_struct(state, "state"))
        if constraints is not None:
            request.constraints.CopyFrom(to_struct(constraints, "constraints"))
        return intent_of((yield from self.calls.call(methods.CREATE_INTENT, request, retried=never_began)))

    def open(self, title: str, description: str | None, default_policy: str | None) -> Steps[Intent]:
        """Finds the intent of a title, or makes it. A call whose outcome is unknown is made again: it finds what it made."""
        request = intents_pb2.OpenIntentRequest(title=title, description=description)
        if default_policy is not None:
            request.default_policy = number(
                access_pb2.AccessPolicy, "ACCESS_POLICY_", default_policy, "default_policy"
            )
        return intent_of((yield from self.calls.call(methods.OPEN_INTENT, request)).intent)

    def list(self, status: str | None, order: str | None, limit: int | None, cursor: str | None) -> Steps[IntentPage]:
        """Lists a page of intents."""
        request = intents_pb2.ListIntentsRequest(order=order, limit=limit, cursor=cursor)
        if status is not None:
            request.status = number(intents_pb2.IntentStatus, "INTENT_STATUS_", status, "status")
        return intent_page_of((yield from self.calls.call(methods.LIST_INTENTS, request)))

    def get(self, intent_id: str | None, deadline: Deadline | None = None) -> Steps[Intent]:
        """Reads an intent."""
        request = intents_pb2.GetIntentRequest(intent_id=self.calls.intent("intents.get", intent_id))
        return intent_of((yield from self.calls.call(methods.GET_INTENT, request, deadline=deadline)))

    def set_status(self, intent_id: str, status: str, reason: str | None) -> Steps[Intent]:
        """Moves an intent along its lifecycle, from its current version. When somebody else changes it meanwhile, this moves
        the newer version. When the outcome of an attempt is unknown and the intent then has the status, that attempt set
        it."""
        wanted = number(intents_pb2.IntentStatus, "INTENT_STATUS_", status, "status")
        deadline, lost = self.calls.deadline(), _Lost()
        while True:
            current = yield from self.get(intent_id, deadline)
            request = intents_pb2.SetIntentStatusRequest(
                intent_id=intent_id, expected_version=current.version, status=wanted, reason=reason
            )
            try:
                return intent_of(
                    (yield from self.calls.call(methods.SET_INTENT_STATUS, request, (), deadline, lost.note))
                )
            except OpenIntentError as error:
                if lost.any:
                    current = yield from self.get(intent_id, deadline)
                    if current.status == status:
                        return current
                if error.reason != "VERSION_MISMATCH":
                    raise


def _options(said: Options | None) -> channels_pb2.ChannelOptions | None:
    if said is None:
        return None
    if isinstance(said, ChannelOptions):
        said = {name: getattr(said, name) for name in _OPTIONS}
    for name in said:
        if name not in _OPTIONS:
            problem = f"there is no such option; the options are {', '.join(_OPTIONS)}"
            raise InvalidArgumentError(
                f"options.{name}: {problem}", code="INVALID_ARGUMENT", violations=[Violation(f"options.{name}", problem)]
            )
    given = {name: value for name, value in said.items() if value is not None}
    if "history" in given:
        given["history"] = number(channels_pb2.ChannelHistory, "CHANNEL_HISTORY_", given["history"], "options.history")
    return channels_pb2.ChannelOptions(**given)

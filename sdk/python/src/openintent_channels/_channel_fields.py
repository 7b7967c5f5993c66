"""A channel's fields, as its handles show them."""

from __future__ import annotations

from .models import Channel, ChannelOptions


class ChannelFields:
    """The fields of a channel as it was when it was last read."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    @property
    def channel(self) -> Channel:
        """The channel as it was when it was last read."""
        return self._channel

    @property
    def id(self) -> str:
        """Its identifier."""
        return self._channel.id

    @property
    def intent_id(self) -> str:
        """The intent it belongs to."""
        return self._channel.intent_id

    @property
    def name(self) -> str:
        """Its name."""
        return self._channel.name

    @property
    def status(self) -> str:
        """`open` or `closed`."""
        return self._channel.status

    @property
    def created_by(self) -> str:
        """Who created it."""
        return self._channel.created_by

    @property
    def members(self) -> tuple[str, ...]:
        """Its listed members, which decide only under the `explicit` policy."""
        return self._channel.members

    @property
    def member_policy(self) -> str:
        """`intent` or `explicit`."""
        return self._channel.member_policy

    @property
    def options(self) -> ChannelOptions:
        """Its settings."""
        return self._channel.options

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, id={self.id!r}, status={self.status!r})"

"""`${...}` in scenario files, and the names that are made unique to a run."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from openintent_channels import OpenIntentError

_REFERENCE = re.compile(r"\$\{([^}]+)\}")


def resolve(value: Any, facts: dict[str, Any]) -> Any:
    """Replaces references. A text that is only a reference becomes what it refers to, with its type."""
    if isinstance(value, dict):
        return {key: resolve(member, facts) for key, member in value.items()}
    if isinstance(value, list):
        return [resolve(member, facts) for member in value]
    if not isinstance(value, str):
        return value
    whole = _REFERENCE.fullmatch(value)
    if whole:
        return look_up(whole[1], facts)
    return _REFERENCE.sub(lambda found: str(look_up(found[1], facts)), value)


def look_up(path: str, facts: dict[str, Any]) -> Any:
    """Follows a path of names and numbers. Raises KeyError when it leads nowhere."""
    value: Any = facts
    for name in path.split("."):
        try:
            value = value[int(name)] if isinstance(value, list) else value[name]
        except (KeyError, IndexError, TypeError) as error:
            raise KeyError(f"${{{path}}} refers to nothing") from error
    return value


def plain(result: Any) -> Any:
    """Returns a result as plain objects, as expectations and references see it."""
    if isinstance(result, OpenIntentError):
        return {
            "class": type(result).__name__,
            "reason": result.reason,
            "message": result.message,
            "message_id": result.message_id,
        }
    if isinstance(result, (list, tuple)):
        return [plain(member) for member in result]
    if dataclasses.is_dataclass(result) and not isinstance(result, type):
        return {f.name: plain(getattr(result, f.name)) for f in dataclasses.fields(result)}
    return result


class Names:
    """Makes the names of a scenario's agents and roles unique to the run, and turns them back."""

    def __init__(self, run: str, names: set[str]) -> None:
        self._suffix = f"-{run}"
        self._names = names

    def unique(self, value: Any) -> Any:
        """Returns names, alone, in lists or after `role:`, as they are in this run."""
        if isinstance(value, list):
            return [self.unique(member) for member in value]
        if not isinstance(value, str):
            return value
        prefix, role, name = value.rpartition("role:")
        return f"{prefix}{role}{name}{self._suffix}" if name in self._names else value

    def common(self, value: Any) -> Any:
        """Returns a result with names as they are in the file."""
        if isinstance(value, dict):
            return {key: self.common(member) for key, member in value.items()}
        if isinstance(value, list):
            return [self.common(member) for member in value]
        return value.replace(self._suffix, "") if isinstance(value, str) else value

"""The short words that stand for the values of the contract's enums."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ._basic_errors import InvalidArgumentError, Violation


@lru_cache(maxsize=1024)
def word(enum: Any, prefix: str, number: int) -> str:
    """Returns the short word for an enum's value: `request` for MESSAGE_TYPE_REQUEST. For an unknown one, its number."""
    try:
        return str(enum.Name(number)).removeprefix(prefix).lower()
    except ValueError:
        return str(number)


def number(enum: Any, prefix: str, said: str, field_name: str) -> Any:
    """Returns the enum's value for a short word. Raises InvalidArgumentError, which lists the words, for any other."""
    words = _words(enum, prefix)
    if said not in words:
        problem = f"must be one of {', '.join(words)}, not {said!r}"
        raise InvalidArgumentError(
            f"{field_name} {problem}.", code="INVALID_ARGUMENT", violations=[Violation(field_name, problem)]
        )
    return words[said]


@lru_cache(maxsize=1024)
def _words(enum: Any, prefix: str) -> Mapping[str, int]:
    return {name.removeprefix(prefix).lower(): value for name, value in enum.items() if value != 0}

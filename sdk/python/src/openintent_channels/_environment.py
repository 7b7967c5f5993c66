"""The environment variables that clients read, and warnings of misspelt ones."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

_PREFIX = "OPENINTENT_"
_VARIABLES = ("SERVER", "URL", "API_KEY", "AGENT_ID", "INTENT_ID", "TLS", "CA_FILE")

_FOREIGN = ("API_KEYS", "INTENT")
"""Variables of others whose names are close to those of clients: a setting of the server, and what a command learns that the
command line wakes."""

_LEAST_PART = 3
_FARTHEST = 2

_warned: set[str] = set()


def warn_of_misspelt(environment: Mapping[str, str]) -> None:
    """Says once in a program which variables are close to a client's setting and are none."""
    for sentence in misspelt(environment):
        if sentence not in _warned:
            _warned.add(sentence)
            logging.getLogger("openintent_channels").warning("%s", sentence)


def misspelt(environment: Mapping[str, str]) -> list[str]:
    """Returns a sentence for each such variable."""
    return sorted(
        f"{name} is no setting and has no effect; did you mean {_PREFIX}{meant}?" for name, meant in _meant(environment)
    )


def _meant(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in environment.items():
        short = name.removeprefix(_PREFIX)
        if value and short != name and short not in (*_VARIABLES, *_FOREIGN) and (near := _nearest(short)):
            yield name, near


def _nearest(short: str) -> str | None:
    """Returns the variable that somebody may have meant. It has at most two other characters, one if it is short, or the
    given name is the beginning or the end of its name."""
    wanted, nearest, least = short.replace("_", ""), None, _FARTHEST + 1
    for candidate in _VARIABLES:
        known = candidate.replace("_", "")
        far = distance(wanted, known)
        if len(wanted) >= _LEAST_PART and (known.startswith(wanted) or known.endswith(wanted)):
            far = min(far, _FARTHEST)
        if far < least and (far < _FARTHEST or len(known) > _LEAST_PART):
            nearest, least = candidate, far
    return nearest


def distance(source: str, target: str) -> int:
    """Returns how many characters to insert, remove or replace to make one text of the other."""
    row = list(range(len(target) + 1))
    for i, char in enumerate(source):
        diagonal, row[0] = row[0], i + 1
        for j, other in enumerate(target):
            cost = diagonal + (char != other)
            diagonal = row[j + 1]
            row[j + 1] = min(cost, row[j] + 1, diagonal + 1)
    return row[-1]

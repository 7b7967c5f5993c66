#!/usr/bin/env python3
"""Makes the modules of the blocking client: from each `async_NAME.py` or `_async_NAME.py` the same without `async`.

    sdk/python/generate_blocking.py            writes them
    sdk/python/generate_blocking.py --check    changes nothing, and fails when a module differs from a newly made one
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent / "src/openintent_channels"
HEADER = "# Generated from "

NAMES = {
    "AgentMessage": "BlockingAgentMessage",
    "StopAsyncIteration": "StopIteration",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
    "_awaiting": "_blocking",
    "aclose": "close",
    "anext": "next",
}
"""Names that say something else in the blocking client. All others only lose their `async_` or `Async`."""

PHRASES = {
    "for asyncio": "for blocking programs",
    "One task at a time": "One thread at a time",
    "for a task that waits": "for a thread that waits",
    " It ends when a wait for it is cancelled, for example by `asyncio.wait_for`.": "",
    "for an async handler": "for a plain handler, which runs in a thread",
    "for the event loop in which it is first used": "for any number of threads",
    "it renews itself until the block ends, and the block is cancelled if it is lost":
        "a thread renews it until the block ends",
    "It renews itself until the block ends, and is then released":
        "A thread renews it until the block ends, which releases it",
    "If it is lost, the block is cancelled and raises":
        "Python cannot stop a block from outside, so ask `lost`, or call `check()`, before a step that needs it.\n"
        "    A block that ends well although it is lost raises",
}
"""What docstrings say otherwise in the blocking client, each on one line."""


def made(sources: dict[str, str]) -> dict[str, str]:
    """Returns the blocking modules, by the names of their files. Raises ValueError if something would be wrong in one."""
    if unused := [phrase for phrase in PHRASES if not any(phrase in text for text in sources.values())]:
        raise ValueError(f"no module has these phrases any more: {unused}")
    modules = {}
    for source, text in sources.items():
        blocking = _blocking(text)
        if left := re.search(r".*(?:async|await).*", blocking, re.IGNORECASE):
            raise ValueError(f"{source}: this means nothing in the blocking client: {left[0].strip()}")
        modules[source.replace("async_", "", 1)] = f"{HEADER}{source} by generate_blocking.py; edit that.\n{blocking}"
    return modules


def _blocking(text: str) -> str:
    """Returns the text of a module without what is for asyncio."""
    for phrase, instead in PHRASES.items():
        text = text.replace(phrase, instead)
    text = re.sub(r"\b(?:async|await) ", "", text)
    text = re.sub(r"\b(_?)async_(?=\w)|\bAsync(?=[A-Z])", r"\1", text)
    text = re.sub(r"\w+", lambda word: NAMES.get(word[0], word[0]), text)
    return re.sub(r"(?:^from \..+\n)+", _sorted, text, flags=re.MULTILINE)


def _sorted(imports: re.Match[str]) -> str:
    """Sorts lines of imports, and the names in each, as the linter wants them."""

    def ranked(name: str) -> tuple[bool, bool, str]:
        return (not name.isupper(), not name[0].isupper(), name)

    lines = []
    for line in imports[0].splitlines():
        source, names = line.split(" import ")
        lines.append(f"{source} import {', '.join(sorted(names.split(', '), key=ranked))}\n")
    return "".join(sorted(lines))


def stale() -> dict[Path, str | None]:
    """Returns the files that differ from newly made ones, each with what it should say; None for one that should not be."""
    sources = {file.name: file.read_text(encoding="utf-8") for file in sorted(PACKAGE.glob("*async_*.py"))}
    there = {file: file.read_text(encoding="utf-8") for file in PACKAGE.glob("*.py")}
    wanted: dict[Path, str | None] = {file: None for file, text in there.items() if text.startswith(HEADER)}
    wanted |= {PACKAGE / name: text for name, text in made(sources).items()}
    return {file: text for file, text in wanted.items() if there.get(file) != text}


def main() -> None:
    found = stale()
    if sys.argv[1:] == ["--check"]:
        if found:
            names = ", ".join(file.name for file in found)
            sys.exit(f"{names}: stale, so run sdk/python/generate_blocking.py and commit what it changes.")
        return
    for file, text in found.items():
        if text is None:
            file.unlink()
        else:
            file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

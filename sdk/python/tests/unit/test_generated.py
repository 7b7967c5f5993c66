"""The blocking client is made from the asynchronous one, and whoever changes that says it when this cannot go well."""

import pytest

from generate_blocking import HEADER, PHRASES, made, stale

SAID = "".join(f"# {phrase}\n" for phrase in PHRASES)
"""A text that has all phrases, as all modules together have."""


def test_the_blocking_client_is_the_asynchronous_one_without_async() -> None:
    assert not [file.name for file in stale()], "run sdk/python/generate_blocking.py and commit what it changes"


def test_names_and_imports_are_those_of_the_blocking_client() -> None:
    text = """from ._alike import CONSTANT, AsyncZebra, Horse, tell
from .async_first import AsyncFirst


class AsyncSecond(AsyncFirst):
    async def __anext__(self) -> AsyncZebra:
        return await anext(self)
"""
    modules = made({"_async_second.py": text, "_async_said.py": SAID})
    assert modules["_second.py"] == HEADER + """_async_second.py by generate_blocking.py; edit that.
from ._alike import CONSTANT, Horse, Zebra, tell
from .first import First


class Second(First):
    def __next__(self) -> Zebra:
        return next(self)
"""


@pytest.mark.parametrize("line", ["import asyncio", "answer = (await", "from ._other import NotAsync", "x: Awaitable[str]"])
def test_what_a_blocking_program_cannot_do_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="_async_wrong.py: this means nothing in the blocking client"):
        made({"_async_wrong.py": f"{line}\n", "_async_said.py": SAID})


def test_a_phrase_that_is_gone_is_refused() -> None:
    with pytest.raises(ValueError, match="no module has these phrases any more"):
        made({"_async_said.py": SAID.partition("\n")[2]})

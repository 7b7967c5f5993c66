"""Tells all shared scenarios, with the blocking client and plain handlers, and with the asynchronous client and handlers."""

from __future__ import annotations

import asyncio

import pytest

from scenarios.stage import Stage
from scenarios.story import Story, read_all
from scenarios.teller import Teller

LONGEST = 120.0
"""How many seconds one scenario may take."""


def _told() -> list[Story]:
    engine = Stage.from_environment().engine
    return [story for story in read_all() if engine in story.get("engines", [engine])]


@pytest.mark.parametrize("blocking", [True, False], ids=["blocking", "async"])
@pytest.mark.parametrize("story", _told(), ids=lambda story: story["file"].removesuffix(".yaml"))
def test_scenario(story: Story, blocking: bool) -> None:
    async def tell() -> None:
        await asyncio.wait_for(Teller(Stage.from_environment(), story, blocking).tell(), LONGEST)

    asyncio.run(tell())

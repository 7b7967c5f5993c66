"""Claims on messages, as contexts: while one holds a claim, others leave the message to one."""

from ._async_holding import AsyncClaim
from ._conversation import Place
from ._holding import Claim

__all__ = ["AsyncClaim", "Claim", "Place"]

"""Scopes that nobody else holds, as contexts."""

from ._async_holding import AsyncLease
from ._holding import Lease

__all__ = ["AsyncLease", "Lease"]

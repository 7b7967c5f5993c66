"""The idempotency keys that the SDK makes."""

import pytest

from openintent_channels import _calls


def test_keys_of_later_moments_come_later_in_the_servers_index(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_800_000_000_000_000_000
    monkeypatch.setattr(_calls, "time_ns", lambda: now)
    last = _calls.new_key()
    for _ in range(20):
        assert _calls.new_key() != last
        now += 1_000_000
        later = _calls.new_key()
        assert later > last
        last = later

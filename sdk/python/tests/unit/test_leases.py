"""A lease is renewed in time, released once, and lost when it may be over."""

import asyncio
from typing import Any

import pytest

from openintent_channels._generated import leases_pb2
from openintent_channels._leases import Held, Leases
from openintent_channels.errors import AlreadyExistsError, LeaseLostError, NotFoundError, UnavailableError
from openintent_channels.leases import AsyncLease, Lease
from unit.fake_server import in_loop
from unit.playing import Player, away

GONE = NotFoundError("gone", code="NOT_FOUND", reason="LEASE_NOT_FOUND")
GRANTED = leases_pb2.Lease(id="l1", fence=7)
RENEWED = leases_pb2.Lease(id="l1", fence=7)
RELEASED = leases_pb2.ReleaseLeaseResponse()


def held() -> Held:
    return Held("i", "l1", 7, 60, 0.0)


def test_a_granted_lease_is_renewed_after_a_third_of_its_duration() -> None:
    player = Player.of(GRANTED)
    lease = player.play(Leases(player.calls()).acquire("i", "s", 60, 0))
    assert (lease.id, lease.fence, lease.renew_in(0.0), lease.renew_in(50.0)) == ("l1", 7, 20.0, 0.0)


def test_a_lease_that_was_waited_for_is_renewed_at_once() -> None:
    player = Player.of(GRANTED)
    assert player.play(Leases(player.calls()).acquire("i", "s", 60, 300)).renew_in(player.now) == 0.0
    assert player.invoked[0].request.wait_seconds == 300
    assert player.invoked[0].timeout == 330


def test_a_lease_is_not_asked_for_twice_when_it_may_be_granted() -> None:
    player = Player.of(away("OUTCOME_UNKNOWN"))
    with pytest.raises(UnavailableError):
        player.play(Leases(player.calls()).acquire("i", "s", 60, 0))
    assert len(player.invoked) == 1


def test_a_lease_lasts_from_when_its_renewal_was_asked_for() -> None:
    player, lease = Player.of(away(), RENEWED), held()
    player.now = 20.0
    player.play(Leases(player.calls()).renew(lease))
    assert player.now > 20.0
    assert lease.asked == 20.0


def test_a_lease_that_cannot_be_renewed_in_time_is_lost() -> None:
    player = Player.of(*[away()] * 100)
    player.now = 20.0
    with pytest.raises(LeaseLostError):
        player.play(Leases(player.calls()).renew(held()))
    assert player.now < 60.0


def test_a_lease_that_has_ended_is_lost() -> None:
    player = Player.of(GONE)
    with pytest.raises(LeaseLostError, match="gone") as caught:
        player.play(Leases(player.calls()).renew(held()))
    assert caught.value.reason == "LEASE_LOST"


def test_what_has_ended_counts_as_released() -> None:
    player = Player.of(GONE)
    player.play(Leases(player.calls()).release(held()))


class Playing:
    """A connection, of either kind, that plays rules."""

    def __init__(self, *outcomes: Any) -> None:
        self.player = Player.of(*outcomes)

    def lease(self, kind: Any) -> Any:
        """A lease that is due for renewal at once."""
        run: Any = self.run if kind is AsyncLease else self.player.play
        connection: Any = type("Connection", (), {"run": staticmethod(run)})()
        return kind(connection, Leases(self.player.calls()), "i", "s", 60, 10)

    async def run(self, steps: Any) -> Any:
        return self.player.play(steps)

    def asked(self) -> list[str]:
        return [effect.method.name for effect in self.player.invoked]


@in_loop
async def test_a_block_whose_lease_is_lost_is_cancelled() -> None:
    playing = Playing(GRANTED, GONE, GONE)
    with pytest.raises(LeaseLostError):
        async with playing.lease(AsyncLease) as lease:
            await asyncio.Event().wait()
    assert lease.lost
    await asyncio.sleep(0)  # the task itself goes on
    assert playing.asked() == ["AcquireLease", "RenewLease", "ReleaseLease"]


@in_loop
async def test_the_end_of_a_block_releases_its_lease() -> None:
    playing = Playing(GRANTED, RENEWED, RELEASED)
    with pytest.raises(KeyError):
        async with playing.lease(AsyncLease) as lease:
            while len(playing.asked()) < 2:
                await asyncio.sleep(0)
            assert lease.fence == 7
            raise KeyError
    assert playing.asked() == ["AcquireLease", "RenewLease", "ReleaseLease"]


@in_loop
async def test_a_scope_that_is_taken_begins_no_block() -> None:
    playing = Playing(AlreadyExistsError("held", code="ALREADY_EXISTS", reason="LEASE_HELD"))
    with pytest.raises(AlreadyExistsError):
        async with playing.lease(AsyncLease):
            raise AssertionError


def test_a_blocking_program_is_told_that_its_lease_is_lost() -> None:
    playing = Playing(GRANTED, GONE, GONE)
    with pytest.raises(LeaseLostError), playing.lease(Lease) as lease:
        lease._block._beside._working.join()
        assert lease.lost
        with pytest.raises(LeaseLostError):
            lease.check()
    assert playing.asked() == ["AcquireLease", "RenewLease", "ReleaseLease"]

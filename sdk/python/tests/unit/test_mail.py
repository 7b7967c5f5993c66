"""A mailbox hands out the most important message first, each once, and lets go of what is settled."""

from openintent_channels import _mail
from openintent_channels._mail import Mail
from openintent_channels.attention import Attention
from unit.letters import letter, message


def ids(mail: Mail, now: float = 0.0) -> list[str]:
    return [one.message.id for one in mail.waiting(now)]


def test_what_is_urgent_comes_first_then_what_waits_for_an_answer_and_each_by_its_position() -> None:
    mail = Mail()
    for number, one in enumerate([
        letter(9, "ack_only"),
        letter(8, "must_respond", message_type="request"),
        letter(7, "must_not_respond", "urgent"),
        letter(6, "must_respond"),
        letter(5, "may_respond", message_type="request"),
        letter(4, "must_not_respond", message_type="request"),
        letter(3, "may_respond"),
        letter(2, "must_respond", "urgent"),
    ]):
        assert mail.arrive(one, number)
    assert ids(mail) == ["m2", "m7", "m5", "m6", "m8", "m3", "m4", "m9"]


def test_positions_decide_within_a_moment() -> None:
    mail, at = Mail(), letter(1).message.created_at
    for number in (3, 1, 2):
        mail.arrive(letter(number, created_at=at), number)
    assert ids(mail) == ["m1", "m2", "m3"]


def test_without_attention_the_message_itself_says_it() -> None:
    mail = Mail()
    mail.arrive(letter(1), 1)
    mail.arrive(letter(2, message_type="request"), 2)
    mail.arrive(letter(3), 3)
    urgent = letter(4)
    urgent.message = message(id="m4", priority="urgent")
    mail.arrive(urgent, 4)
    assert ids(mail) == ["m4", "m2", "m1", "m3"]


def test_what_is_held_is_not_handed_out_again() -> None:
    mail, one = Mail(), letter(1)
    assert mail.arrive(one, 1)
    one.taken = True
    assert not mail.arrive(letter(1), 1), "the server sends it again after an hour"
    assert ids(mail) == []
    mail.finish("m1")
    assert mail.acknowledgeable() == [1]


def test_all_deliveries_of_a_message_are_acknowledged() -> None:
    mail = Mail()
    found, again = letter(1), letter(1)
    again.attempt = 2
    mail.arrive(found, None)
    mail.arrive(again, 4)
    assert found.attempt == 2, "the inbox does not say the attempt"
    again.attempt = 3
    mail.arrive(again, 5)
    assert found.attempt == 2
    mail.finish("m1")
    assert mail.acknowledgeable() == [4, 5]
    assert not mail.arrive(letter(1), 6), "it is settled"
    assert mail.acknowledgeable() == [6]


def test_what_is_put_back_waits_again_and_says_so() -> None:
    mail, one = Mail(), letter(1)
    mail.arrive(one, 1)
    mail.put_back("m1")
    assert one.attempt == 1, "nobody has taken it"
    one.taken = True
    mail.put_back("m1")
    mail.put_back("unknown")
    assert ids(mail) == ["m1"]
    assert one.attempt == 2
    assert mail.acknowledgeable() == []


def test_what_others_hold_waits_for_longer_and_longer() -> None:
    mail, one = Mail(), letter(1)
    mail.arrive(one, 1)
    one.put_off(0.0)
    assert (ids(mail, 0.5), mail.next_turn(0.5), ids(mail, 1.0)) == ([], 0.5, ["m1"])
    for _ in range(20):
        one.put_off(100.0)
    assert mail.next_turn(100.0) == 10.0
    assert mail.next_turn(110.0) is None


def test_a_process_that_stands_by_keeps_what_was_taken() -> None:
    mail, kept = Mail(), letter(1)
    mail.arrive(kept, 1)
    mail.arrive(letter(2), 2)
    mail.pass_over(3)
    kept.taken = True
    mail.stand_by()
    assert (mail.letter("m1"), mail.letter("m2"), mail.acknowledgeable()) == (kept, None, [])


def test_what_comes_after_it_is_done_with_is_not_shown() -> None:
    mail = Mail()
    mail.finish("m1")
    assert not mail.arrive(letter(1), 7)
    assert mail.acknowledgeable() == [7]


def test_pages_and_the_memory_are_bounded() -> None:
    mail = Mail()
    for number in range(_mail._PAGE + 1):
        mail.pass_over(number)
    assert [len(mail.acknowledgeable()), mail.unacknowledged] == [_mail._PAGE, 1]
    for number in range(_mail._REMEMBERED + 1):
        mail.finish(f"m{number}")
    assert mail.arrive(letter(0), 1), "the oldest is forgotten"
    assert not mail.arrive(letter(_mail._REMEMBERED), 2)


def test_a_message_is_over_at_its_deadline() -> None:
    one = letter(1)
    assert not one.is_over(1e9)
    one.attention = Attention("to_me", "must_respond", "buffered", "direct_request", "normal", deadline_ms=5_000)
    one.came = 10.0
    assert (one.is_over(14.9), one.is_over(15.0)) == (False, True)


def test_requests_to_a_role_that_take_an_exact_number_need_a_claim() -> None:
    for collect, to, kind, needed in [
        ("one", "role:desk", "request", True),
        ({"quorum": 2}, "role:desk", "request", True),
        ("any", "role:desk", "request", False),
        ("one", "ann", "request", False),
        (None, "role:desk", "request", False),
        ("one", "role:desk", "notify", False),
    ]:
        assert letter(1, collect=collect, to=to, message_type=kind).needs_claim is needed

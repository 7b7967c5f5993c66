"""A message is handled once in a process, and its deliveries are acknowledged when it is done with, not before."""

from openintent_channels import _work
from openintent_channels._work import Delivery, Work


def test_a_delivery_is_acknowledged_when_its_message_is_handled() -> None:
    work = Work()
    assert work.admit("m", Delivery(("s", 1)))
    assert work.acknowledgeable() is None
    work.finish("m")
    assert work.acknowledgeable() == ("s", [1])
    assert work.acknowledgeable() is None


def test_a_delivery_of_several_messages_is_acknowledged_when_all_have_ended() -> None:
    work, delivery = Work(), Delivery(("s", 1), 4)
    assert all(work.admit(name, delivery) for name in ("a", "b", "c"))
    work.pass_over(delivery)
    work.finish("a")
    work.set_aside("b")
    assert work.acknowledgeable() is None
    work.drop("c")
    again = Delivery(("s", 1), 3)
    assert [work.admit(name, again) for name in ("a", "b", "c")] == [False, False, True]
    work.finish("c")
    assert work.acknowledgeable() is None, "b waits for its turn"
    work.finish("b")
    assert work.acknowledgeable() == ("s", [1])


def test_a_repetition_is_not_handled_again() -> None:
    work = Work()
    work.admit("m", None)
    assert not work.admit("m", Delivery(("s", 1))), "it is being handled"
    assert work.acknowledgeable() is None
    work.finish("m")
    assert work.acknowledgeable() == ("s", [1])
    assert not work.admit("m", Delivery(("s", 1))), "it has been handled"
    assert work.acknowledgeable() == ("s", [1])


def test_what_came_to_nothing_is_handled_again() -> None:
    work = Work()
    work.admit("m", Delivery(("s", 1)))
    work.drop("m")
    assert work.acknowledgeable() is None
    assert work.admit("m", Delivery(("s", 1)))


def test_a_message_that_was_found_is_expected_until_its_delivery_comes() -> None:
    work = Work()
    work.admit("m", None)
    work.expect("m")
    work.finish("m")
    assert work.expects
    work.admit("m", Delivery(("s", 1)))
    assert not work.expects
    work.admit("n", None)
    work.admit("n", Delivery(("s", 2)))
    work.expect("n")
    assert not work.expects, "it has come before"


def test_what_is_not_done_with_is_not_expected() -> None:
    for forget in Work.drop, Work.leave, Work.set_aside:
        work = Work()
        work.admit("m", None)
        work.expect("m")
        forget(work, "m")
        assert not work.expects


def test_what_needs_no_handling_is_acknowledged() -> None:
    work = Work()
    work.pass_over(Delivery(("s", 4)))
    work.pass_over(None)
    assert work.acknowledgeable() == ("s", [4])


def test_a_page_is_of_one_subscription_and_bounded() -> None:
    work = Work()
    for number in range(_work._PAGE + 1):
        work.pass_over(Delivery(("s", number)))
    work.pass_over(Delivery(("t", 1)))
    pages = [work.acknowledgeable(), work.acknowledgeable(), work.acknowledgeable()]
    assert [(page[0], len(page[1])) for page in pages if page] == [("s", _work._PAGE), ("s", 1), ("t", 1)]


def test_the_memory_is_bounded() -> None:
    work = Work()
    for number in range(_work._REMEMBERED + 1):
        work.admit(f"m{number}", None)
        work.finish(f"m{number}")
    assert work.admit("m0", None), "the oldest is forgotten"
    assert not work.admit(f"m{_work._REMEMBERED}", None)

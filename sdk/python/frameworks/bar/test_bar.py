"""The bar that every adapter passes, with the framework's real package, a scripted model, a real server, and processes
that are killed."""

from __future__ import annotations

from stage import PATIENCE, Stage, calls, note

HANG = {"hang": True}


def answer(call: str, text: str, message: str = "$1") -> tuple[str, str, dict[str, str]]:
    return call, "answer", {"message_id": message, "text": text}


def test_a_question_is_asked_and_answered(stage: Stage) -> None:
    process = stage.run(calls(answer("c1", "v2.3")))
    assert stage.ask("Which schema?").result(PATIENCE).payload == {"text": "v2.3"}
    process.called(2)
    second = stage.send("And which version?")
    shown = process.called(3)["shown"]
    assert shown[-1] == second and shown.count(second) == 1
    process.stop()

    again = stage.run()
    third = stage.send("Are you there?")
    assert again.called(1)["shown"][-1] == third
    assert again.calls[0]["shown"].count(second) <= 1, "what was settled does not come again"
    again.stop()


def test_what_comes_during_a_run_is_seen_at_the_next_step_and_at_all_later_ones(stage: Stage) -> None:
    steps = [calls(note("c1"), until_waiting=1), calls(note("c2")), calls(note("c3")), calls(answer("c4", "yes", "$2"))]
    process = stage.run(*steps)
    first = stage.send("Begin.")
    process.paused()
    assert process.calls[0]["shown"] == [first]
    second = stage.send("Wait, another thing!")
    for call in (2, 3, 4):
        assert process.called(call)["shown"] == [first, second]
    assert process.called(5)["results"][:3] == ["noted: c1", "noted: c2", "noted: c3"]
    assert stage.answers(second) == ["yes"]
    process.stop()


def test_what_was_taken_and_not_settled_comes_again(stage: Stage) -> None:
    killed = stage.run(HANG)
    message = stage.send("Do not lose me.")
    assert killed.called(1)["shown"] == [message]
    killed.kill()
    process = stage.run(calls(answer("c1", "I have you.")))
    assert set(process.called(1)["shown"]) == {message}
    process.called(2)
    assert stage.answers(message) == ["I have you."]
    process.stop()


def test_what_came_during_a_killed_run_comes_again(stage: Stage) -> None:
    killed = stage.run(calls(note("c1"), until_waiting=1), HANG)
    first = stage.send("Begin.")
    killed.paused()
    second = stage.send("And this.")
    assert killed.called(2)["shown"] == [first, second]
    killed.kill()
    process = stage.run()
    assert set(process.called(1)["shown"]) == {first, second}
    process.stop()


def test_a_run_that_is_killed_while_a_tool_is_at_work_begins_anew_or_goes_on(stage: Stage) -> None:
    killed = stage.run(calls(("c1", "delegate", {"text": "help me"})), other=[HANG])
    message = stage.send("Which schema?")
    killed.called(1, "other")
    killed.kill()
    process = stage.run(calls(answer("c2", "v2.3")))
    assert set(process.called(1)["shown"]) == {message}
    process.called(2)
    assert stage.answers(message) == ["v2.3"]
    process.stop()


def test_the_first_answer_stands_after_a_crash(stage: Stage) -> None:
    killed = stage.run(calls(answer("c1", "first")), HANG)
    message = stage.send("Which one?")
    assert killed.called(2)["results"] == ["Your answer is stored."]
    killed.kill()

    process = stage.run(calls(note("other-1")), calls(answer("other-2", "second"), answer("other-3", "third")))
    assert set(process.called(1)["shown"]) == {message}
    assert process.called(3)["results"][-2:] == ["You have answered: first"] * 2
    process.stop()
    assert stage.answers(message) == ["first"]


def test_a_run_that_fails_settles_nothing(stage: Stage) -> None:
    process = stage.run({"fail": True}, calls(answer("c1", "now")))
    message = stage.send("Try again.")
    assert set(process.called(2)["shown"]) == {message}
    process.called(3)
    assert stage.answers(message) == ["now"]
    process.stop()


def test_other_agents_of_the_framework_neither_take_nor_settle(stage: Stage) -> None:
    delegating = calls(("c1", "delegate", {"text": "help me"}))
    process = stage.run(delegating, HANG, other=[calls(note("o1"), until_waiting=1), {"say": "I have helped."}])
    first = stage.send("Begin.")
    process.paused()
    second = stage.send("For you, not for the other one.")
    assert process.called(2)["shown"] == [first, second]
    for call in (1, 2):
        assert process.called(call, "other")["shown"] == []
    process.kill()
    again = stage.run()
    assert set(again.called(1)["shown"]) == {first, second}, "the other agent's run has settled nothing"
    again.stop()


def test_a_run_that_is_under_way_ends_before_the_process_does(stage: Stage) -> None:
    process = stage.run(calls(answer("c1", "before the end"), until_waiting=1))
    first = stage.send("Answer, please.")
    process.paused()
    process.tell_to_stop()
    stage.send("Go on.")
    assert process.ended() == 0
    assert stage.answers(first) == ["before the end"]

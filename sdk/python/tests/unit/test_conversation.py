"""What messages say beside their payloads, threads, reactions, claims and explanations, as they are on the wire."""

from __future__ import annotations

import asyncio
import threading
from datetime import datetime, timezone
from typing import Any

import pytest
from google.protobuf import timestamp_pb2

from openintent_channels import AsyncClaim, Claim, ClaimedError, ClaimLostError
from openintent_channels._conversation import Conversation, Place, takes_claims
from openintent_channels._effects import Invoke, Pause, Steps
from openintent_channels._generated import (
    attention_pb2,
    claims_pb2,
    messages_pb2,
    obligations_pb2,
    reactions_pb2,
    search_pb2,
)
from openintent_channels._message_options import say
from openintent_channels._messages import Messages
from openintent_channels._tracing import Tracing
from openintent_channels.errors import AnsweredError, InvalidArgumentError, OpenIntentError
from openintent_channels.models import message_of
from unit.fake_server import in_loop
from unit.playing import Player, away


def refusal(kind: type[OpenIntentError], reason: str) -> OpenIntentError:
    return kind("refused", code="FAILED_PRECONDITION", reason=reason)


def test_options_reach_the_wire_and_come_back() -> None:
    high = attention_pb2.PRIORITY_HIGH
    stored = messages_pb2.Message(id="m2", parent_id="m1", thread_id="m1", subject="s", priority=high)
    player = Player.of(stored)
    parent = message_of(messages_pb2.Message(id="m1"))
    options = {
        "parent": parent, "subject": "s", "kind": "agent.chat", "task_id": "t", "priority": "high",
        "mentions": ["a", "role:b"],
        "directedness": "ambient", "policy": "ack_only", "collect": {"quorum": 2},
    }  # fmt: skip
    sending = Messages(player.calls(), Tracing()).send("c", {}, None, "notify", None, None, None, None, options)
    sent = player.play(sending)
    request = player.invoked[0].request
    assert (request.parent_id, request.subject, request.kind, request.task_id) == ("m1", "s", "agent.chat", "t")
    assert (request.priority, list(request.mentions)) == (attention_pb2.PRIORITY_HIGH, ["a", "role:b"])
    assert request.directedness == attention_pb2.DIRECTEDNESS_AMBIENT
    assert request.policy == attention_pb2.RESPONSE_POLICY_ACK_ONLY
    assert request.collect.struct_value.fields["quorum"].number_value == 2
    assert (sent.parent_id, sent.thread_id, sent.subject, sent.priority, sent.mentions) == ("m1", "m1", "s", "high", ())


def test_a_plain_message_says_nothing_more() -> None:
    player = Player.of(messages_pb2.Message(id="m1"))
    sent = player.play(Messages(player.calls(), Tracing()).send("c", {}, None, "notify", None, None, None, "key"))
    fields = {field.name for field, _ in player.invoked[0].request.ListFields()}
    assert fields == {"channel_id", "message_type", "payload", "idempotency_key"}
    assert (sent.parent_id, sent.priority, sent.collect, sent.edited_at, sent.attention) == (None,) * 5


def test_a_document_names_what_it_replaces_and_says_that_it_is_one() -> None:
    player = Player.of(messages_pb2.Message(id="m2", kind="spec", document=True))
    former = message_of(messages_pb2.Message(id="m1"))
    options = {"kind": "spec", "document": True, "replaces": former}
    sent = player.play(Messages(player.calls(), Tracing()).send("c", {}, None, "notify", None, None, None, None, options))
    request = player.invoked[0].request
    assert (request.kind, request.document, request.replaces) == ("spec", True, "m1")
    assert sent.document
    assert not former.document


def test_replacing_none_is_not_the_same_as_replacing_any() -> None:
    none, any_of_them = messages_pb2.SendMessageRequest(), messages_pb2.SendMessageRequest()
    say(none, {"replaces": ""})
    say(any_of_them, {"replaces": None})
    assert none.HasField("replaces")
    assert not any_of_them.HasField("replaces")
    with pytest.raises(TypeError, match="'document'"):
        say(messages_pb2.ReplyMessageRequest(), {"document": True})


def test_no_mentions_are_not_the_same_as_unknown_mentions() -> None:
    none, unknown = messages_pb2.SendMessageRequest(), messages_pb2.SendMessageRequest()
    say(none, {"mentions": []})
    say(unknown, {"mentions": None})
    assert none.HasField("mentions")
    assert not unknown.HasField("mentions")


def test_options_that_do_not_exist_are_refused() -> None:
    with pytest.raises(TypeError, match="'subjekt'"):
        say(messages_pb2.SendMessageRequest(), {"subjekt": "x"})
    with pytest.raises(TypeError, match="'collect'"):
        say(messages_pb2.ReplyMessageRequest(), {"collect": "one"})
    with pytest.raises(InvalidArgumentError, match="low, normal, high, urgent"):
        say(messages_pb2.SendMessageRequest(), {"priority": "huge"})


def test_a_thread_is_read_page_by_page() -> None:
    wires = [messages_pb2.Message(id=f"m{i}") for i in range(3)]
    player = Player.of(
        messages_pb2.Thread(root=wires[0], messages=wires[1:2], participants=["a"], last_position=3, next_cursor="n"),
        messages_pb2.Thread(
            root=wires[0], messages=wires[2:], participants=["a", "b"], last_position=4
        ),
    )
    thread = player.play(Conversation(player.calls()).thread("c", "m1"))
    assert thread.root.id == "m0"
    assert [m.id for m in thread.messages] == ["m1", "m2"]
    assert (thread.participants, thread.last_position) == (("a", "b"), 4)
    assert player.invoked[1].request.cursor == "n"


def test_a_search_sends_its_filters_and_reads_a_page() -> None:
    found = search_pb2.FoundMessage(message=messages_pb2.Message(id="m"), snippet="s", intent_id="i", channel_name="c")
    player = Player.of(
        search_pb2.SearchMessagesResponse(
            messages=[found], next_cursor="n", bounded=True, messages_left=7, intents_not_indexed=2,
            complete_from=timestamp_pb2.Timestamp(seconds=1),
        ),
        search_pb2.SearchMessagesResponse(),
    )
    rules = Conversation(player.calls())
    filters = {"sender": "ada", "to": None}
    page = player.play(rules.search("a b", filters, datetime(2026, 11, 23, tzinfo=timezone.utc), None, 5, None))
    assert [(f.message.id, f.snippet, f.intent_id, f.channel_name) for f in page.messages] == [("m", "s", "i", "c")]
    assert (page.next_cursor, page.complete_through, page.bounded) == ("n", None, True)
    assert page.complete_from == datetime(1970, 1, 1, 0, 0, 1, tzinfo=timezone.utc)
    assert (page.messages_left, page.intents_not_indexed) == (7, 2)
    assert {field.name for field, _ in player.invoked[0].request.ListFields()} == {"q", "sender", "after", "limit"}
    assert player.play(rules.search("a", {}, None, None, None, "n")).next_cursor is None


def test_an_edit_says_only_what_it_changes() -> None:
    player = Player.of(*[messages_pb2.Message(id="m", revision=n) for n in (2, 3)])
    rules = Conversation(player.calls())
    assert player.play(rules.edit("c", "m", {"n": 1}, None, None, None, False)).revision == 2
    player.play(rules.edit("c", "m", None, {}, "", [], True))
    first, second = ({field.name for field, _ in invoked.request.ListFields()} for invoked in player.invoked)
    assert first == {"channel_id", "message_id", "payload"}
    assert second == {"channel_id", "message_id", "metadata", "subject", "mentions", "supersede"}


def test_a_deletion_is_repeated_after_a_lost_connection_and_revisions_are_read_page_by_page() -> None:
    def page(number: int, cursor: str | None) -> messages_pb2.ListRevisionsResponse:
        revision = messages_pb2.MessageRevision(revision=number, mentions=["a"])
        return messages_pb2.ListRevisionsResponse(revisions=[revision], next_cursor=cursor)

    player = Player.of(away(), messages_pb2.Message(id="m"), page(1, "n"), page(2, None))
    rules = Conversation(player.calls())
    player.play(rules.delete("c", "m"))
    found = player.play(rules.revisions("c", "m"))
    assert [(r.revision, r.subject, r.mentions) for r in found] == [(1, None, ("a",)), (2, None, ("a",))]


def test_reactions_are_set_again_after_a_lost_connection_and_read_page_by_page() -> None:
    def page(cursor: str | None) -> reactions_pb2.ListReactionsResponse:
        reaction = reactions_pb2.Reaction(agent_id="a", signal="working", note="n")
        return reactions_pb2.ListReactionsResponse(reactions=[reaction], next_cursor=cursor)

    player = Player.of(away(), page(None), page("n"), page(None))
    rules = Conversation(player.calls())
    (reaction,) = player.play(rules.react("c", "m", "working", "n", None))
    assert (reaction.signal, reaction.note, reaction.eta) == ("working", "n", None)
    assert len(player.play(rules.reactions("c", "m"))) == 2


def test_an_explanation_of_nothing_has_rules_and_no_attention() -> None:
    rule = attention_pb2.AttentionRule(rule="recipient", effect="is none")
    player = Player.of(attention_pb2.GetAttentionResponse(rules=[rule]))
    told = player.play(Conversation(player.calls()).explain("c", "m", "a"))
    assert told.attention is None
    assert [(r.rule, r.effect) for r in told.rules] == [("recipient", "is none")]


@pytest.mark.parametrize(
    ("to", "collect", "kind", "expected"),
    [
        ("role:r", "one", messages_pb2.MESSAGE_TYPE_REQUEST, True),
        ("role:r", {"quorum": 2}, messages_pb2.MESSAGE_TYPE_REQUEST, True),
        ("role:r", "any", messages_pb2.MESSAGE_TYPE_REQUEST, False),
        ("role:r", "all", messages_pb2.MESSAGE_TYPE_REQUEST, False),
        ("role:r", None, messages_pb2.MESSAGE_TYPE_REQUEST, False),
        ("agent", "one", messages_pb2.MESSAGE_TYPE_REQUEST, False),
        ("role:r", "one", messages_pb2.MESSAGE_TYPE_NOTIFY, False),
    ],
)
def test_which_requests_take_claims(to: str, collect: Any, kind: Any, expected: bool) -> None:
    request = messages_pb2.SendMessageRequest()
    say(request, {"collect": collect})
    wire = messages_pb2.Message(to=to, message_type=kind)
    if request.HasField("collect"):
        wire.collect.CopyFrom(request.collect)
    assert takes_claims(wire) is expected


class Claims:
    """A server of claims, in place of a connection, on a clock that a test moves. `ends` is how renewals are refused."""

    def __init__(self, ends: OpenIntentError | None = None) -> None:
        self.ends = ends
        self.told: list[tuple[str, Any]] = []
        self.renewed = threading.Event()

    def run(self, steps: Steps[Any]) -> Any:
        value, error = None, None
        while True:
            try:
                effect = steps.throw(error) if error is not None else steps.send(value)
            except StopIteration as end:
                return end.value
            value, error = None, None
            try:
                value = self._answer(effect)
            except OpenIntentError as failure:
                error = failure

    def _answer(self, effect: Any) -> Any:
        if isinstance(effect, Pause):
            return None
        assert isinstance(effect, Invoke)
        renews = effect.method.name == "ClaimMessage" and effect.request.HasField("fence")
        self.told.append(("renew" if renews else effect.method.name, effect.request))
        if renews:
            self.renewed.set()
            if self.ends is not None:
                raise self.ends
        return claims_pb2.Claim(message_id="m", holder="me", fence=7)


class AsyncClaims(Claims):
    """The same for asyncio."""

    async def run(self, steps: Steps[Any]) -> Any:
        return super().run(steps)


def rules() -> Conversation:
    """Returns rules whose clock stands still for one reading and then jumps, so that one renewal is due at once."""
    readings = iter([0.0, 60.0])
    player = Player.of()
    calls = player.calls()
    calls.clock = lambda: next(readings, 60.0)
    return Conversation(calls)


def test_a_claim_renews_itself_and_is_released_with_its_fence() -> None:
    server, place = Claims(), Place()
    connection: Any = server
    with Claim(connection, rules(), "c", "m", 90, place) as claim:
        assert (claim.fence, place.fence) == (7, 7)
        assert server.renewed.wait(20)
    assert place.fence is None
    assert [name for name, _ in server.told] == ["ClaimMessage", "renew", "ReleaseClaim"]
    assert [request.fence for _, request in server.told] == [0, 7, 7]


def test_a_claim_that_an_answer_ended_is_no_error() -> None:
    server = Claims(refusal(AnsweredError, "ANSWERED"))
    connection: Any = server
    with Claim(connection, rules(), "c", "m", 90) as claim:
        assert server.renewed.wait(20)
    assert not claim.lost


def test_a_block_whose_claim_is_lost_is_told_and_raises() -> None:
    server = Claims(refusal(ClaimLostError, "CLAIM_LOST"))
    connection: Any = server
    with pytest.raises(ClaimLostError), Claim(connection, rules(), "c", "m", 90) as claim:
        assert claim._block._beside._working is not None
        claim._block._beside._working.join()
        assert claim.lost


def test_a_claim_that_was_lost_may_be_taken_again() -> None:
    server = Claims(refusal(ClaimLostError, "CLAIM_LOST"))
    connection: Any = server
    claim = Claim(connection, rules(), "c", "m", 90)
    with pytest.raises(ClaimLostError), claim:
        assert claim._block._beside._working is not None
        claim._block._beside._working.join()
    server.ends = None
    with claim:
        assert not claim.lost
    assert [name for name, _ in server.told if name != "renew"] == ["ClaimMessage", "ReleaseClaim"] * 2


def test_who_gets_no_claim_does_not_enter() -> None:
    server = Claims()
    connection: Any = server
    server._answer = lambda effect: (_ for _ in ()).throw(refusal(ClaimedError, "CLAIMED"))  # type: ignore[method-assign]
    with pytest.raises(ClaimedError), Claim(connection, rules(), "c", "m", 90):
        raise AssertionError("it entered")


@in_loop
async def test_an_asynchronous_block_is_cancelled_when_its_claim_is_lost() -> None:
    connection: Any = AsyncClaims(refusal(ClaimLostError, "CLAIM_LOST"))
    with pytest.raises(ClaimLostError):
        async with AsyncClaim(connection, rules(), "c", "m", 90):
            await asyncio.Event().wait()


@in_loop
async def test_an_asynchronous_claim_is_released_at_the_end_of_its_block() -> None:
    server = AsyncClaims()
    connection: Any = server
    async with AsyncClaim(connection, rules(), "c", "m", 90):
        pass
    assert [name for name, _ in server.told][-1] == "ReleaseClaim"


def test_obligations_reach_the_wire_and_come_back() -> None:
    stored = messages_pb2.Message(id="m1", obligation=attention_pb2.Obligation(blocks=attention_pb2.BLOCKS_HALTED))
    player = Player.of(stored)
    options = {"obligation": {"blocks": "halted", "delegate": "dora"}}
    sending = Messages(player.calls(), Tracing()).send("c", {}, None, "request", None, None, None, None, options)
    assert player.play(sending).obligation == {"blocks": "halted", "delegate": None}
    assert player.invoked[0].request.obligation == attention_pb2.Obligation(
        blocks=attention_pb2.BLOCKS_HALTED, delegate="dora"
    )
    plain = messages_pb2.SendMessageRequest()
    say(plain, {"obligation": "none"})
    assert plain.obligation.blocks == attention_pb2.BLOCKS_NONE
    with pytest.raises(TypeError, match="no 'delegates'"):
        say(plain, {"obligation": {"delegates": "x"}})


def test_obligations_are_listed_and_discharged() -> None:
    page = obligations_pb2.ListObligationsResponse(messages=[messages_pb2.Message(id="m1")], next_cursor="more")
    player = Player.of(page, obligations_pb2.ListObligationsResponse(messages=[messages_pb2.Message(id="m2")]))
    found = player.play(Conversation(player.calls()).obligations("a", "owed"))
    assert [m.id for m in found] == ["m1", "m2"]
    assert player.invoked[0].request.side == obligations_pb2.OBLIGATION_SIDE_OWED
    player = Player.of(obligations_pb2.Discharge(message_id="m1", agent_id="a", note="done"))
    closed = player.play(Conversation(player.calls()).discharge("c", "m1", "done"))
    assert (closed.message_id, closed.agent_id, closed.note) == ("m1", "a", "done")

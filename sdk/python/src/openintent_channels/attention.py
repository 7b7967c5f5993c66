"""What a message asks of one recipient, as plain immutable objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._generated import attention_pb2
from ._words import word


@dataclass(frozen=True, slots=True)
class AttentionClaim:
    """Who works on a message at present. Only its holder is told the `fence`."""

    holder: str
    expires_in_ms: int
    fence: int | None = None


@dataclass(frozen=True, slots=True)
class Knock:
    """That there is something to read, and nothing of what it says."""

    sender: str
    where: str
    topic: str
    pull_with: str


@dataclass(frozen=True, slots=True)
class Attention:
    """Whether a message is for the agent, and whether it may answer. `directedness` is `to_me`, `to_my_role` or `ambient`,
    `policy` `must_respond`, `may_respond`, `ack_only` or `must_not_respond`, and `injection` `immediate`, `buffered`,
    `notify`, `digest` or `tool_mailbox`. `reason` is the rule that decided."""

    directedness: str
    policy: str
    injection: str
    reason: str
    priority: str
    deadline_ms: int | None = None
    claim: AttentionClaim | None = None
    knock: Knock | None = None


@dataclass(frozen=True, slots=True)
class AttentionRule:
    """One rule that was considered, and what it did."""

    rule: str
    effect: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a message asks of an agent, None for nothing, and by which rules."""

    attention: Attention | None
    rules: tuple[AttentionRule, ...]


def attention_of(wire: attention_pb2.Attention | attention_pb2.GetAttentionResponse) -> Attention:
    """Reads attention from the wire."""
    claim, knock = wire.claim, wire.knock
    return Attention(
        directedness=directedness_word(wire.directedness),
        policy=policy_word(wire.policy),
        injection=word(attention_pb2.Injection, "INJECTION_", wire.injection),
        reason=wire.reason,
        priority=priority_word(wire.priority),
        deadline_ms=wire.deadline_ms if wire.HasField("deadline_ms") else None,
        claim=_claim_of(claim) if wire.HasField("claim") else None,
        knock=Knock(getattr(knock, "from"), knock.where, knock.topic, knock.pull_with)
        if wire.HasField("knock")
        else None,
    )


def given_attention(wire: Any) -> Attention | None:
    """Reads the attention of a delivery or an inbox item; None when it has none."""
    return attention_of(wire.attention) if wire.HasField("attention") else None


def explanation_of(wire: attention_pb2.GetAttentionResponse) -> Explanation:
    """Reads the answer to "why was I woken?"."""
    rules = tuple(AttentionRule(rule.rule, rule.effect) for rule in wire.rules)
    return Explanation(attention_of(wire) if wire.HasField("directedness") else None, rules)


def _claim_of(wire: attention_pb2.AttentionClaim) -> AttentionClaim:
    return AttentionClaim(wire.holder, wire.expires_in_ms, wire.fence if wire.HasField("fence") else None)


def priority_word(number: int) -> str:
    """Returns the word for a priority."""
    return word(attention_pb2.Priority, "PRIORITY_", number)


def directedness_word(number: int) -> str:
    """Returns the word for how far a message is meant for a recipient."""
    return word(attention_pb2.Directedness, "DIRECTEDNESS_", number)


def policy_word(number: int) -> str:
    """Returns the word for whether a recipient may answer."""
    return word(attention_pb2.ResponsePolicy, "RESPONSE_POLICY_", number)

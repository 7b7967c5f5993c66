"""Dataclasses and pydantic models go and come as payloads."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Literal

import pydantic
import pytest

from openintent_channels import Message, PayloadError
from openintent_channels.payloads import decode, encode, is_typed


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Column:
    name: str
    nullable: bool = False


@dataclass
class Schema:
    version: str
    columns: list[Column]
    weights: dict[str, float] = field(default_factory=dict)
    colour: Colour | None = None
    mode: Literal["full", "partial"] = "full"
    pair: tuple[int, ...] = ()
    anything: Any = None


class Answer(pydantic.BaseModel):
    value: int = pydantic.Field(alias="theValue")
    tags: list[str] = []


PLAIN = {
    "version": "v2", "columns": [{"name": "id", "nullable": True}], "weights": {"a": 1.0}, "colour": "red",
    "mode": "partial", "pair": [1, 2], "anything": {"x": [1]},
}
TYPED = Schema("v2", [Column("id", True)], {"a": 1.0}, Colour.RED, "partial", (1, 2), {"x": [1]})


def test_a_dataclass_goes_and_comes() -> None:
    assert encode(TYPED) == PLAIN
    assert decode(PLAIN, Schema) == TYPED


def test_a_model_goes_and_comes() -> None:
    answer = Answer(theValue=3, tags=["x"])
    assert encode(answer) == {"theValue": 3, "tags": ["x"]}
    assert decode({"theValue": 3, "tags": ["x"]}, Answer) == answer


def test_missing_fields_take_their_defaults_and_unknown_ones_are_left_out() -> None:
    assert decode({"name": "id", "since": 1}, Column) == Column("id", False)


def test_a_whole_number_is_a_float_where_one_is_wanted() -> None:
    read = decode({**PLAIN, "weights": {"a": 1}}, Schema)
    assert type(read.weights["a"]) is float


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"version": 1}, "payload.version"),
        ({"columns": {}}, "payload.columns"),
        ({"columns": [{}]}, "payload.columns[0].name"),
        ({"columns": [{"name": "x", "nullable": 1}]}, "payload.columns[0].nullable"),
        ({"weights": {"a": "b"}}, "payload.weights.a"),
        ({"colour": "blue"}, "payload.colour"),
        ({"mode": "half"}, "payload.mode"),
        ({"pair": [True]}, "payload.pair[0]"),
    ],
)
def test_another_form_is_refused_by_path(change: dict[str, Any], path: str) -> None:
    with pytest.raises(PayloadError) as raised:
        decode({**PLAIN, **change}, Schema)
    assert raised.value.violations[0].field == path


def test_a_model_refuses_by_path() -> None:
    with pytest.raises(PayloadError, match=r"payload\.theValue"):
        decode({"theValue": "many"}, Answer)


@pytest.mark.parametrize("value", [None, 1, "text", [1], Column])
def test_only_an_object_is_a_payload(value: object) -> None:
    with pytest.raises(PayloadError, match="must be an object"):
        encode(value)


def test_typed_means_dataclass_or_model() -> None:
    assert [is_typed(kind) for kind in (Schema, Answer, dict, str, Schema("", []))] == [True, True, False, False, False]


def test_a_message_returns_its_payload_typed() -> None:
    now = datetime.now(timezone.utc)
    message = Message("m", "c", "a", None, "notify", None, {"name": "id"}, {}, "delivered", now)
    assert message.payload_as(Column) == Column("id")
    assert message in {message}, "messages can be kept in sets"

"""Objects come back as they were sent. What would not come back is refused, by its path."""

import math
from typing import Any

import pytest

from openintent_channels._structs import from_struct, to_struct
from openintent_channels.errors import InvalidArgumentError, PayloadError


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"a": None, "b": True, "c": False, "d": "ä € 😀", "": ""},
        {"n": 0, "whole": 5, "negative": -7, "large": 2**53 - 1, "half": 0.5, "huge": 1e300},
        {"empty": {}, "none": [], "nested": {"a": [1, [2, {"b": [None]}]]}},
    ],
)
def test_objects_come_back(value: dict[str, Any]) -> None:
    assert from_struct(to_struct(value)) == value


def test_whole_numbers_come_back_as_int() -> None:
    read = from_struct(to_struct({"n": 5, "x": 5.0, "y": 0.5}))
    assert [type(read[key]) for key in ("n", "x", "y")] == [int, int, float]


def test_tuples_are_lists() -> None:
    assert from_struct(to_struct({"t": (1, 2)})) == {"t": [1, 2]}


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth - 1):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": {"b": [1, math.nan]}}, "payload.a.b[1]"),
        ({"a": math.inf}, "payload.a"),
        ({"a": 2**53}, "payload.a"),
        ({"a": object()}, "payload.a"),
        ({"a": {1: 2}}, "payload.a"),
        ({"a": "\ud800"}, "payload.a"),
        ([1], "payload"),
        (nested(65), "payload" + 64 * ".a"),
    ],
)
def test_what_has_no_json_form_is_refused(value: Any, path: str) -> None:
    with pytest.raises(PayloadError) as raised:
        to_struct(value)
    assert raised.value.violations[0].field == path
    assert isinstance(raised.value, InvalidArgumentError)
    assert isinstance(raised.value, ValueError)


def test_nesting_up_to_the_bound_is_taken() -> None:
    assert from_struct(to_struct(nested(64))) == nested(64)

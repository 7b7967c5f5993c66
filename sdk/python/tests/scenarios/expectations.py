"""Comparing what happened with what a scenario expects."""

from __future__ import annotations

from typing import Any

_LIST = {"count", "min_count", "payloads", "payloads_unordered", "senders_unordered", "distinct_ids"}


def check(result: Any, expected: Any) -> None:
    """Raises AssertionError when a plain result is not what is expected."""
    if isinstance(result, list) and isinstance(expected, dict):
        _check_list(result, expected)
        return
    assert contains(result, expected), f"expected {expected}, got {result}"


def _check_list(result: list[Any], expected: dict[str, Any]) -> None:
    assert set(expected) <= _LIST, f"unknown expectations of a list: {set(expected) - _LIST}"
    if "count" in expected:
        assert len(result) == expected["count"], f"expected {expected['count']}, got {len(result)}: {result}"
    if "min_count" in expected:
        assert len(result) >= expected["min_count"], f"expected {expected['min_count']} or more, got {result}"
    payloads = [member["payload"] for member in result] if any("payloads" in key for key in expected) else []
    if "payloads" in expected:
        assert contains(payloads, expected["payloads"]), f"expected payloads {expected['payloads']}, got {payloads}"
    if "payloads_unordered" in expected:
        assert _contains_unordered(payloads, expected["payloads_unordered"]), f"{expected}, got {payloads}"
    if "senders_unordered" in expected:
        senders = sorted(member["sender"] for member in result)
        assert senders == sorted(expected["senders_unordered"]), f"expected {expected}, got {senders}"
    if expected.get("distinct_ids"):
        ids = [member["id"] for member in result]
        assert len(set(ids)) == len(ids), f"an id came twice: {ids}"


def _is_list(result: list[Any], expected: dict[str, Any]) -> bool:
    try:
        _check_list(result, expected)
    except AssertionError:
        return False
    return True


def contains(result: Any, expected: Any) -> bool:
    """Whether a result has the expected members, deeply; null expects one that is null or absent."""
    if isinstance(expected, dict) and isinstance(result, list):
        return _is_list(result, expected)
    if isinstance(expected, dict):
        return isinstance(result, dict) and all(contains(result.get(key), value) for key, value in expected.items())
    if isinstance(expected, list):
        return (
            isinstance(result, list)
            and len(result) == len(expected)
            and all(contains(r, e) for r, e in zip(result, expected, strict=True))
        )
    if isinstance(expected, bool) or isinstance(result, bool):
        return expected is result
    return bool(result == expected)


def _contains_unordered(result: list[Any], expected: list[Any]) -> bool:
    left = list(result)
    for member in expected:
        found = next((r for r in left if contains(r, member)), None)
        if found is None:
            return False
        left.remove(found)
    return not left


def check_error(error: BaseException, expected: dict[str, Any], plain: dict[str, Any]) -> None:
    """Raises AssertionError when an error is not what is expected."""
    classes = [kind.__name__ for kind in type(error).__mro__]
    told = f"expected {expected}, got {plain}"
    assert expected.get("class", classes[0]) in classes, told
    assert expected.get("reason", plain["reason"]) == plain["reason"], told
    assert expected.get("message_contains", "") in plain["message"], told
    if "message_id" in expected:
        wanted = expected["message_id"]
        assert plain["message_id"] if wanted == "any" else plain["message_id"] == wanted, told

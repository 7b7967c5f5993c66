"""JSON objects to google.protobuf.Struct and back.

The numbers of a Struct are doubles. A whole one comes back as an int, so `{"n": 5}` is `{"n": 5}` again. What the server
would refuse, and what a double cannot hold, is refused here, with a `PayloadError` that names its path.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from google.protobuf import struct_pb2

from ._basic_errors import PayloadError

_LARGEST_INTEGER = 2**53 - 1
_DEEPEST = 64


def to_struct(value: Mapping[str, Any], path: str = "payload") -> struct_pb2.Struct:
    """Writes an object of str, bool, int, float, None, lists and objects."""
    if not isinstance(value, Mapping):
        raise PayloadError(path, f"must be an object, not {type(value).__name__}")
    struct = struct_pb2.Struct()
    fill(struct, value, path)
    return struct


def fill(target: struct_pb2.Struct, value: Mapping[str, Any], path: str = "payload") -> None:
    """Writes an object into a Struct that is part of a message. An empty object is there, too."""
    if value:
        _fill_struct(target, value, path, 1)
    else:
        target.SetInParent()


def _fill_struct(struct: struct_pb2.Struct, value: Mapping[str, Any], path: str, depth: int) -> None:
    if depth > _DEEPEST:
        raise PayloadError(path, f"is nested deeper than {_DEEPEST}")
    fields = struct.fields
    for key, member in value.items():
        if not isinstance(key, str):
            raise PayloadError(path, f"must have text as keys, not {type(key).__name__}")
        _fill(fields[key], member, f"{path}.{key}", depth)


def _fill(target: struct_pb2.Value, value: Any, path: str, depth: int) -> None:
    if isinstance(value, str):
        target.string_value = _text(value, path)
    elif value is None:
        target.null_value = struct_pb2.NULL_VALUE
    elif isinstance(value, bool):
        target.bool_value = value
    elif isinstance(value, (int, float)):
        target.number_value = _number(value, path)
    elif isinstance(value, Mapping):
        target.struct_value.SetInParent()
        _fill_struct(target.struct_value, value, path, depth + 1)
    elif isinstance(value, (list, tuple)):
        if depth + 1 > _DEEPEST:
            raise PayloadError(path, f"is nested deeper than {_DEEPEST}")
        target.list_value.SetInParent()
        for i, member in enumerate(value):
            _fill(target.list_value.values.add(), member, f"{path}[{i}]", depth + 1)
    else:
        raise PayloadError(path, f"is of type {type(value).__name__}, which has no JSON form")


def _text(value: str, path: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise PayloadError(path, "holds a lone surrogate, which no JSON text may") from None
    return value


def _number(value: int | float, path: str) -> float:
    if isinstance(value, int) and abs(value) > _LARGEST_INTEGER:
        raise PayloadError(path, "is an integer beyond 2^53-1, which would lose digits; send it as text")
    if not math.isfinite(value):
        raise PayloadError(path, "must be a finite number")
    return float(value)


def from_struct(struct: struct_pb2.Struct) -> dict[str, Any]:
    """Reads an object."""
    fields = struct.fields
    return {key: from_value(fields[key]) for key in fields}


def from_value(value: struct_pb2.Value) -> Any:
    """Reads a value."""
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        return value.string_value
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() and abs(number) <= _LARGEST_INTEGER else number
    if kind == "bool_value":
        return value.bool_value
    if kind == "struct_value":
        return from_struct(value.struct_value)
    if kind == "list_value":
        return [from_value(member) for member in value.list_value.values]
    return None

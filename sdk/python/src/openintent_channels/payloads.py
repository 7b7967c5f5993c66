"""Typed payloads: dataclasses and pydantic models in place of plain dicts. README.md, "Typed payloads", has the rule."""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from ._basic_errors import PayloadError

T = TypeVar("T")

_SCALARS = frozenset((str, int, float, bool, type(None)))


def is_typed(kind: Any) -> bool:
    """Whether a payload can be read as this type: a dataclass, or a pydantic model."""
    return isinstance(kind, type) and (dataclasses.is_dataclass(kind) or _is_model(kind))


def encode(value: Any, path: str = "payload") -> dict[str, Any]:
    """Returns the plain object of a payload. Raises PayloadError for what is neither an object nor a typed payload."""
    plain = _plain(value)
    if not isinstance(plain, dict):
        raise PayloadError(path, f"must be an object, a dataclass or a pydantic model, not {type(value).__name__}")
    return plain


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is dict:
        return {key: _plain(member) for key, member in value.items()}
    if isinstance(value, enum.Enum):
        return _plain(value.value)
    if _is_model(kind):
        return value.model_dump(mode="json", by_alias=True)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(member) for member in value]
    return value


def decode(payload: Mapping[str, Any], kind: type[T], path: str = "payload") -> T:
    """Reads a plain object as a dataclass or a pydantic model. PayloadError names the field that does not fit."""
    if _is_model(kind):
        return typing.cast(T, _decode_model(payload, kind, path))
    if dataclasses.is_dataclass(kind):
        return typing.cast(T, _decode_dataclass(payload, kind, path))
    if kind is dict:
        return typing.cast(T, dict(payload))
    raise TypeError(f"{kind!r} is neither a dataclass nor a pydantic model")


def _is_model(kind: Any) -> bool:
    """Whether this is a pydantic model. Its methods tell, so pydantic need not be installed."""
    return isinstance(kind, type) and hasattr(kind, "model_validate") and hasattr(kind, "model_dump")


def _decode_model(payload: Mapping[str, Any], kind: Any, path: str) -> Any:
    try:
        return kind.model_validate(payload)
    except ValueError as error:
        first = error.errors()[0] if hasattr(error, "errors") else {"loc": (), "msg": str(error)}
        raise PayloadError(".".join([path, *map(str, first["loc"])]), f"does not fit: {first['msg']}") from error


def _decode_dataclass(value: Any, kind: Any, path: str) -> Any:
    """Reads a dataclass. Missing fields take their defaults, and fields that it does not have are left out."""
    if not isinstance(value, Mapping):
        raise PayloadError(path, f"must be an object for {kind.__name__}")
    hints = typing.get_type_hints(kind)
    given = {}
    for f in dataclasses.fields(kind):
        if not f.init:
            continue
        if f.name in value:
            given[f.name] = _decode_value(value[f.name], hints[f.name], f"{path}.{f.name}")
        elif f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING:
            raise PayloadError(f"{path}.{f.name}", "is missing")
    return kind(**given)


def _decode_value(value: Any, hint: Any, path: str) -> Any:
    if hint is Any:
        return value
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _decode_value(value, arguments[0], path)
    if origin in (typing.Union, types.UnionType):
        return _decode_union(value, arguments, path)
    if origin is typing.Literal:
        if value not in arguments:
            raise PayloadError(path, f"must be one of {', '.join(map(repr, arguments))}")
        return value
    if origin in (list, tuple, Sequence) or hint in (list, tuple):
        return _decode_list(value, hint, path)
    if origin in (dict, Mapping) or hint is dict:
        if not isinstance(value, Mapping):
            raise PayloadError(path, "must be an object")
        member = arguments[1] if arguments else Any
        return {key: _decode_value(v, member, f"{path}.{key}") for key, v in value.items()}
    if is_typed(hint):
        return decode(value, hint, path)
    return _decode_scalar(value, hint, path)


def _decode_union(value: Any, arguments: tuple[Any, ...], path: str) -> Any:
    problem: PayloadError | None = None
    for candidate in arguments:
        try:
            return _decode_value(value, candidate, path)
        except PayloadError as error:
            problem = problem or error
    raise problem or PayloadError(path, "has none of the forms that its type allows")


def _decode_list(value: Any, hint: Any, path: str) -> Any:
    if not isinstance(value, (list, tuple)):
        raise PayloadError(path, "must be a list")
    arguments = typing.get_args(hint)
    member = arguments[0] if arguments else Any
    made = [_decode_value(v, member, f"{path}[{i}]") for i, v in enumerate(value)]
    return tuple(made) if (typing.get_origin(hint) or hint) is tuple else made


def _decode_scalar(value: Any, hint: Any, path: str) -> Any:
    if hint in (None, type(None)):
        if value is None:
            return None
        raise PayloadError(path, "must be null")
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        try:
            return hint(value)
        except ValueError:
            raise PayloadError(path, f"must be one of {', '.join(repr(m.value) for m in hint)}") from None
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if hint is int and isinstance(value, bool) or not isinstance(hint, type) or not isinstance(value, hint):
        raise PayloadError(path, f"must be {getattr(hint, '__name__', hint)}, not {type(value).__name__}")
    return value

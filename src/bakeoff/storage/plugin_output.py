"""Removes keys and passwords from everything a plug-in raises or reports.

The registry passes every plug-in class through `mask_output`, so this covers errors, warnings, events, tables
and reports alike. Documents, chunks, vectors and hits are not changed.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from bakeoff.errors import (
    BakeoffError,
    ChunkerError,
    CorpusError,
    EmbedderError,
    MeasureError,
    RerankerError,
    RetrieverError,
    SettingError,
    StoreError,
    UnreadableFileError,
)
from bakeoff.storage.redaction import redact

FAILURES: dict[str, type[BakeoffError]] = {
    "sources": CorpusError,
    "readers": UnreadableFileError,
    "chunkers": ChunkerError,
    "embedders": EmbedderError,
    "encoders": EmbedderError,
    "stores": StoreError,
    "rerankers": RerankerError,
    "retrievers": RetrieverError,
    "executors": SettingError,
    "measures": MeasureError,
}
DESCRIPTIONS = ("info", "engine_version", "collections", "start")
"""Methods and properties that return text written by the plug-in."""
_MARK = "_masks_output"


def mask_output(kind: str, plugin: Any) -> Any:
    """The same class, whose public methods mask their errors and descriptions."""
    if not inspect.isclass(plugin) or _MARK in vars(plugin):
        return plugin
    for name in dir(plugin):
        attribute = inspect.getattr_static(plugin, name)
        if name == "__init__" or not name.startswith("_"):
            masked = _mask_attribute(kind, name, attribute)
            if masked is not None:
                setattr(plugin, name, masked)
    setattr(plugin, _MARK, True)
    return plugin


def _mask_attribute(kind: str, name: str, attribute: object) -> object:
    """The attribute with masked output; None if it is neither a method nor a described property."""
    if inspect.isfunction(attribute) and attribute is not object.__init__:
        return _method(kind, attribute, masks_result=name in DESCRIPTIONS)
    if name in DESCRIPTIONS and isinstance(attribute, functools.cached_property):
        masked = functools.cached_property(_method(kind, attribute.func, masks_result=True))
        masked.__set_name__(object, name)
        return masked
    if name in DESCRIPTIONS and isinstance(attribute, property) and attribute.fget is not None:
        return property(
            _method(kind, attribute.fget, masks_result=True),
            attribute.fset,
            attribute.fdel,
            attribute.__doc__,
        )
    return None


def _method(kind: str, method: Callable[..., object], *, masks_result: bool) -> Callable[..., object]:
    failure = FAILURES.get(kind, BakeoffError)

    @functools.wraps(method)
    def call(*args: object, **kwargs: object) -> object:
        try:
            result = method(*args, **kwargs)
        except Exception as exc:
            clean = _without_secrets(exc, failure)
            if clean is exc:
                raise
            fault = clean
        else:
            if inspect.isgenerator(result):
                return _generator(result, failure)
            return _redact_description(result) if masks_result else result
        raise fault

    return call


def _generator(items: Iterator[object], failure: type[BakeoffError]) -> Iterator[object]:
    """The same values, with errors between them masked too."""
    while True:
        try:
            value = next(items)
        except StopIteration:
            return
        except Exception as exc:
            clean = _without_secrets(exc, failure)
            if clean is exc:
                raise
            fault = clean
        else:
            yield value
            continue
        raise fault


def _without_secrets(exc: Exception, failure: type[BakeoffError]) -> Exception:
    """The same error if neither it nor its causes contain a secret, else one of its kind with masked text."""
    chain = list(_chain(exc))
    if all(redact(text) == text for one in chain for text in (str(one), repr(one))):
        return exc
    if isinstance(exc, BakeoffError):
        return type(exc)(redact(str(exc)))
    return failure(redact(f"{type(exc).__name__}: {exc}"))


def _chain(exc: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while exc is not None and id(exc) not in seen:
        seen.add(id(exc))
        yield exc
        exc = exc.__cause__ or exc.__context__


def _redact_description(value: object) -> object:
    """A description with masked texts: a text, a list of texts, or an object with text fields."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_redact_description(one) for one in value]
    if is_dataclass(value) and not isinstance(value, type):
        texts = {one.name: getattr(value, one.name) for one in fields(value)}
        changed = {
            name: redact(text)
            for name, text in texts.items()
            if isinstance(text, str) and redact(text) != text
        }
        return replace(value, **changed) if changed else value
    return value

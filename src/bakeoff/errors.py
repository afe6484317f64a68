"""Every error the product raises on purpose.

BakeoffError                    exit code 1
├── UserError                   exit code 2: something the user wrote or gave is wrong
│   ├── ExperimentError         bakeoff.yaml: bad key, bad value, bad combination
│   ├── QueryFileError          a query file that cannot be read as one
│   ├── TruthError              a truth rule that does not resolve or cannot be executed
│   ├── CorpusError             missing folder, empty corpus, unreadable document
│   ├── MeasureError            an unknown measure, or one that is impossible for this unit or truth
│   ├── ComparisonError         systems or results that must not be compared
│   ├── DataError               a foreign file (qrels, run, dataset, review, result) that is malformed
│   ├── UnknownPluginError      a name that no plug-in is registered under
│   ├── MissingExtraError       a plug-in whose third-party package is not installed
│   ├── ModelNotFoundError      weights that are not at hand, or whose hash differs
│   └── SettingError            an environment variable, option or permission
│       └── ConsentError        a key or password would go where the user did not allow it
├── SystemFailure               one system cannot go on; the others can
│   ├── ChunkerError
│   ├── EmbedderError
│   ├── StoreError
│   ├── RerankerError
│   └── RetrieverError
└── CacheError                  an artifact that cannot be written or read

A message says what happened, shows the value, and says what to do.
"""

from __future__ import annotations

from collections.abc import Iterable


class BakeoffError(Exception):
    """Base of all errors raised on purpose; `lines` are the parts of a multi-line message."""

    exit_code = 1

    def __init__(self, message: str = "", *, lines: Iterable[str] = ()) -> None:
        self.lines = tuple(lines) or (message,)
        super().__init__(message or "\n".join(self.lines))


class UserError(BakeoffError):
    """Something the user wrote or passed is wrong."""

    exit_code = 2


class ExperimentError(UserError):
    """The experiment file is wrong."""


class QueryFileError(UserError):
    """A query file cannot be read as one."""


class TruthError(UserError):
    """A truth rule does not resolve or cannot be executed."""


class CorpusError(UserError):
    """The corpus is missing, empty or unreadable."""


class UnreadableFileError(BakeoffError):
    """A reader could not read a file that another may read; the text is a short reason."""


class FileLimitError(UnreadableFileError):
    """A file is above a limit of the experiment, so no other reader is tried."""


class MeasureError(UserError):
    """A measure is unknown, or impossible for this unit or truth."""


class ComparisonError(UserError):
    """Systems or results that must not be compared."""


class DataError(UserError):
    """A foreign file is malformed."""


class UnknownPluginError(UserError):
    """No plug-in is registered under that name."""


class MissingExtraError(UserError):
    """A plug-in's third-party package is not installed."""


class ModelNotFoundError(UserError):
    """Model weights are missing, or their hash differs."""


class SettingError(UserError):
    """An environment variable, option or permission is wrong."""


class ConsentError(SettingError):
    """A key or password would be sent to a server that the user did not allow."""


class SystemFailure(BakeoffError):
    """One system can't continue; the others can."""


class ChunkerError(SystemFailure):
    """A chunker broke its contract or failed on a document."""


class EmbedderError(SystemFailure):
    """An embedder failed or returned unusable vectors."""


class StoreError(SystemFailure):
    """A store's engine refused, failed or went away."""


class RerankerError(SystemFailure):
    """A reranker failed or returned unusable scores."""


class RetrieverError(SystemFailure):
    """A retriever failed, or its answer is not a ranking."""


class CacheError(BakeoffError):
    """An artifact cannot be written or read."""


def describe_error(exc: BaseException) -> str:
    """What went wrong; foreign exceptions are prefixed with their type."""
    return str(exc) if isinstance(exc, BakeoffError) and str(exc) else f"{type(exc).__name__}: {exc}"

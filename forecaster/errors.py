"""The exceptions that this program raises deliberately.

HarborError
├── BadInputError (ValueError)        an input violates a stated rule
│   ├── CutoffError                   a cutoff outside the steps observed
│   ├── ConfigError                   a setting or configuration out of range
│   └── RefusedFileError              a file is refused as a whole; nothing changed
├── NothingToDoError                  nothing was done although something was expected
├── NoDataError (LookupError)         data that a step needs are missing
├── NoModelError (LookupError)        no matching artefact
├── ArtefactError (ValueError)        a file is corrupt, no artefact or of another release
├── TrainingError (ArithmeticError)   training cannot go on
├── DeviceError (RuntimeError)        JAX does not start on this machine
└── DatabaseError (RuntimeError)      the database cannot be started, reached or used

Form of a message: what is wrong, with its value - the rule - what to do. Only `pipelines.cli`
turns a HarborError into one sentence and an exit code; only `dashboard.app` turns one
into a notice. Any other exception keeps its traceback.
"""

from collections.abc import Iterable

MAX_LISTED = 5
"""Maximum number of names that a message lists; the others are counted."""


class HarborError(Exception):
    """Base of the errors that are reported in one sentence."""

    exit_code = 1


class BadInputError(HarborError, ValueError):
    """An input violates a stated rule."""


class CutoffError(BadInputError):
    """A cutoff lies outside the steps observed."""


class ConfigError(BadInputError):
    """A setting or a configuration is out of range."""


class RefusedFileError(BadInputError):
    """A file is refused as a whole; nothing was loaded from it."""


class NothingToDoError(HarborError):
    """Nothing was done although something was expected."""

    exit_code = 3


class NoDataError(HarborError, LookupError):
    """Data that a step needs are missing."""


class NoModelError(HarborError, LookupError):
    """No artefact matches the request."""


class ArtefactError(HarborError, ValueError):
    """A file is corrupt, no artefact, or of another release."""


class TrainingError(HarborError, ArithmeticError):
    """Training cannot go on."""


class DeviceError(HarborError, RuntimeError):
    """JAX does not start on this machine."""


class DatabaseError(HarborError, RuntimeError):
    """The database cannot be started, reached or used."""


def shortened_list(names: Iterable[object], most: int = MAX_LISTED) -> str:
    """Returns names for a message: the first ones, and the number of the others."""
    listed = [str(name) for name in names]
    more = len(listed) - most
    text = ", ".join(listed[:most])
    return f"{text} and {more} more" if more > 0 else text

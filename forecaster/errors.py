"""Every error this program raises on purpose.

HarborError
├── BadInputError (ValueError)        what somebody handed in breaks a stated rule
│   ├── CutoffError                   a cutoff outside the steps observed
│   ├── ConfigError                   a setting or configuration out of range
│   └── RefusedFileError              a whole file cannot be read; nothing changed
├── NothingToDoError                  nothing was done although something was expected
├── NoDataError (LookupError)         the data a step needs is not there
├── NoModelError (LookupError)        no artefact fits what was asked
├── ArtefactError (ValueError)        an artefact is corrupt, foreign or newer
├── TrainingError (ArithmeticError)   training cannot go on
├── DeviceError (RuntimeError)        JAX does not start on this machine
├── NotificationError (RuntimeError)        a notice could not be sent
└── DatabaseError (RuntimeError)      the database cannot be started, reached or used

Form of a message: what is wrong with its value - the rule - what to do. `pipelines.cli`
alone turns a HarborError into one sentence and an exit code; `dashboard.app` alone
turns one into a notice. Anything else keeps its traceback.
"""


class HarborError(Exception):
    """Heads the tree of errors that are told in one sentence."""

    exit_code = 1


class BadInputError(HarborError, ValueError):
    """What somebody handed in breaks a stated rule."""


class CutoffError(BadInputError):
    """A cutoff lies outside the steps observed."""


class ConfigError(BadInputError):
    """A setting or a configuration is out of range."""


class RefusedFileError(BadInputError):
    """A whole file cannot be read; nothing of it was loaded."""


class NothingToDoError(HarborError):
    """Nothing was done although something was expected."""

    exit_code = 3


class NoDataError(HarborError, LookupError):
    """The data a step needs is not there."""


class NoModelError(HarborError, LookupError):
    """No artefact fits what was asked."""


class ArtefactError(HarborError, ValueError):
    """An artefact is corrupt, foreign, or newer than this program."""


class TrainingError(HarborError, ArithmeticError):
    """Training cannot go on."""


class DeviceError(HarborError, RuntimeError):
    """JAX does not start on this machine."""


class NotificationError(HarborError, RuntimeError):
    """A notice could not be sent."""


class DatabaseError(HarborError, RuntimeError):
    """The database cannot be started, reached or used."""

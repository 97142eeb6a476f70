"""The artefact: weights and everything needed to use them in one `.npz`, without pickle.

Loading checks the schema, the manifest's parts, and a sha256 over the manifest and every array.
"""

import hashlib
import io
import json
from dataclasses import asdict, dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from forecaster.config import ModelConfig, TaskConfig
from forecaster.data import inputs
from forecaster.data.calendar_effects import CalendarEffects
from forecaster.data.effects import Effects
from forecaster.data.signal_effects import SignalEffects
from forecaster.data.weekday_prior import WeekdayPrior
from forecaster.errors import ArtefactError
from forecaster.inference.artefact_file import (
    MANIFEST,
    SCHEMA,
    invalid_artefact,
    parse,
    publish,
    recorded_content,
)
from forecaster.inference.intervals import IntervalTable
from forecaster.inference.numpy_model import Network
from forecaster.inference.paths import PathTable
from forecaster.inference.totals import TotalsTable

TABLES = {
    "intervals": ("low_h", "high_h"),
    "totals": ("fleet_q", "any_city_q", "city_cq"),
    "paths": ("error_och",),
    "calendar_effects": ("fleet_f", "city_cf", "depot_df", "covariance_ff"),
    "signal_effects": ("coefficient_hk", "centre_k", "scale_hk", "scale_hdk"),
    "weekdays": ("pattern_w",),
}
"""Arrays of each table, stored under `table/name`."""
NAMES = ("depot_ids", "kinds", "feature_names")
PLAIN = (
    "data_watermark",
    "seed",
    "epochs",
    "versions",
    "parity_error",
    "backtest",
)
"""Fields that the manifest stores unchanged; fields of `NAMES` are stored as lists."""


@dataclass(frozen=True)
class Artefact:
    """A trained network with everything needed to serve it on the CPU.

    Attributes:
      weights: Weights by path, such as `gru_1/ir/kernel`; float32, members first.
      network_share: Share of the network's correction to the baseline, 0 to 1.
      totals: Quantiles of a city's and of the fleet's totals.
      paths: Errors from last year's origins, which sampled paths replay.
      effects: Effects of holidays, events and signals on each depot, and of weekdays on the fleet.
      depot_ids: Depots with an embedding, in the order of the embedding's rows.
      kinds: Kinds of day among the features.
      feature_names: Columns of the inputs, as `inputs.column_names` lists them.
      trained_through: Last day of the training data.
      data_watermark: Identifies the training data.
      versions: Versions of the libraries used for training.
      parity_error: Largest difference between NumPy and Flax at export, log counts.
      backtest: Holdout scores of the evaluation fit (`gru`) and of the naive forecasts, by model;
        in percent, as `Scores.in_percent` returns them.
    """

    task: TaskConfig
    model: ModelConfig
    weights: dict[str, np.ndarray]
    network_share: float
    intervals: IntervalTable
    totals: TotalsTable
    paths: PathTable
    effects: Effects
    depot_ids: tuple[str, ...]
    kinds: tuple[str, ...]
    feature_names: tuple[str, ...]
    trained_through: date
    data_watermark: str
    seed: int
    epochs: int
    versions: dict[str, str]
    parity_error: float
    backtest: dict[str, dict[str, float | None]] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """Version of the model: the last training day, and the start of the sha256."""
        return f"{self.trained_through:%Y%m%d}-{_digest(self)[:8]}"

    @property
    def horizon(self) -> int:
        """Days forecast."""
        return self.task.horizon

    @cached_property
    def network(self) -> Network:
        """The networks of the ensemble; their weights are rearranged at the first forecast."""
        return Network(self.weights, self.horizon)


def save(artefact: Artefact, directory: Path) -> Path:
    """Writes the artefact atomically, by rename.

    Equal artefacts give equal bytes.

    Returns:
      Path of the file, named by the version.
    """
    path = directory / f"{artefact.version}.npz"
    publish(path, _as_bytes(artefact))
    return path


def load(path: Path, sha256: str | None = None) -> Artefact:
    """Reads and verifies an artefact, including its recorded sha256 if one is given.

    Raises:
      ArtefactError: the file is missing, not the recorded one, truncated, changed, no artefact or
        of another schema, or the model was trained on other inputs than this program builds.
    """
    manifest, arrays = parse(path, recorded_content(path, sha256))
    try:
        artefact, recorded_digest = _from_parts(manifest, arrays), manifest["sha256"]
    except (KeyError, TypeError, ValueError) as error:
        raise invalid_artefact(path, "lacks a part of its manifest") from error
    if _digest(artefact) != recorded_digest:
        raise invalid_artefact(path, "does not match its sha256")
    _require_same_inputs(artefact)
    return artefact


def _require_same_inputs(artefact: Artefact) -> None:
    trained, made = artefact.feature_names, inputs.column_names(artefact.kinds)
    if trained != made:
        other = sorted({*trained} ^ {*made})
        raise ArtefactError(
            f"The model was trained with other inputs: {len(trained)} columns, and this "
            f"program makes {len(made)}. They differ in {', '.join(other[:5]) or 'order'}. "
            "Train again."
        )


def file_sha256(path: Path) -> str:
    """sha256 of a file of any size, as recorded in the database or a backup."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _as_bytes(artefact: Artefact) -> bytes:
    manifest = {**_manifest(artefact), "sha256": _digest(artefact)}
    text = json.dumps(manifest, sort_keys=True).encode()
    buffer = io.BytesIO()
    arrays = {MANIFEST: np.frombuffer(text, np.uint8), **_arrays(artefact)}
    # NumPy writes no timestamp into the archive: the same weights give the same file.
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def _arrays(artefact: Artefact) -> dict[str, np.ndarray]:
    arrays = {
        f"weights/{name}": artefact.weights[name] for name in sorted(artefact.weights)
    }
    tables = {
        "intervals": artefact.intervals,
        "totals": artefact.totals,
        "paths": artefact.paths,
        "calendar_effects": artefact.effects.calendar,
        "signal_effects": artefact.effects.signals,
        "weekdays": artefact.effects.weekdays,
    }
    for table, names in TABLES.items():
        for name in names:
            arrays[f"{table}/{name}"] = getattr(tables[table], name)
    return arrays


def _manifest(artefact: Artefact) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "task": asdict(artefact.task),
        "model": asdict(artefact.model),
        "postprocessing": {"network_share": artefact.network_share},
        "effect_factor": artefact.intervals.effect_factor,
        "cities": list(artefact.totals.cities),
        "total_level": artefact.totals.level,
        "total_effect_factor": artefact.totals.effect_factor,
        "path_cities": list(artefact.paths.cities),
        "persistence": artefact.paths.persistence,
        "effect_kinds": list(artefact.effects.calendar.kinds),
        "effect_cities": list(artefact.effects.calendar.cities),
        "effect_depot_ids": list(artefact.effects.calendar.depot_ids),
        "signals": list(artefact.effects.signals.names),
        "signal_depot_ids": list(artefact.effects.signals.depot_ids),
        "weekday_sd": artefact.effects.weekdays.sd,
        "trained_through": artefact.trained_through.isoformat(),
        **{name: list(getattr(artefact, name)) for name in NAMES},
        **{name: getattr(artefact, name) for name in PLAIN},
    }


def _digest(artefact: Artefact) -> str:
    """sha256 over the manifest and every array, names, types and shapes included."""
    digest = hashlib.sha256(json.dumps(_manifest(artefact), sort_keys=True).encode())
    for name, array in _arrays(artefact).items():
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _from_parts(manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> Artefact:
    intervals, totals, paths, calendar_effects, signal_effects, weekdays = (
        {name: arrays[f"{table}/{name}"] for name in names}
        for table, names in TABLES.items()
    )
    plain: dict[str, Any] = {name: manifest[name] for name in PLAIN}
    plain |= {name: tuple(manifest[name]) for name in NAMES}
    return Artefact(
        task=TaskConfig.from_json(manifest["task"]),
        model=ModelConfig.from_json(manifest["model"]),
        weights={
            name.removeprefix("weights/"): value
            for name, value in arrays.items()
            if name.startswith("weights/")
        },
        network_share=manifest["postprocessing"]["network_share"],
        intervals=IntervalTable(effect_factor=manifest["effect_factor"], **intervals),
        totals=TotalsTable(
            cities=tuple(manifest["cities"]),
            level=manifest["total_level"],
            effect_factor=manifest["total_effect_factor"],
            **totals,
        ),
        paths=PathTable(
            cities=tuple(manifest["path_cities"]),
            persistence=manifest["persistence"],
            **paths,
        ),
        effects=Effects(
            CalendarEffects(
                kinds=tuple(manifest["effect_kinds"]),
                cities=tuple(manifest["effect_cities"]),
                depot_ids=tuple(manifest["effect_depot_ids"]),
                **calendar_effects,
            ),
            SignalEffects(
                names=tuple(manifest["signals"]),
                depot_ids=tuple(manifest["signal_depot_ids"]),
                **signal_effects,
            ),
            WeekdayPrior(sd=manifest["weekday_sd"], **weekdays),
        ),
        trained_through=date.fromisoformat(manifest["trained_through"]),
        **plain,
    )

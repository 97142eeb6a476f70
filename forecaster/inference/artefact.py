"""The artefact: weights and everything needed to use them in one `.npz`, without pickle.

Loading checks the schema, the parts of the manifest, and a sha256 over it and every array.
"""

import hashlib
import io
import json
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from forecaster.config import ModelConfig, TaskConfig
from forecaster.inference.artefact_file import (
    MANIFEST,
    SCHEMA,
    invalid_artefact,
    parse,
    publish,
    recorded_content,
)
from forecaster.inference.intervals import IntervalTable
from forecaster.inference.postprocessing import Postprocessing
from forecaster.inference.totals import TotalsTable


@dataclass(frozen=True)
class Artefact:
    """A trained network with its contract, ready for serving on the CPU.

    Attributes:
      task: Horizon and context.
      model: Size of the network.
      reading_days: Context days that a forecast needs; see `receptive_field`.
      weights: Weights by path, such as `gru_1/ir/kernel`; float32, members first.
      postprocessing: How a raw forecast becomes the point forecast.
      intervals: Conformal intervals of the depots.
      totals: Quantiles of a city's and of the fleet's totals.
      depot_ids: Depots with an embedding, in the order of the rows.
      kinds: Kinds of day among the features.
      feature_names: Columns of the calendar input, in order.
      trained_through: Last day of the training data.
      data_watermark: Identifies the training data.
      seed: Seed of the training.
      epochs: Number of epochs trained.
      versions: Versions of the libraries used for training.
      parity_error: Largest difference between NumPy and Flax at export, log counts.
      validation_mape: Of the fit that chose the number of epochs; a fraction.
      backtest: Scores of the evaluation fit on its holdout, by model: its own (`gru`) and
        the baselines'; in percent, as `Scores.in_percent` returns them.
    """

    task: TaskConfig
    model: ModelConfig
    reading_days: int
    weights: dict[str, np.ndarray]
    postprocessing: Postprocessing
    intervals: IntervalTable
    totals: TotalsTable
    depot_ids: tuple[str, ...]
    kinds: tuple[str, ...]
    feature_names: tuple[str, ...]
    trained_through: date
    data_watermark: str
    seed: int
    epochs: int
    versions: dict[str, str]
    parity_error: float
    validation_mape: float
    backtest: dict[str, dict[str, float | None]] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """Version: the last training day, and the start of the sha256."""
        return f"{self.trained_through:%Y%m%d}-{_digest(self)[:8]}"

    @property
    def n_members(self) -> int:
        """Number of networks in the ensemble, K."""
        return len(self.weights["correction/bias"])

    def member(self, number: int) -> dict[str, np.ndarray]:
        """The weights of one member."""
        return {name: value[number] for name, value in self.weights.items()}

    @property
    def horizon(self) -> int:
        """Days forecast."""
        return self.task.horizon


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
    """Reads and verifies an artefact.

    Args:
      path: Path of the file, which is read once.
      sha256: Recorded sha256 of the file; not checked if None.

    Raises:
      ArtefactError: it is missing, another file than was recorded, truncated, foreign,
        changed, or newer.
    """
    manifest, arrays = parse(path, recorded_content(path, sha256))
    try:
        artefact, recorded_digest = _from_parts(manifest, arrays), manifest["sha256"]
    except (KeyError, TypeError, ValueError) as error:
        raise invalid_artefact(path, "lacks a part of its manifest") from error
    if _digest(artefact) != recorded_digest:
        raise invalid_artefact(path, "does not match its sha256")
    return artefact


def file_sha256(path: Path) -> str:
    """sha256 of the whole file, as recorded in the database."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _as_bytes(artefact: Artefact) -> bytes:
    manifest = {**_manifest(artefact), "sha256": _digest(artefact)}
    text = json.dumps(manifest, sort_keys=True).encode()
    buffer = io.BytesIO()
    arrays = {MANIFEST: np.frombuffer(text, np.uint8), **_arrays(artefact)}
    # NumPy writes no time into the archive: the same weights give the same file.
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def _arrays(artefact: Artefact) -> dict[str, np.ndarray]:
    intervals = artefact.intervals
    return {
        **{
            f"weights/{name}": artefact.weights[name]
            for name in sorted(artefact.weights)
        },
        "intervals/low_h": intervals.low_h,
        "intervals/high_h": intervals.high_h,
        "intervals/weekday_w": intervals.weekday_w,
        "intervals/depot_d": intervals.depot_d,
        "totals/fleet_q": artefact.totals.fleet_q,
        "totals/any_city_q": artefact.totals.any_city_q,
        "totals/city_cq": artefact.totals.city_cq,
    }


def _manifest(artefact: Artefact) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "task": artefact.task.to_json(),
        "model": artefact.model.to_json(),
        "reading_days": artefact.reading_days,
        "delivery": artefact.postprocessing.to_json(),
        "depot_ids": list(artefact.depot_ids),
        "banded_depot_ids": list(artefact.intervals.depot_ids),
        "cities": list(artefact.totals.cities),
        "kinds": list(artefact.kinds),
        "feature_names": list(artefact.feature_names),
        "trained_through": artefact.trained_through.isoformat(),
        "data_watermark": artefact.data_watermark,
        "seed": artefact.seed,
        "epochs": artefact.epochs,
        "versions": artefact.versions,
        "parity_error": artefact.parity_error,
        "validation_mape": artefact.validation_mape,
        "backtest": artefact.backtest,
    }


def _digest(artefact: Artefact) -> str:
    """sha256 over the manifest and every array, names, types and shapes included."""
    digest = hashlib.sha256(json.dumps(_manifest(artefact), sort_keys=True).encode())
    for name, array in _arrays(artefact).items():
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _from_parts(manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> Artefact:
    return Artefact(
        task=TaskConfig.from_json(manifest["task"]),
        model=ModelConfig.from_json(manifest["model"]),
        weights={
            name.removeprefix("weights/"): value
            for name, value in arrays.items()
            if name.startswith("weights/")
        },
        reading_days=manifest["reading_days"],
        postprocessing=Postprocessing.from_json(manifest["delivery"]),
        intervals=IntervalTable(
            low_h=arrays["intervals/low_h"],
            high_h=arrays["intervals/high_h"],
            weekday_w=arrays["intervals/weekday_w"],
            depot_ids=tuple(manifest["banded_depot_ids"]),
            depot_d=arrays["intervals/depot_d"],
        ),
        totals=TotalsTable(
            cities=tuple(manifest["cities"]),
            fleet_q=arrays["totals/fleet_q"],
            any_city_q=arrays["totals/any_city_q"],
            city_cq=arrays["totals/city_cq"],
        ),
        depot_ids=tuple(manifest["depot_ids"]),
        kinds=tuple(manifest["kinds"]),
        feature_names=tuple(manifest["feature_names"]),
        trained_through=date.fromisoformat(manifest["trained_through"]),
        data_watermark=manifest["data_watermark"],
        seed=manifest["seed"],
        epochs=manifest["epochs"],
        versions=manifest["versions"],
        parity_error=manifest["parity_error"],
        validation_mape=manifest["validation_mape"],
        backtest=manifest["backtest"],
    )

"""Compiles the real training step for a TPU on a machine that has none.

libtpu compiles ahead of time for a given topology; nothing is run. It needs
JAX_PLATFORMS=cpu and TPU_SKIP_MDS_QUERY=1 before JAX starts (see `pipelines.cli.tpu`).
"""

import functools
import re
import time
from collections import Counter
from dataclasses import dataclass
from datetime import date
from typing import Any

import jax
import numpy as np

from forecaster.config import ModelConfig, TaskConfig, TrainConfig
from forecaster.data import inputs
from forecaster.data.calendar import Calendar
from forecaster.data.features import MAX_KINDS, build_features
from forecaster.data.inputs import Windows
from forecaster.data.panel import Panel
from forecaster.errors import ConfigError
from forecaster.model import train_step
from forecaster.model.model import DepotForecaster, padded_capacity
from forecaster.model.train_step import Batch, StepConfig

# Google Cloud, "TPU v4": 32 GiB of HBM a chip, two cores share it.
HBM_BYTES_PER_CORE = {"v4": 16 * 2**30}
FLEET_DEPOTS = 1000
"""Depots in the embedding table of the compiled step."""
COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "collective-permute")


@dataclass(frozen=True)
class TpuCheck:
    """Compilation report of one training step.

    Attributes:
      topology: Topology compiled for.
      cores: Devices that the step is mapped over.
      batch_size: Windows of one step.
      compile_seconds: Seconds of compilation.
      bytes_per_core: Memory of arguments, results and temporaries.
      hbm_bytes_per_core: Memory available.
      collectives: Collective operations in the compiled step, with their number.
      largest_batch: Largest batch that would fit, all cores together.
    """

    topology: str
    cores: int
    batch_size: int
    compile_seconds: float
    bytes_per_core: int
    hbm_bytes_per_core: int
    collectives: dict[str, int]
    largest_batch: int


def check(
    topology: str, task: TaskConfig, model: ModelConfig, config: TrainConfig
) -> TpuCheck:
    """Compiles the step at two batch sizes, and reports its memory and collectives.

    A topology is, for example, `v4:2x2x1`; the batch is rounded up to a multiple of its
    cores.

    Raises:
      ConfigError: there is no libtpu, or it does not know the topology.
    """
    devices = tuple(_devices(topology))
    generation = topology.split(":", maxsplit=1)[0]
    if generation not in HBM_BYTES_PER_CORE:
        raise ConfigError(
            f"Nothing is known of the memory of {generation}. Choose one of "
            f"{', '.join(HBM_BYTES_PER_CORE)}, such as v4:2x2x1."
        )
    available = HBM_BYTES_PER_CORE[generation]
    module = DepotForecaster(task.horizon, model, padded_capacity(FLEET_DEPOTS))
    step_config = StepConfig.of(module, config)
    size = -(-config.batch_size // len(devices)) * len(devices)
    started = time.perf_counter()
    compiled = _compiled(step_config, task, size, devices)
    seconds = time.perf_counter() - started
    used, twice = (
        _bytes(compiled),
        _bytes(_compiled(step_config, task, 2 * size, devices)),
    )
    per_window = max(1.0, (twice - used) / (size / len(devices)))
    spare_windows = (available - used) / per_window
    return TpuCheck(
        topology=topology,
        cores=len(devices),
        batch_size=size,
        compile_seconds=round(seconds, 1),
        bytes_per_core=used,
        hbm_bytes_per_core=available,
        collectives=_collectives(compiled.as_text()),
        largest_batch=size + int(spare_windows) * len(devices),
    )


def _devices(topology: str) -> list[Any]:
    from jax.experimental import topologies

    try:
        description = topologies.get_topology_desc(
            platform="tpu", topology_name=topology
        )
    except Exception as error:
        first_line = str(error).strip().splitlines()[0] if str(error).strip() else ""
        raise ConfigError(
            f"There is no TPU compiler for {topology}: {first_line} Install "
            "libtpu ('pip install libtpu') on x86-64 Linux, and name a topology such as "
            "v4:2x2x1."
        ) from error
    return list(description.devices)


def _compiled(
    step_config: StepConfig, task: TaskConfig, size: int, devices: tuple[Any, ...]
) -> Any:
    share = size // len(devices)
    batch = Batch(
        _shapes(task, len(devices), share),
        jax.ShapeDtypeStruct((len(devices), share), np.float32),
        jax.ShapeDtypeStruct((len(devices), share), np.int32),
    )
    example = _shapes(task)
    state = jax.eval_shape(
        functools.partial(train_step.create_train_state, step_config, seed=0), example
    )
    key = jax.eval_shape(lambda: jax.random.key(0))
    rate = jax.ShapeDtypeStruct((), np.float32)
    mapped: Any = train_step.map_train_step(step_config, devices)
    return mapped.lower(state, batch, key, rate).compile()


def _shapes(task: TaskConfig, *leading: int) -> Windows:
    """Shapes of one window, or of a batch of windows with leading axes."""
    one_window = _empty_window(task)
    shapes: Windows = jax.tree.map(
        lambda value: jax.ShapeDtypeStruct((*leading, *value.shape[1:]), np.float32),
        one_window,
    )
    return shapes


def _empty_window(task: TaskConfig) -> Windows:
    """A window without demand, with the largest number of calendar columns."""
    n_steps = task.context
    panel = Panel(
        depot_ids=("",),
        cities=("",),
        start_on=date(2024, 1, 1),
        demand_dt=np.full((1, n_steps), np.nan, np.float32),
        closed_dt=np.zeros((1, n_steps + task.horizon), bool),
        calendar=Calendar(
            kinds=(),
            active_gtk=np.zeros((1, n_steps + task.horizon, 0), bool),
            group_d=np.zeros(1, int),
        ),
    )
    kinds = [f"kind {number}" for number in range(MAX_KINDS)]
    features = build_features(panel, kinds, task.horizon)
    return inputs.cut_windows(features, task, np.zeros(1, int), np.array([n_steps - 1]))


def _bytes(compiled: Any) -> int:
    """Memory used on one core, bytes."""
    usage = compiled.memory_analysis()
    parts = (
        usage.argument_size_in_bytes,
        usage.output_size_in_bytes,
        usage.temp_size_in_bytes,
        usage.generated_code_size_in_bytes,
        # The donated state and the next state share their memory.
        -usage.alias_size_in_bytes,
    )
    return int(sum(parts))


def _collectives(text: str) -> dict[str, int]:
    names = re.findall(rf"\b({'|'.join(COLLECTIVES)})(?:-start)?\(", text)
    return dict(Counter(names))

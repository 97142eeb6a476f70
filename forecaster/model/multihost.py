"""Training of one model by several processes, on one host or on many.

Each process runs the same program on the same data and takes its share of every batch; the
gradients are summed over all processes. All end with the same weights. Only process 0
writes: checkpoints here, artefacts and the record of runs in `pipelines`.
"""

import hashlib
from typing import TypeVar

import jax
import numpy as np
from jax.experimental import multihost_utils

from forecaster.errors import ConfigError, TrainingError

TreeT = TypeVar("TreeT")


def join(coordinator: str, n_processes: int, process_index: int) -> None:
    """Connects this process to the others, and waits for them.

    Must run before JAX starts; has no effect when called again. The coordinator is the address
    and port of process 0, such as `10.0.0.1:8476`.

    Raises:
      ConfigError: the index is not below the number of processes.
    """
    if not 0 <= process_index < n_processes:
        raise ConfigError(
            f"process is {process_index}, but the {n_processes} processes are counted from 0 to "
            f"{n_processes - 1}. Give each its own number."
        )
    if jax.distributed.is_initialized():
        return
    # Collectives between CPUs; accelerators have their own.
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(coordinator, n_processes, process_index)


def is_first() -> bool:
    """Whether this process is the one that writes."""
    return jax.process_index() == 0


def training_devices(batch_size: int) -> tuple[jax.Device, ...]:
    """The devices of all processes, except devices that would get no rows.

    Raises:
      ConfigError: the processes have different numbers of devices.
    """
    of_process = [jax.local_devices(process) for process in range(jax.process_count())]
    counts = [len(devices) for devices in of_process]
    if len(set(counts)) > 1:
        raise ConfigError(
            f"The processes have {', '.join(map(str, counts))} devices, but each must have "
            "the same number, because every device computes equally many rows of the batch. "
            "Let each process see the same number of devices."
        )
    share = min(_rows_per_process(batch_size), counts[0])
    return tuple(device for devices in of_process for device in devices[:share])


def own_rows(batch_size: int) -> range:
    """Rows of every batch that this process computes; rows past the batch's end are padding.

    All processes have equally many rows, so the last ones have padding where the size of the
    batch is not a multiple of the number of processes.
    """
    share = _rows_per_process(batch_size)
    return range(share * jax.process_index(), share * (jax.process_index() + 1))


def _rows_per_process(batch_size: int) -> int:
    return -(-batch_size // jax.process_count())


def broadcast_from_first(tree: TreeT) -> TreeT:
    """Returns process 0's arrays on every process, bit for bit.

    Every process must pass arrays of the same shapes and types.
    """
    if jax.process_count() == 1:
        return tree
    leaves, form = jax.tree.flatten(tree)
    # As bytes: JAX would convert 64-bit values to 32 bits.
    received = multihost_utils.broadcast_one_to_all(
        [np.frombuffer(np.asarray(leaf).tobytes(), np.uint8) for leaf in leaves]
    )
    arrays = [
        np.frombuffer(np.asarray(content).tobytes(), leaf.dtype).reshape(leaf.shape)
        for content, leaf in zip(received, leaves, strict=True)
    ]
    return jax.tree.unflatten(form, arrays)


def assert_same_inputs(fingerprint: bytes) -> None:
    """Raises an error if the processes have different data or settings.

    Raises:
      TrainingError: the processes' fingerprints, of the data and settings that determine the
        result of the training, differ.
    """
    if jax.process_count() == 1:
        return
    own = np.frombuffer(hashlib.sha256(fingerprint).digest(), np.uint8)
    digests = multihost_utils.process_allgather(own)
    if (digests != own).any():
        raise TrainingError(
            f"The {jax.process_count()} processes read different data or settings, so "
            "they cannot train one model. Give all the same database, last day and "
            "options, and start them when nothing is being loaded."
        )

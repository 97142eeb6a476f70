"""`harbor tpu-check`: compiles the training step for a TPU, without a TPU."""

import os
from dataclasses import asdict, replace
from typing import Annotated

import typer

from pipelines.cli.console import echo, show_json
from pipelines.cli.context import AsJson

MIB, GIB = 2**20, 2**30
COMPILE_ONLY = {
    "JAX_PLATFORMS": "cpu",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_ACCELERATOR_TYPE": "v4-8",
}
"""Environment in which libtpu compiles for a TPU that this machine does not have."""


def tpu_check(
    topology: Annotated[
        str, typer.Option(help="TPU generation and shape to compile for.")
    ] = "v4:2x2x1",
    as_json: AsJson = False,
) -> None:
    """Compiles the real training step for a TPU on this machine; needs libtpu.

    Example: `harbor tpu-check --topology v4:2x2x1`
    """
    from pipelines.settings import Settings

    # JAX reads these variables when it is imported, so they are set before the imports.
    os.environ |= COMPILE_ONLY
    from forecaster.model.tpu import check
    from forecaster.model.two_stage_fit import Recipe

    recipe = Recipe()
    task = replace(recipe.task, horizon=Settings.load().horizon)
    checked = check(topology, task, recipe.model, recipe.train)
    if as_json:
        show_json(asdict(checked))
        return
    used, memory = checked.bytes_per_core, checked.hbm_bytes_per_core
    collectives = [f"{count} × {name}" for name, count in checked.collectives.items()]
    echo(
        f"The training step compiles for {checked.topology}: {checked.cores} cores, "
        f"{checked.batch_size} windows per step, in {checked.compile_seconds} s."
    )
    echo(
        f"Memory: {used / MIB:.0f} MiB of {memory / GIB:.0f} GiB per core "
        f"({used / memory:.1%}); depots are streamed, so a larger fleet needs no more."
    )
    echo(f"Collectives: {', '.join(collectives) or 'none'}.")
    echo(f"About {checked.largest_batch:,} depots would fit in a single step.")

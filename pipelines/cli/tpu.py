"""`harbor tpu-check`: would the training step compile and fit, without a TPU?"""

import os
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli.console import say, show_json
from pipelines.cli.workplace import AsJson
from pipelines.settings import Settings

if TYPE_CHECKING:
    from forecaster.model.tpu import TpuCheck

MIB, GIB = 2**20, 2**30
NO_TPU_HERE = {
    "JAX_PLATFORMS": "cpu",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_ACCELERATOR_TYPE": "v4-8",
}
"""Keeps libtpu from looking for the machine it is told to compile for."""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("tpu-check")(tpu_check)


def tpu_check(
    topology: Annotated[
        str, typer.Option(help="TPU generation and shape to compile for.")
    ] = "v4:2x2x1",
    as_json: AsJson = False,
) -> None:
    """Compiles the real training step for a TPU on this machine; needs libtpu.

    Example: `harbor tpu-check --topology v4:2x2x1`
    """
    # Read when JAX starts, which is why nothing above imports it.
    os.environ |= NO_TPU_HERE
    from forecaster.model.tpu import check
    from forecaster.model.two_stage_fit import Recipe

    recipe = Recipe()
    task = replace(recipe.task, horizon=Settings.load().horizon)
    checked = check(topology, task, recipe.model, recipe.train)
    if as_json:
        show_json(asdict(checked))
    else:
        _show(checked)


def _show(checked: "TpuCheck") -> None:
    used, there = checked.bytes_per_core / MIB, checked.hbm_bytes_per_core / GIB
    found = [f"{count} × {name}" for name, count in checked.collectives.items()]
    say(
        f"The training step compiles for {checked.topology}: {checked.cores} cores, "
        f"{checked.batch_size} windows a step, in {checked.compile_seconds} s."
    )
    say(
        f"Memory: {used:.0f} MiB of {there:.0f} GiB a core "
        f"({checked.bytes_per_core / checked.hbm_bytes_per_core:.1%}); depots are streamed, so a larger fleet needs no more."
    )
    say(f"Collectives: {', '.join(found) or 'none'}.")
    say(f"About {checked.largest_batch:,} depots would fit in one single step.")

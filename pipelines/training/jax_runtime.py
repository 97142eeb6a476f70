"""Configures JAX before it starts."""

from typing import TYPE_CHECKING

from pipelines.settings import xla_flags
from pipelines.training import accelerator_packages, device_files

if TYPE_CHECKING:
    from forecaster.model.two_stage_fit import Recipe


def configure_jax(recipe: "Recipe") -> None:
    """Keeps JAX from probing for absent accelerators, and uses every core on the CPU."""
    from forecaster.model.cpu_devices import stay_on_cpu, use_all_cores

    if accelerator_packages.is_tpu_only_install() and not device_files.may_have_tpu():
        stay_on_cpu()
    use_all_cores(recipe.train.batch_size, xla_flags())

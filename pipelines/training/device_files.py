"""Which accelerators this machine has, by the files under which the kernel shows them."""

from pathlib import Path

GPU_FILES = ("dev/nvidiactl", "dev/nvidia0", "dev/dxg")
TPU_FILES = ("dev/accel*", "dev/vfio/[0-9]*")
PCI_VENDORS = "sys/bus/pci/devices/*/vendor"
GOOGLE = "0x1ae0"
ROOT = Path("/")


def gpus() -> list[Path]:
    """Device files of NVIDIA GPUs."""
    return [ROOT / name for name in GPU_FILES if (ROOT / name).exists()]


def tpus() -> list[Path]:
    """Device files of TPU chips."""
    return sorted(found for name in TPU_FILES for found in ROOT.glob(name))


def may_have_tpu() -> bool:
    """Whether there is any sign of a TPU, be it one whose driver shows no device."""
    return bool(tpus()) or any(map(_is_google_s, ROOT.glob(PCI_VENDORS)))


def _is_google_s(vendor: Path) -> bool:
    try:
        return vendor.read_text().strip() == GOOGLE
    except OSError:
        # It may be one: JAX looks for itself.
        return True

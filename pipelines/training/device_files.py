"""Detects accelerators by their device files, without starting JAX."""

from pathlib import Path

GPU_FILES = ("dev/nvidiactl", "dev/nvidia0", "dev/dxg")
TPU_FILES = ("dev/accel*", "dev/vfio/[0-9]*")
PCI_VENDORS = "sys/bus/pci/devices/*/vendor"
GOOGLE_VENDOR_ID = "0x1ae0"
ROOT = Path("/")


def gpus() -> list[Path]:
    """Returns the device files of NVIDIA GPUs."""
    return [ROOT / name for name in GPU_FILES if (ROOT / name).exists()]


def tpus() -> list[Path]:
    """Returns the device files of TPU chips."""
    return sorted(path for name in TPU_FILES for path in ROOT.glob(name))


def may_have_tpu() -> bool:
    """Whether there may be a TPU, including one whose driver shows no device."""
    return bool(tpus()) or any(map(_is_google, ROOT.glob(PCI_VENDORS)))


def _is_google(vendor: Path) -> bool:
    try:
        return vendor.read_text().strip() == GOOGLE_VENDOR_ID
    except OSError:
        # Unreadable, so it may be one: JAX decides.
        return True

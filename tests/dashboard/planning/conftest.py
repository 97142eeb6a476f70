"""The day that planners change."""

from datetime import timedelta

import pytest


@pytest.fixture
def tomorrow(seeded):
    """The first day ahead."""
    return seeded.through + timedelta(days=1)

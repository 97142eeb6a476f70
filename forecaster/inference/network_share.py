"""Describes the network's share in words; needs no NumPy, for commands that list models."""


def describe_share(share: float | None) -> str:
    """Names the delivered forecast: 'baseline', 'network' or '40 % of the network's correction'.

    Args:
      share: `Artefact.network_share`; None if it was not recorded.
    """
    if share is None:
        return "–"
    if share == 0:
        return "baseline"
    return (
        "network" if share == 1 else f"{100 * share:.0f} % of the network's correction"
    )

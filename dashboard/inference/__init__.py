"""What-if forecasts and drivers, computed from the served model on the CPU."""

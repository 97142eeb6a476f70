"""The Flax network, its training and its export: the only modules that import JAX."""

"""Trains, evaluates and promotes models; the JAX runtime they train on."""

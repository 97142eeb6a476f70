"""When nightly runs are due, and the scheduler that starts them."""

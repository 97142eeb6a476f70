"""The exported model and everything that serving needs, in NumPy."""

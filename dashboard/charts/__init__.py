"""Altair charts of query results; no I/O.

forecast_charts  every chart      encodings  shared axes, colours, legends and tooltips
"""

"""Tables to Altair charts; no I/O.

forecast_charts  every chart      encodings  axes, colours, legends and tooltips they share
"""

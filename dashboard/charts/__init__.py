"""Tables to Altair charts; no I/O.

charts     every chart      encodings  axes, colours, legends and tooltips they share
"""

"""The exported model and everything that serving needs, in NumPy.

predict          raw log-count forecasts of the network, by `numpy_model` and `numpy_gru`
infer            the finished forecast: orders, bands, closed days and totals
postprocessing   raw forecast → median forecast      network_share    names the share in words
intervals        bands of a depot
totals           totals of cities and fleet          cold_start       history of new depots
calibration      fits postprocessing, intervals and totals to held-out days
artefact         weights and all fitted tables; its file: `artefact_file`
forecast_checks  sanity checks of a new model's forecast
"""

"""Vans and drivers per depot and day, and planners' overrides.

van_plan         forecasts and settings → vans of depots, need of cities, vans that move
city_settings    vans, capacity and service level of each city; saves them
van_decisions    decisions on the vans of a city's day; saves them
entered_changes  a number or a change, as typed → changes, and their preview
overrides        saves changes of orders; undoes the newest change of any kind
"""

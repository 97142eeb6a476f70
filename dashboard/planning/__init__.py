"""Vans and drivers per depot and day, and planners' overrides.

planning       forecasts and settings → vans of depots, totals of cities
fleet_plan     that plan of the whole fleet, cached
depot_vans     vans that one depot needs, and their allocation within a city
scenarios      vans that a city needs if they are pooled, and the chance that they suffice
transfers      vans that move between depots
city_settings  vans, capacity and service level of each city; saves them
adjustments    a number or a change in percent, as typed
edits          what a planner entered → changes
overrides      saves changes of planned numbers, and takes back the newest, whole or not at all
"""

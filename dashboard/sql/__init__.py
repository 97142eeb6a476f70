"""The text of the SELECTs of the pages; `queries` says what each returns.

Elsewhere are what asks for rights and positions of the server (`queries.database` and
`queries.replica`), and the calls that save: `planning.overrides` and `planning.city_settings`.

fleet, depot, accuracy, pipeline: by what they are about      shared  conditions of several
"""

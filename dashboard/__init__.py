"""The pages: they read through `queries`.

They save planners' overrides and city settings (`planning`), and, where allowed, the champion
(`models.promotion`); nothing else.
"""

"""Another model made champion from the page Models.

promotion       who may, and as which database user    champion_form   the form
"""

"""The logged-in user (`session`), and who may promote models, and how (`promotion`)."""

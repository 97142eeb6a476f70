"""Login and access control of the pages."""

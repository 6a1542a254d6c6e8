"""The folder that stands first on PYTHONPATH in a recorded program."""

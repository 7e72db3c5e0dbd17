"""The version of this module, which must be that of the program it starts."""

__version__ = "0.1.0"

"""The cases run commands as the command tests do."""

from tests.commands.conftest import shell

__all__ = ["shell"]

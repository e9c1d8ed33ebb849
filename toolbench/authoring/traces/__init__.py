"""Saved conversations as attempts to judge without running: message logs, requests and responses, spans.

A file is read into :class:`~toolbench.authoring.traces.saved.Saved` conversations, whatever its shape; these
become cases and attempts of a run that says of itself that it was imported.
"""

from toolbench.authoring.traces.imported_run import Imported, Wishes, import_traces

__all__ = ["Imported", "Wishes", "import_traces"]

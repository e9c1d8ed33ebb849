"""Scripts of real and awkward replies, played through the whole loop: whose fault each of them is.

In ``replies/`` the n-th entry of a file answers the n-th request: ``status``, ``headers`` and ``body``,
or the ``sse`` chunks or ``events`` of a stream.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).with_name("replies")

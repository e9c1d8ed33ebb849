"""The experiments: one module a question, each with a plan of what to play and pages that show what came out.

``tool_order``, ``consistency``, ``wording``, ``forced``, ``wire_format`` and ``recovery`` are used alike::

    view = await open_run(tool_order.plan(), config="config.json", output="runs/order")    # or run="runs/x"
    tool_order.accuracy(view)         # frames, for further work
    tool_order.accuracy_page(view)    # what a notebook shows

A run without the conditions that a question needs raises :class:`Refusal`: one line says what is missing.
"""

from toolbench.experiments.keeping import keep
from toolbench.experiments.run_source import Refusal, open_run, overview, politely
from toolbench.experiments.writing import ExperimentPage, write_experiment

__all__ = ["ExperimentPage", "Refusal", "keep", "open_run", "overview", "politely", "write_experiment"]

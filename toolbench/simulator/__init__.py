"""A local server that speaks every provider's wire format strictly, decides by a script and fails on demand.

::

    with Simulator(script={"models": {"sim-shop": {"like": "sim-claude", "rules": [...]}}}) as sim:
        sim.base_url("messages")     # http://127.0.0.1:41234/v1
        sim.journal                  # what was asked of it

It shares no parsing with `toolbench.adapters`, so that a mistake there cannot hide here. A request goes
through `service` (HTTP, limits, faults), the protocol's reader (``messages.read``: what the provider
refuses), `decide` (the script's rules) and the protocol's writer (``messages_reply``). Facts are data:
``models.json`` (models, limits, default rules), ``dialects.json``, ``families.json`` (words and shapes of
errors), ``strict_subsets.json``, ``faults.json``, ``schemas/``.

A fault is asked for by a rule, by a model's entry, by the model id (``sim-claude+500,500,ok``), by the header
``x-simulator-fault`` or by the query ``?fault=``. The key ``sim-bad-key`` is refused; any other will do.
"""

from toolbench.simulator.script import PROTOCOLS, Script, load_script
from toolbench.simulator.server import Simulator, serve_forever
from toolbench.simulator.service import Settings

__all__ = ["PROTOCOLS", "Script", "Settings", "Simulator", "load_script", "serve_forever"]

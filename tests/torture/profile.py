"""How much is tried: a short profile in every test run, a long one by ``make torture``."""

import os

LONG = os.environ.get("TORTURE") == "long"
KILLS = 200 if LONG else 3
"""Runs killed at random moments."""
EXAMPLES = 3000 if LONG else 40
"""Inputs a fuzzer makes up, beside the kept ones."""

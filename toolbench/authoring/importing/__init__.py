"""Other people's tools and cases as ordinary suites: one module a source, one table of them.

A source is read into a :class:`Material`; nothing is written before all of it has been read. What a suite
cannot say is left out and listed by name, what had to be guessed is marked in the suite itself.
"""

from toolbench.authoring.importing.case_rows import cases_of, import_cases
from toolbench.authoring.importing.choosing import chosen, suite_name
from toolbench.authoring.importing.configs import import_config
from toolbench.authoring.importing.drafting import draft_cases
from toolbench.authoring.importing.functions import from_functions
from toolbench.authoring.importing.material import Material
from toolbench.authoring.importing.reading import read_rows, read_values
from toolbench.authoring.importing.sources import SOURCES, read_source, sources
from toolbench.authoring.importing.tool_list import from_values
from toolbench.authoring.importing.writing import Written, ground_of, write_cases, write_suite

__all__ = [
    "SOURCES", "Material", "Written", "cases_of", "chosen", "draft_cases", "from_functions", "from_values",
    "ground_of", "import_cases", "import_config", "read_rows", "read_source", "read_values", "sources",
    "suite_name", "write_cases", "write_suite",
]  # fmt: skip

# The public names of the package, once: type checkers read them here, and so does ``__init__.py``.
from .authoring.lint import lint as lint
from .authoring.workspace import make_workspace as make_workspace
from .domain.suite import find_suite as find_suite
from .errors import ToolbenchError as ToolbenchError
from .judging.score import score as score
from .numbers.compare import compare as compare
from .numbers.frames import load as load
from .numbers.frames import load_run as load_run
from .numbers.gates import gate as gate
from .numbers.metrics import metrics as metrics
from .numbers.sides import select as select
from .numbers.trends import trends as trends
from .running.asked import prepare as prepare
from .running.runner import run_matrix as run_matrix
from .running.runner import run_matrix_sync as run_matrix_sync
from .showing import plot as plot
from .showing.report import write_report as write_report

# What other rooms may use, once: type checkers read it here, and so does ``__init__.py``.
from . import confirming as confirming
from . import importing as importing
from . import lint as lint
from . import traces as traces
from .describing import describe as describe
from .generate import write as write
from .importing import mcp_server as mcp_server
from .importing import openapi as openapi
from .importing.bfcl import import_bfcl as import_bfcl
from .importing.others import import_inspect as import_inspect
from .importing.others import import_promptfoo as import_promptfoo
from .mutate import mutate_arguments as mutate_arguments
from .suite_folder import write_folder as write_folder
from .workspace import make_workspace as make_workspace

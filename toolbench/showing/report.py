"""One report a run: execute the report notebook, render it to one self-contained page, write the figures.

Whether it went well is decided by what was written, never by notebook metadata: a dead kernel, a timeout and
``sys.exit(0)`` all leave a notebook that looks finished.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import resources
from itertools import count
from pathlib import Path
from secrets import token_hex
from typing import Any

from markupsafe import Markup

from toolbench.domain.files import write_text_atomic
from toolbench.domain.shipped import shipped
from toolbench.domain.storage import put_back
from toolbench.errors import InputError, LogError
from toolbench.numbers.outputs import errors_csv, report_text
from toolbench.showing import html
from toolbench.showing.dossier import Dossier
from toolbench.showing.failure_index import glossary
from toolbench.showing.handing import handed_over
from toolbench.showing.html import esc
from toolbench.showing.view import RunView
from toolbench.showing.words import Words

Watch = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is (0: not known)."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
BESIDE = Markup(
    '<!DOCTYPE html>\n<html lang="{}"><head><meta charset="utf-8">'
    '<meta http-equiv="Content-Security-Policy" content="{}">'
    '<meta name="viewport" content="width=device-width, initial-scale=1"><title>{}</title>'
    "<style>{}</style></head><body><main>{}</main></body></html>\n"
)
STATUS = "report_status.json"
CELL_TIMEOUT = 600
"""Seconds one cell may take."""


@dataclass(frozen=True)
class Report:
    """The files of a report; ``problem`` is the first line of the page when something is missing."""

    html: Path
    notebook: Path
    json: Path
    errors: Path
    problem: str | None


def notebook_path(name: str) -> Path:
    """Return a notebook that comes with toolbench.

    Raises
    ------
    InputError
        When there is none of that name.
    """
    notebook = shipped() / "notebooks" / f"{name}.ipynb"
    if not notebook.exists():
        raise InputError(f"{notebook}: no such notebook")
    return notebook


def write_report(
    run: Path,
    notebook: Path | None = None,
    parameters: Mapping[str, Any] | None = None,
    cell_timeout: int = CELL_TIMEOUT,
    lang: str = "en",
    watch: Watch | None = None,
    bom: bool = False,
    scheduler: str | None = None,
) -> Report:
    """Write ``report.ipynb``, ``report.html``, ``report.json`` and ``errors.csv`` into a run's folder.

    Parameters
    ----------
    notebook
        The notebook to execute; ``02_report`` by default.
    parameters
        Further papermill parameters; names the notebook does not have, and names that look like secrets, are
        refused.
    cell_timeout
        Seconds one cell may take.
    lang
        ``en`` or ``ru``.
    watch
        Called with what is being done and how far it is.
    bom
        Whether ``errors.csv`` begins with a byte order mark.
    scheduler
        Address of a dask scheduler whose workers judge (extra ``scale``).

    Returns
    -------
    Report
        ``problem`` is set for an incomplete run and for a notebook that stopped half-way; the page says so in
        its first line either way.

    Raises
    ------
    InputError
        When there is no usable log, no such language, or the folder cannot be written.
    """
    watch = watch or _nobody
    say = Words(lang)
    watch("reading", 0, 0)
    view = RunView(run, watch=partial(watch, "judging"), scheduler=scheduler)
    folder = view.scored.log.path.parent
    watch("figures", 0, 0)
    write_text_atomic(folder / "report.json", report_text(view.scored), LogError)
    write_text_atomic(folder / "errors.csv", errors_csv(view.scored, bom), LogError)
    source = notebook or notebook_path("02_report")
    given = {"run": str(folder.resolve()), **_language(source, lang), **(parameters or {})}
    try:
        (folder / STATUS).unlink(missing_ok=True)
        for old in folder.glob("report.[0-9]*.html"):
            old.unlink()
        with handed_over(view.scored) as judged:
            stopped = execute(
                source, folder / "report.ipynb", given, cell_timeout, environment=judged, watch=watch
            )
    except OSError as fault:
        raise LogError(f"{folder}: the report cannot be made ({fault.strerror or fault})") from None
    if stopped is None and not (folder / STATUS).exists():
        stopped = "INCOMPLETE: the notebook ended before its last cell"
    watch("page", 0, 0)
    page = render(folder / "report.ipynb", f"toolbench: {view.header.run_id}", stopped, say.lang)
    write_text_atomic(folder / "report.html", page, LogError)
    put_back(folder, run)
    return Report(
        html=folder / "report.html",
        notebook=folder / "report.ipynb",
        json=folder / "report.json",
        errors=folder / "errors.csv",
        problem=stopped or view.incomplete,
    )


def write_pages(dossier: Dossier) -> None:
    """Write the pages of conversations that stand beside the report, where it does not hold them itself."""
    folder, say = dossier.view.scored.log.path.parent, dossier.say
    style = resources.files("toolbench.showing").joinpath("templates/report/style.css").read_text("utf-8")
    for name, player, talks in dossier.talks.files():
        title = say("talks.title", run=dossier.view.header.run_id, player=player)
        body = html.join(
            [
                html.block([html.inline(say("talks.back"), href="report.html")], "back"),
                html.heading(title, 1),
                talks,
                glossary(dossier, player),
            ]
        )
        page = BESIDE.format(say.lang, POLICY, esc(title), Markup(style), body.html)
        write_text_atomic(folder / name, page, LogError)


def finish(run: str | Path) -> None:
    """Note that a report notebook has reached its last cell. The last cell calls this and nothing else."""
    write_text_atomic(Path(run) / STATUS, json.dumps({"finished": True}) + "\n", LogError)


def execute(
    source: Path,
    target: Path,
    parameters: Mapping[str, Any],
    cell_timeout: int = CELL_TIMEOUT,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    watch: Watch | None = None,
) -> str | None:
    """Execute a parameterised notebook with papermill.

    The kernel works in an empty folder of its own, or in ``folder`` where paths are meant relative to it, and
    imports this very package: no module that lies there or in the current folder can take part. ``target``
    is replaced, never written through a link. ``environment`` is what the kernel gets beside this process's
    own; ``watch`` is told the cells.

    Returns
    -------
    str or None
        One line that says where it stopped, or ``None`` when every cell ran. The output notebook is written
        in either case.

    Raises
    ------
    InputError
        For parameters the notebook does not have or that look like a secret.
    """
    import papermill
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    _check_parameters(source, parameters)
    try:
        with tempfile.TemporaryDirectory(prefix="toolbench-") as room, _replacing(target) as draft:
            _with_own_loop(
                partial(
                    papermill.execute_notebook,
                    str(source),
                    str(draft),
                    parameters=dict(parameters),
                    progress_bar=False,
                    execution_timeout=cell_timeout,
                    kernel_name="python3",
                    kernel_manager_class=_kernel_manager(room, str(folder or room), environment or {}),
                    on_cell_executed=_cells(source, watch or _nobody),
                )
            )
    except papermill.PapermillExecutionError as fault:
        reason = " ".join(str(fault.evalue).split())[:200]
        return f"INCOMPLETE: stopped at cell {fault.cell_index + 1}: {fault.ename}: {reason}"
    except CellTimeoutError:
        return f"INCOMPLETE: a cell took longer than {cell_timeout} s"
    except DeadKernelError:
        return "INCOMPLETE: the notebook's kernel died"
    except RuntimeError as fault:
        # What jupyter_client raises for a kernel that does not answer in its first minute.
        write_text_atomic(target, source.read_text("utf-8"), LogError)
        return f"INCOMPLETE: the notebook's kernel did not start: {' '.join(str(fault).split())[:200]}"
    return None


@contextmanager
def _replacing(target: Path) -> Iterator[Path]:
    """Yield a path beside the target that takes its place afterwards, however far it was written."""
    draft = target.with_name(f".{token_hex(4)}.{target.name}")
    try:
        yield draft
    finally:
        try:
            if draft.exists():
                os.replace(draft, target)
        finally:
            draft.unlink(missing_ok=True)


def render(notebook: Path, title: str, warning: str | None = None, lang: str = "en") -> str:
    """Return an executed notebook as one page without code, scripts or external requests."""
    import nbformat
    from nbconvert import HTMLExporter
    from nbconvert.preprocessors import TagRemovePreprocessor
    from traitlets.config import Config

    config = Config()
    config.HTMLExporter.preprocessors = [TagRemovePreprocessor]
    config.TagRemovePreprocessor.remove_cell_tags = {
        "remove_cell",
        "parameters",
        "injected-parameters",
        "papermill-error-cell-tag",
    }
    templates = Path(str(resources.files("toolbench.showing"))) / "templates"
    exporter = HTMLExporter(  # type: ignore[no-untyped-call]
        config=config,
        template_name="report",
        extra_template_basedirs=[str(templates)],
        exclude_input=True,
        exclude_output_prompt=True,
        exclude_input_prompt=True,
    )
    document = nbformat.read(notebook, as_version=4)  # type: ignore[no-untyped-call]
    page, _ = exporter.from_notebook_node(
        document, resources={"report_title": title, "report_warning": warning, "report_lang": lang}
    )
    return str(page)


def _nobody(stage: str, done: int, total: int) -> None:
    """Watch nothing."""


def _language(source: Path, lang: str) -> dict[str, str]:
    """Return the language as a parameter, where a notebook can be told one."""
    import papermill

    return {"lang": lang} if "lang" in papermill.inspect_notebook(str(source)) else {}


def _cells(source: Path, watch: Watch) -> Callable[..., None]:
    """Return a hook that tells how many cells of a notebook have been executed."""
    import nbformat

    document = nbformat.read(source, as_version=4)  # type: ignore[no-untyped-call]
    total = sum(cell.cell_type == "code" for cell in document.cells) + 1
    done = count(1)

    def hook(**_: object) -> None:
        watch("drawing", next(done), total)

    return hook


def _check_parameters(source: Path, parameters: Mapping[str, Any]) -> None:
    import papermill

    known = papermill.inspect_notebook(str(source))
    for name in parameters:
        if name not in known:
            raise InputError(f"{source.name}: no parameter {name!r}; there are: {', '.join(known)}")
        if any(word in name.lower() for word in ("api_key", "apikey", "secret", "token", "password")):
            raise InputError(
                f"{source.name}: {name}: parameters are stored in the notebook; keys never go there"
            )


def _with_own_loop(work: Callable[[], object]) -> None:
    """Do work in a thread whose event loop is closed afterwards.

    Jupyter makes a loop for every thread that has none and leaves it open; in a thread of its own the work
    also does not mind a loop that is running already.
    """
    from jupyter_core.utils import ensure_event_loop

    def closing() -> None:
        try:
            work()
        finally:
            ensure_event_loop().close()

    with ThreadPoolExecutor(1, thread_name_prefix="toolbench-notebook") as pool:
        pool.submit(closing).result()


def _kernel_manager(room: str, folder: str, environment: Mapping[str, str]) -> type:
    """Return a manager of kernels that look nowhere but in this package, over IPC where the system has it.

    ``room`` is a folder of this kernel's own, ``folder`` the one it works in. With IPC no port is opened; by
    default the sockets would lie in the current folder under one name, and two notebooks executed at once
    talk to each other's kernel.
    """
    from jupyter_client.manager import AsyncKernelManager

    class OwnKernelManager(AsyncKernelManager):
        transport = "tcp" if os.name == "nt" else "ipc"

        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            if self.transport == "ipc":
                self.ip = os.path.join(room, "kernel")

        async def start_kernel(self, **options: Any) -> None:  # type: ignore[override]
            # Python would look for modules in the working folder first, and wherever the caller's path says.
            # A kernel drops the first entry when it is the working folder: an empty folder stands there.
            package = str(Path(str(resources.files("toolbench"))).parent)
            own = {"PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join((room, package))}
            options["env"] = {**os.environ, **(options.get("env") or {}), **environment, **own}
            await super().start_kernel(**{**options, "cwd": folder})

    return OwnKernelManager

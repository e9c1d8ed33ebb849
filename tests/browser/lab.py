"""JupyterLab and Chromium for tests: started in temporary folders, watched, and always stopped again."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.support import ROOT

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SLOW = 120_000
"""Milliseconds a step in JupyterLab may take on a busy machine."""
TOKEN = "smoketok"
SETTINGS = {
    "@jupyterlab/notebook-extension:tracker": {"autoStartDefaultKernel": True},
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
}
CONNECTED = """async () => {
  const app = window.jupyterapp, panel = app && app.shell.currentWidget;
  if (!panel || !panel.sessionContext) return false;
  await panel.sessionContext.ready;
  const session = panel.sessionContext.session;
  if (!session || !session.kernel || session.kernel.connectionStatus !== 'connected') return false;
  await session.kernel.info;
  return true;
}"""


@dataclass
class Watch:
    """Everything that a page must not do."""

    dialogs: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    @property
    def quiet(self) -> bool:
        """Whether nothing has happened."""
        return not (self.dialogs or self.errors or self.foreign)


def watch(page: Any, home: str | None = None) -> Watch:
    """Record dialogs, page errors and requests that leave ``home`` (host and port)."""
    seen = Watch()

    def dialog(box: Any) -> None:
        seen.dialogs.append(box.message)
        box.dismiss()

    def request(sent: Any) -> None:
        parts = urlsplit(sent.url)
        if parts.scheme not in ("data", "blob", "about") and parts.netloc != home:
            seen.foreign.append(sent.url)

    page.on("dialog", dialog)
    page.on("pageerror", lambda error: seen.errors.append(str(error)))
    page.on("request", request)
    page.on("websocket", lambda socket: request(socket))
    return seen


@contextmanager
def chromium() -> Iterator[Any]:
    """Yield a headless browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # A headless browser hides scroll bars unless told not to; people see them.
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            headless=True,
            args=SWITCHES,
            ignore_default_args=["--hide-scrollbars"],
        )
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def jupyterlab(root: Path, state: Path) -> Iterator[str]:
    """Serve ``root`` and yield host and port; settings and history live in ``state``."""
    port = _free_port()
    home, log = f"127.0.0.1:{port}", state / "lab.log"
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1"]
    command += [f"--port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}"]
    command += [f"--ServerApp.root_dir={root}", "--LabApp.expose_app_in_browser=True"]
    with open(log, "wb") as stream:
        process = subprocess.Popen(
            command, env=_environment(state), stdout=stream, stderr=stream, stdin=subprocess.DEVNULL, cwd=root
        )
        try:
            _wait_until_up(process, home, log)
            yield home
        finally:
            _stop(process, home)


def open_notebook(page: Any, home: str, name: str) -> None:
    """Open a notebook and wait for its kernel: Run pressed before that runs nothing at all."""
    page.goto(f"http://{home}/lab/tree/{name}?reset&token={TOKEN}", timeout=SLOW)
    page.wait_for_function("() => window.jupyterapp && window.jupyterapp.shell.currentWidget", timeout=SLOW)
    deadline = time.monotonic() + SLOW / 1000
    while not page.evaluate(CONNECTED):
        assert time.monotonic() < deadline, "the kernel did not connect"
        page.wait_for_timeout(200)


def run_all(page: Any) -> bool:
    """Run all cells and say whether every one of them finished without an error."""
    page.set_default_timeout(SLOW)
    return bool(page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')"))


def errors(page: Any) -> list[str]:
    """Return the last line of every traceback in the notebook: why Run All did not go through."""
    boxes = page.locator(".jp-RenderedText[data-mime-type='application/vnd.jupyter.error']")
    return [text.strip().splitlines()[-1] for text in boxes.all_inner_texts() if text.strip()]


def artifact(page: Any, name: str, whole: bool = False) -> None:
    """Keep a picture of what is visible, or of the whole page, where CI collects artefacts, if it does."""
    folder = os.environ.get("TOOLBENCH_ARTIFACTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=whole)


def _environment(state: Path) -> dict[str, str]:
    names = ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR")
    folders = {f"JUPYTER_{name}": state / name.lower() for name in names}
    folders |= {
        "JUPYTERLAB_SETTINGS_DIR": state / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": state / "workspaces",
        "IPYTHONDIR": state / "ipython",
        "MPLCONFIGDIR": state / "matplotlib",
    }
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    overrides = folders["JUPYTER_CONFIG_DIR"] / "labconfig" / "default_setting_overrides.json"
    overrides.parent.mkdir(exist_ok=True)
    overrides.write_text(json.dumps(SETTINGS))
    paths = {name: str(folder) for name, folder in folders.items()}
    return {**os.environ, **paths, "PYTHONPATH": str(ROOT)}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_up(process: subprocess.Popen[bytes], home: str, log: Path) -> None:
    deadline = time.monotonic() + SLOW / 1000
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text(errors="replace")[-3000:]
        try:
            with urllib.request.urlopen(f"http://{home}/api?token={TOKEN}", timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"JupyterLab did not start: {log.read_text(errors='replace')[-3000:]}")


def _stop(process: subprocess.Popen[bytes], home: str) -> None:
    """Ask the server to end, kernels included; kill it when it does not."""
    asked = urllib.request.Request(f"http://{home}/api/shutdown?token={TOKEN}", method="POST")
    try:
        with urllib.request.urlopen(asked, timeout=10):
            pass
        process.wait(20)
    except (OSError, subprocess.TimeoutExpired):
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

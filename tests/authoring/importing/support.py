"""What the tests of imports share."""

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from toolbench.cli import main

ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {"order_id": {"type": "string", "pattern": "^ORD-[0-9]{6}$"}},
    "required": ["order_id"],
    "additionalProperties": False,
}


def import_(*arguments: str | Path) -> Result:
    """Run ``toolbench import``."""
    return CliRunner().invoke(main, ["import", *map(str, arguments)])


def write(path: Path, value: Any) -> Path:
    """Write JSON, or text as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return path


def tools_of(root: Path, name: str) -> dict[str, dict[str, Any]]:
    """Return the entries of an imported suite's tools.json by name."""
    data = json.loads((root / "contracts" / name / "tools.json").read_text())
    return {tool["name"]: tool for tool in data["tools"]}


def files(root: Path) -> list[str]:
    """Return every file below a folder."""
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())

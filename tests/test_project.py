"""What the project says of itself: declared versions, the lock file, the public names."""

import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DECLARED = [
    Requirement(line)
    for lines in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    for line in lines
]
LOCKED = [Requirement(line) for line in (ROOT / "requirements.lock").read_text().splitlines()]


def test_every_dependency_has_a_lower_bound() -> None:
    assert len(DECLARED) > 40
    assert [
        str(need) for need in DECLARED if not {one.operator for one in need.specifier} & {">=", "=="}
    ] == []


def test_the_lock_file_holds_a_version_of_every_dependency_that_fits() -> None:
    for need in DECLARED:
        locked = [one for one in LOCKED if canonicalize_name(one.name) == canonicalize_name(need.name)]
        assert locked, f"{need}: run make lock"
        for one in locked:
            (pin,) = one.specifier
            assert pin.operator == "=="
            assert need.specifier.contains(pin.version), f"{need}: run make lock"


def test_the_lock_file_names_no_index_and_serves_linux_and_macos() -> None:
    text = (ROOT / "requirements.lock").read_text()
    assert "://" not in text
    assert "--" not in text
    for platform in ("linux", "darwin"):
        chosen = {
            one.name
            for one in LOCKED
            if one.marker is None or one.marker.evaluate({"sys_platform": platform})
        }
        assert {"aiohttp", "ipykernel", "pexpect", "xllamacpp"} <= chosen
        assert ("appnope" in chosen) == (platform == "darwin")

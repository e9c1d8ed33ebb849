"""Headers that say how many requests are left, as providers write them."""

from datetime import UTC, datetime, timedelta

import pytest

from toolbench.adapters.allowances import Allowance, allowance


def written(how: str, moment: datetime) -> str:
    """Return a moment as a provider writes it."""
    seconds = moment.timestamp()
    return {
        "offset": moment.isoformat(),
        "zulu": moment.isoformat().replace("+00:00", "Z"),
        "seconds": str(int(seconds)),
        "milliseconds": str(int(1000 * seconds)),
    }[how]


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"x-ratelimit-remaining-requests": "59", "x-ratelimit-reset-requests": "1s"}, Allowance(59, 1.0)),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s"}, Allowance(0, 360.0)),
        (
            {"x-ratelimit-remaining-requests": "14", "x-ratelimit-reset-requests": "1h2m59.5s"},
            Allowance(14, 3779.5),
        ),
        ({"x-ratelimit-remaining-requests": "3", "x-ratelimit-reset-requests": "120ms"}, Allowance(3, 0.12)),
        ({"ratelimit-remaining": "7", "ratelimit-reset": "30"}, Allowance(7, 30.0)),
        ({"x-ratelimit-remaining": "1", "x-ratelimit-reset": "12.5"}, Allowance(1, 12.5)),
    ],
)
def test_what_is_left_is_read(headers: dict[str, str], expected: Allowance) -> None:
    assert allowance(headers) == expected


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("anthropic-ratelimit-requests", "offset"),
        ("anthropic-ratelimit-requests", "zulu"),
        ("x-ratelimit", "seconds"),
        ("x-ratelimit", "milliseconds"),
    ],
)
def test_a_date_is_seconds_from_now(name: str, how: str) -> None:
    soon = written(how, datetime.now(UTC) + timedelta(seconds=300))
    found = allowance({f"{name}-remaining": "5", f"{name}-reset": soon})
    assert found is not None
    assert found.left == 5
    assert 240 < found.seconds <= 300


@pytest.mark.parametrize(
    ("left", "reset"),
    [
        ("", "1s"),
        ("5", ""),
        ("-1", "1s"),
        ("many", "1s"),
        ("5", "soon"),
        ("5", "nan"),
        ("5", "-3"),
        ("5", "1e999"),
        ("9" * 400, "1s"),
        ("5", "9" * 400),
        ("\u0665", "1s"),
        ("5", "2026-11-30T10:00:00"),
        ("5", "\u0661s"),
    ],
)
def test_what_is_no_allowance_is_none(left: str, reset: str) -> None:
    assert allowance({"ratelimit-remaining": left, "ratelimit-reset": reset}) is None

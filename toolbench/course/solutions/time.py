from datetime import datetime
from zoneinfo import ZoneInfo


def get_time(timezone: str) -> dict:
    """Return the local time and the day of the week in an IANA time zone.

    Parameters
    ----------
    timezone
        IANA time zone Area/City, for example Asia/Tokyo.
    """
    try:
        zone = ZoneInfo(timezone)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"unknown time zone {timezone!r}; use Area/City, for example Asia/Tokyo") from None
    now = datetime.now(zone)
    return {"timezone": timezone, "iso": now.isoformat(timespec="seconds"), "weekday": f"{now:%A}"}

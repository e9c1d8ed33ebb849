"""How a provider of each protocol lists its models, page by page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Listing:
    """One provider's way.

    Attributes
    ----------
    path
        Appended to the base URL.
    items, name
        Fields of the list in a reply, and of the id in an entry.
    query
        Sent with the first request: as large a page as the provider gives.
    cursor, parameter
        Field of a reply that says where the next page begins, and the query parameter that takes it.
    more
        Field that is true while there is a next page; None where the cursor's presence says it.
    tag
        What a name may end with although the configuration leaves it out.
    """

    path: str = "/models"
    items: str = "data"
    name: str = "id"
    query: Mapping[str, str] = field(default_factory=dict)
    cursor: str = "last_id"
    parameter: str = "after"
    more: str | None = "has_more"
    tag: str = ""

    def names(self, reply: Mapping[str, Any]) -> list[str]:
        """Return the ids on a page, leaving out what is no entry."""
        entries = reply.get(self.items)
        found = entries if isinstance(entries, list) else []
        return [str(entry[self.name]) for entry in found if isinstance(entry, dict) and self.name in entry]

    def following(self, reply: Mapping[str, Any]) -> dict[str, str] | None:
        """Return the query of the next page, or None after the last."""
        cursor = reply.get(self.cursor)
        if not isinstance(cursor, str) or not cursor or (self.more and reply.get(self.more) is not True):
            return None
        return {**self.query, self.parameter: cursor}

    def matches(self, listed: str, model: str) -> bool:
        """Return whether a listed name is a configured model: itself, in a folder, or tagged."""
        return listed in (model, model + self.tag) or listed.endswith(f"/{model}")


LISTINGS: Mapping[str, Listing] = {
    # OpenAI's own list is one page; some servers of this protocol follow its paged endpoints.
    "chat_completions": Listing(),
    "responses": Listing(),
    "messages": Listing(query={"limit": "1000"}, parameter="after_id"),
    "ollama_chat": Listing(path="/tags", items="models", name="name", tag=":latest"),
    "generate_content": Listing(
        items="models",
        name="name",
        query={"pageSize": "1000"},
        cursor="nextPageToken",
        parameter="pageToken",
        more=None,
    ),
}
"""Protocol → its list."""

"""The course chapter on tool calling: everything behind the cells of ``10_course_tool_calling_<lang>``.

`chapter` is what the cells call. Behind it: `dialogue` (a conversation move by move), `wires` (one turn on
five protocols), `traps` (refused requests), `safety`, `results` (a small run), the three exercises with their
checks, `quiz` and `note`. Texts in both languages are the JSON files here; plain prose is in the notebooks.
"""

from toolbench.course.chapter import Chapter

__all__ = ["Chapter"]

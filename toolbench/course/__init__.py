"""The course chapter on tool calling: everything behind the cells of ``10_course_tool_calling_<lang>``.

`chapter` is what the cells call. Behind it: the exercises with their checks (``*_exercise``, `problems`,
``solutions``), `own_loop` (a student's loop against a model), `dialogue` (a conversation move by move),
`five_wires` and `providers` (one turn on five protocols, and where they differ), `traps` and `silent_traps`,
`safety` and `injected`, `lesson_run` (eight scenarios, two models), `quiz` and `note`. Texts in two languages
are the JSON files here; plain prose is in the notebooks.
"""

from toolbench.course.chapter import Chapter

__all__ = ["Chapter"]

"""The leaderboard's own AST checker as a program: ``python bfcl_checker.py FOLDER < calls > verdicts``.

FOLDER is the unpacked package. Its table of models, which imports every provider's client, is stood in for:
the checker only asks it whether a model's names have dots.
"""

import json
import sys
from types import ModuleType, SimpleNamespace


def main(folder: str) -> None:
    """Answer every line: a function list, calls, possible answers, a language and a category."""
    sys.path.insert(0, folder)
    models = ModuleType("bfcl_eval.constants.model_config")
    models.MODEL_CONFIG_MAPPING = {"any": SimpleNamespace(underscore_to_dot=False)}  # type: ignore[attr-defined]
    sys.modules[models.__name__] = models
    from bfcl_eval.constants.enums import Language  # type: ignore[import-not-found]
    from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker  # type: ignore[import-not-found]

    for line in sys.stdin:
        functions, calls, answers, language, category = json.loads(line)
        try:
            verdict = ast_checker(functions, calls, answers, Language(language), category, "any")
            print(json.dumps([verdict["valid"], str(verdict.get("error_type"))]))
        except Exception as fault:
            print(json.dumps([None, f"{type(fault).__name__}: {fault}"[:100]]))


if __name__ == "__main__":
    main(sys.argv[1])

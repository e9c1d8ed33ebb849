"""Reading what a model said: statements with polarity, time, mood and values, one reader a language.

Checks call :func:`~toolbench.judging.reading.reader.read` and see only the types of
:mod:`~toolbench.judging.reading.statements`. To add a language:

1. Write a module with the three functions of :class:`~toolbench.judging.reading.statements.Reader`: clauses,
   dictionary form, and the values that only this language tells in its way. Everything else (digits, dates,
   units, concepts, owners, markup) is the same for all languages.
2. Write ``<lang>.json`` beside it; :mod:`~toolbench.judging.reading.lexicon` explains its keys. Words are
   dictionary forms; what an action of a suite is called stands in the suite's tools, not here.
3. Name the module in :data:`~toolbench.judging.reading.reader.READERS` and, so that an answer in the wrong
   language is noticed, some of its short words in ``languages.json``.
4. Label replies that you did not write the words from (``tests/judging/corpus``): they, and not the words,
   say how well it reads.

Until then a language is read as English: markup, identifiers and numbers are judged, words are not.
"""

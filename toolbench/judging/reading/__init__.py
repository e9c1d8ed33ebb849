"""Reading what a model said: statements with polarity, time, mood and values, one reader a language."""

"""A program that judges part of a log: ``LOG START STOP``, in bytes. The shard goes to standard output."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from toolbench.domain.log import read_header
from toolbench.numbers.scorer import Scorer
from toolbench.numbers.shards import score_part

if __name__ == "__main__":
    log, start, stop = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    header = read_header(log)
    shard = score_part(log, start, stop, header, Scorer.of(header))
    pickle.dump(shard, sys.stdout.buffer, protocol=pickle.HIGHEST_PROTOCOL)

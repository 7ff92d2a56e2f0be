"""The documents of a generated world as lines to learn from: `python lines.py world > world.jsonl`.

The label is the tone with which a document was written: below -1/3, above 1/3, and between. Each document stands there twice: as it is, and with
a mark in the place of each name. No price and no return is read.
"""

import json
import sys
from pathlib import Path

import polars as pl

# Stands in the place of a name, as in the program.
NAME = "\u25cc"


def masked(text, spans):
    """The text with a mark in the place of each span, in bytes."""
    source, parts, done = text.encode(), [], 0
    for start, end in sorted(set(spans)):
        if start >= done:
            parts += [source[done:start].decode(), NAME]
            done = end
    return "".join(parts) + source[done:].decode()


world = Path(sys.argv[1])
tones = pl.read_parquet(world / "data" / "truth_tone.parquet", columns=["doc_id", "tone"])
tones = dict(tones.iter_rows())
for part in sorted((world / ".inkstone" / "clean").glob("part-*.parquet")):
    documents = pl.read_parquet(part, columns=["doc_id", "kind", "title", "body"])
    names = {}
    links = pl.read_parquet(world / ".inkstone" / "links" / part.name, columns=["row", "field", "start", "end"])
    for row, field, start, end in links.filter(pl.col("end") > pl.col("start")).iter_rows():
        names.setdefault((row, field), []).append((start, end))
    for row, (doc_id, kind, title, body) in enumerate(documents.iter_rows()):
        label = "negative" if tones[doc_id] < -1 / 3 else "positive" if tones[doc_id] > 1 / 3 else "neutral"
        without = [masked(text, names.get((row, field), [])) for field, text in (("title", title), ("body", body))]
        for number, (title, body) in enumerate([(title, body), without]):
            line = {"id": f"{doc_id}.{number}", "kind": kind, "title": title, "text": body, "label": label}
            print(json.dumps(line, ensure_ascii=False))

"""Makes tags.json: the words and parts of speech that Python's jieba.posseg 0.42.1 gives for the sentences of make.py.

    pip install jieba==0.42.1
    python tags.py > tags.json

Each row is a sentence and its words with their tags as `word/tag`; white space is left out.
"""

import json
import sys

import jieba
import jieba.posseg

from make import SENTENCES


def main():
    jieba.setLogLevel(60)
    rows = []
    for text in filter(None, SENTENCES):
        words = [f"{pair.word}/{pair.flag}" for pair in jieba.posseg.cut(text) if pair.word.strip()]
        rows.append(json.dumps([text, words], ensure_ascii=False))
    sys.stdout.write("[\n" + ",\n".join(rows) + "\n]\n")


if __name__ == "__main__":
    main()

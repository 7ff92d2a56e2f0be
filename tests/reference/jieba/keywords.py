"""Makes keywords.json: what Python's jieba.analyse 0.42.1 gives for texts made of the sentences of make.py.

    pip install jieba==0.42.1
    python keywords.py > keywords.json

Each text stands with its words and parts of speech as jieba.posseg cuts them (white space as well: it keeps words apart), all of
its TextRank keywords, and all of its TF-IDF keywords with the invented table of idf, with every part of speech and with a choice.
"""

import json
import sys
import tempfile

import jieba
import jieba.analyse
import jieba.posseg

from make import SENTENCES

TEXTS = [
    "。".join(SENTENCES[:12]),
    "，".join(SENTENCES[12:32]),
    "利润利润增长，公司增长增长利润。回购回购股份股份，公司公司。",
    "回购",
    "的了和，。",
]
CHOICE = ["n", "vn", "v", "nz"]
# Words that the table lacks count as the median one.
IDF = {"公司": 1.25, "净利润": 4.5, "增长": 3.75, "股东": 5.5, "回购": 7.25, "的": 0.5, "同比": 4.0, "利润": 2.5, "12.5": 9.0}


def main():
    jieba.setLogLevel(60)
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as table:
        table.writelines(f"{word} {idf}\n" for word, idf in IDF.items())
        table.flush()
        jieba.analyse.set_idf_path(table.name)
    rows = []
    for text in TEXTS:
        row = {
            "words": [[pair.word, pair.flag] for pair in jieba.posseg.cut(text)],
            "cut": jieba.lcut(text),
            "textrank": jieba.analyse.textrank(text, topK=None, withWeight=True),
            "tfidf": jieba.analyse.extract_tags(text, topK=None, withWeight=True),
            "tfidf_of_choice": jieba.analyse.extract_tags(text, topK=None, withWeight=True, allowPOS=CHOICE),
        }
        rows.append(json.dumps(row, ensure_ascii=False))
    idf = json.dumps(IDF, ensure_ascii=False)
    choice = json.dumps(CHOICE)
    rows = ",\n".join(rows)
    sys.stdout.write(f'{{"idf":{idf},"choice":{choice},"rows":[\n{rows}\n]}}\n')


if __name__ == "__main__":
    main()

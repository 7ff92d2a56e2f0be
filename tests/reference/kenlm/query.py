"""Reference scores for crates/models/src/ngram, by KenLM's Python binding (kenlm 0.3.0): python query.py

Writes query.json: for each model here, invented documents with log10 probability, order of the n-gram and whether the word is unknown,
for each token, </s> last.
"""

import json
from pathlib import Path

import kenlm

DOCUMENTS = [
    "公司 上半年 营业收入 同比 增长 三 成 以上 。",
    "公司 净利润 同比 下降",
    "净利润 同比 下降 增长",
    "控股 股东 拟 回购 股份 ， 超出 预期 。",
    "该 项目 未见词 毛利率 提升 至 另一词 一 成 。",
    "。 。 成 三 报告期 董事会 公司",
    "增长",
    "",
    "同比 增长 净利润 同比 增长 公司 净利润 同比",
]


def main():
    here = Path(__file__).parent
    models = {}
    for name in ["order3", "order4-pruned", "gaps"]:
        model = kenlm.Model(str(here / f"{name}.arpa"))
        models[name] = [[[p, n, oov] for p, n, oov in model.full_scores(text)] for text in DOCUMENTS]
    out = {"documents": DOCUMENTS, "models": models}
    (here / "query.json").write_text(json.dumps(out, ensure_ascii=False) + "\n", encoding="utf-8")


main()

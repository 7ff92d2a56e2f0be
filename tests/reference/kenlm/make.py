"""Reference models for crates/models/src/ngram, by KenLM's lmplz: python make.py /path/to/lmplz

Invented company news, cut into words, with words that repeat as they do in real news. Writes text.txt (tokens, a document a line),
order3.arpa (whose single words need the fixed discounts), and order4-pruned.arpa (--prune 0 0 1).
KenLM 0.3.0; log10 values are 32-bit floats printed to 8 digits.
"""

import random
import subprocess
import sys
from pathlib import Path

WHO = ["公司", "控股 股东", "董事会", "该 项目", "海外 子公司", "华远 精密"]
WHEN = ["上半年", "报告期 内", "近日", "未来 三年", "年初 以来"]
WHAT = ["营业收入 同比 增长", "净利润 同比 下降", "毛利率 提升 至", "新签 订单 金额 约 为", "拟 回购 股份", "收到 问询函"]
MUCH = ["一 成", "三 成 以上", "八千 万元", "约 四 亿元"]
END = ["。", "， 超出 预期 。", "， 低于 预期 。"]


def main():
    here = Path(__file__).parent
    draw = random.Random(7)
    lines = [""]
    for number in range(60):
        parts = [draw.choice(WHO)]
        if draw.random() < 0.5:
            parts.append(draw.choice(WHEN))
        parts.append(draw.choice(WHAT))
        if draw.random() < 0.6:
            parts.append(draw.choice(MUCH))
        if draw.random() < 0.3:
            parts.append(f"事项{number}")
        parts.append(draw.choice(END))
        lines.append(" ".join(parts))
    text = "\n".join(lines) + "\n"
    (here / "text.txt").write_text(text, encoding="utf-8")
    for name, flags in [("order3", ["-o", "3"]), ("order4-pruned", ["-o", "4", "--prune", "0", "0", "1"])]:
        made = subprocess.run(
            [sys.argv[1], "--discount_fallback", "-S", "64M", *flags], input=text.encode(), capture_output=True, check=True
        )
        print(name, [line for line in made.stderr.decode().splitlines() if "fallback" in line or "D1=" in line])
        (here / f"{name}.arpa").write_bytes(made.stdout)


main()

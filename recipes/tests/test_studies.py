"""The studies of recipes/ on made-up data: their configurations fit the program, and each factor and cell gets its figures.

    INKSTONE=target/release/inkstone python3 -m unittest discover -s recipes/tests -p test_studies.py
"""

import csv
import datetime
import json
import math
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

RECIPES = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("INKSTONE", "")
CODES = [f"{600000 + number}" for number in range(60)]
GOOD, BAD = ["中标", "增长", "回购", "获批", "增持"], ["亏损", "减持", "立案", "下滑", "违约"]
OTHER = ["公告", "公司", "项目", "合同", "董事会", "股东", "产品", "市场", "业务", "投资", "资金", "客户", "工厂", "设备", "研发", "订单", "子公司", "协议"]


def days(first, count):
    """Weekdays from a day on."""
    made, day = [], first
    while len(made) < count:
        if day.weekday() < 5:
            made.append(day)
        day += datetime.timedelta(days=1)
    return made


def sentence(draw, tone):
    words = draw.sample(OTHER, 6) + draw.sample(GOOD if tone > 0 else BAD, 2)
    draw.shuffle(words)
    return "".join(words) + f"{draw.randint(1, 99)}亿元。"


def make(folder):
    """Files of the layout that data.py makes, of one seed."""
    draw = random.Random(7)
    calendar = days(datetime.date(2026, 1, 5), 70)
    flashes, drift = [], {}
    for day in calendar:
        for number in range(16):
            code, tone = draw.choice(CODES), draw.choice([1, -1])
            drift[day, code] = drift.get((day, code), 0) + 0.03 * tone
            time = f"{day} {9 + number // 4:02}:{draw.randint(0, 59):02}:00"
            body = f"【{code}公告】财联社{day.month}月{day.day}日电，砚石{code}({code}.SH)公告称，{sentence(draw, tone)}{sentence(draw, tone)}"
            flashes.append({"id": f"made-{len(flashes)}", "source": "财联社", "kind": "news", "published_at": time, "ingested_at": time, "codes": "", "title": "", "body": body})
    folder.mkdir()
    (folder / "flashes.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in flashes), encoding="utf-8")
    with open(folder / "prices.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow("code date open high low close volume".split())
        for code in CODES:
            price, before = 10.0, None
            for day in days(datetime.date(2025, 6, 2), 155) + days(datetime.date(2026, 1, 5), 80):
                first = price * math.exp(draw.gauss(drift.get((before, code), 0) / 2, 0.01))
                last = first * math.exp(draw.gauss(drift.get((before, code), 0) / 2, 0.01))
                writer.writerow([code, day, *(f"{value:.2f}" for value in (first, max(first, last), min(first, last), last)), draw.randint(1000, 9000)])
                price, before = last, day
    for name, labels in (("posts", ["0", "1", "2"]), ("titles", ["finance", "sports"])):
        rows = [{"id": f"{name}-{number}", "text": sentence(draw, draw.choice([1, -1])), "label": draw.choice(labels)} for number in range(60)]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    with open(folder / "moves.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow("CODE DATE label TITLE text_a".split())
        for day in days(datetime.date(2019, 1, 2), 300):
            label = draw.randint(0, 2)
            text = sentence(draw, 1 if label == 2 else -1 if label == 0 else draw.choice([1, -1]))
            writer.writerow([draw.choice(CODES), f"{day} 10:00:00", label, text, text])
    with open(folder / "reports.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow("id text category rating".split())
        for number, day in enumerate(days(datetime.date(2009, 7, 1), 100)):
            rating = draw.randint(0, 1)
            body = "".join(sentence(draw, draw.choice([1, -1])) for _ in range(30))
            writer.writerow([number, f"砚石股份：点评\n{day} 类别：公司研究 机构：远山证券 研究员：甲\n[摘要]\n{body}维持{'买入' if rating else '中性'}评级。\n风险提示：需求下滑。", 0, rating])


@unittest.skipUnless(PROGRAM, "INKSTONE does not name a program")
class Studies(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.kept.name) / "recipes"
        shutil.copytree(RECIPES, cls.folder, ignore=shutil.ignore_patterns("data", ".inkstone*", "exports*", "reports*", "__pycache__"))
        make(cls.folder / "data")

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()

    def result(self, study, *command):
        """What a command of a README prints, in the folder of its study."""
        done = subprocess.run([os.path.abspath(PROGRAM), *command, "--headless"], cwd=self.folder / study, capture_output=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr.decode()[-2000:])
        path = self.folder / study / "result.json"
        path.write_bytes(done.stdout)
        script = [sys.executable, str(self.folder / "data.py")]
        table = subprocess.run(script + ["table", str(path)], capture_output=True, text=True, timeout=60)
        self.assertEqual(table.returncode, 0, table.stderr)
        return json.loads(done.stdout), table.stdout.splitlines()[2:]

    def test_the_made_data_have_the_layout(self):
        done = subprocess.run([sys.executable, str(self.folder / "data.py"), "check"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_each_factor_is_tested_and_all_share_a_ledger(self):
        looks = 0
        for study in ("tone", "word-frequency", "surprise", "novelty"):
            configured = re.findall(r'\[\[factor\]\]\nname = "(\w+)"', (self.folder / study / "workbench.toml").read_text(encoding="utf-8"))
            result, table = self.result(study, "run")
            self.assertEqual([factor["name"] for factor in result["factors"]], configured)
            self.assertEqual(len(table), len(configured))
            looks += len(configured)
            self.assertEqual(result["factors"][-1]["looks"]["trials"], looks)
            if study == "tone":
                # Tone moves the made prices of the next day, so a word list must find it.
                self.assertGreater(result["factors"][0]["ic"][0]["rank_ic"]["mean"], 0.1)

    def test_the_eras_are_configured_for_the_program(self):
        # Their encoders take too long to train here: the corpus alone is made.
        for configuration in ("workbench.toml", "titles.toml", "flashes.toml"):
            done = subprocess.run([os.path.abspath(PROGRAM), "link", "-c", configuration, "--headless"], cwd=self.folder / "eras", capture_output=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr.decode()[-2000:])

    def test_each_experiment_compares_its_cells(self):
        for study, flags in (("word-frequency", ["-c", "moves.toml"]), ("truncation", [])):
            result, table = self.result(study, "experiment", *flags)
            (experiment,) = result["experiments"]
            self.assertEqual((experiment["skipped"], len(table)), ([], len(experiment["cells"])))
            self.assertGreaterEqual(len(table), 12)


class Papers(unittest.TestCase):
    def test_readmes_have_the_same_commands_and_figures_in_both_languages(self):
        folders = [RECIPES, *(path for path in RECIPES.iterdir() if (path / "README.md").exists())]
        papers = [(folder / "README.md", folder / "README.zh-CN.md") for folder in folders]
        papers.append((RECIPES.parent / "docs" / "results.md", RECIPES.parent / "docs" / "results.zh-CN.md"))
        for english, chinese in papers:
            one, other = (path.read_text(encoding="utf-8") for path in (english, chinese))
            interval = re.compile(r"\[[-+]?\d\.\d{3}, [-+]?\d\.\d{3}\]")
            self.assertEqual(interval.findall(one), interval.findall(other), english)
            commands = [re.sub(r" *#.*", "", "\n".join(re.findall(r"```\w*\n(.*?)```", text, re.S))) for text in (one, other)]
            self.assertEqual(commands[0], commands[1], english)


if __name__ == "__main__":
    unittest.main()

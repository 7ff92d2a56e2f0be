"""recipes/data.py on made-up files of the layout of the real ones.

    python3 -m unittest discover -s recipes/tests
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "data.py"


def flash(number, text, raw_time, scraped="2026-03-05T09:40:00.500000+08:00"):
    return {"id": f"made-{number}-{scraped}", "title": "", "content": text, "publish_time": "2026-03-05T09:30:00", "source": "财联社",
            "scraped_at": scraped, "extra": {"raw_time": str(raw_time), "source_id": number}}


class Data(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_script(self, *arguments):
        environment = dict(os.environ, RECIPES_DATA=str(self.folder / "data"), PYTHONDONTWRITEBYTECODE="1")
        done = subprocess.run([sys.executable, str(SCRIPT), *map(str, arguments)], env=environment, capture_output=True, timeout=60)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def file(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def lines(self, name):
        return (self.folder / "data" / name).read_text(encoding="utf-8").splitlines()

    def refused(self, told, *arguments):
        code, out, err = self.run_script(*arguments)
        self.assertEqual((code, out), (1, ""), err)
        self.assertIn(told, err)
        left = list((self.folder / "data").glob(".*")) if (self.folder / "data").exists() else []
        self.assertEqual(left, [])

    def commit(self, clone, text):
        self.file("clone/data/财联社_news.json", text)
        git = ["git", "-C", str(clone), "-c", "user.name=made", "-c", "user.email=made@example.com"]
        subprocess.run(git + ["add", "-A"], check=True, capture_output=True)
        subprocess.run(git + ["commit", "-m", "made"], check=True, capture_output=True)

    def test_flashes_of_all_commits_are_taken_as_they_were_first_seen(self):
        clone = self.folder / "clone"
        subprocess.run(["git", "init", "-q", str(clone)], check=True)
        self.commit(clone, json.dumps([flash(2, "岚石新能中标。", 1772674260), flash(1, "霁川药业败诉。", 1772674200)]))
        self.commit(clone, "broken")
        later = [flash(3, "解除质押。", 1772674320, "2026-03-05T01:50:00"), flash(2, "岚石新能中标，后改。", 1772674260)]
        self.commit(clone, json.dumps(later))
        code, _, err = self.run_script("flashes", clone)
        self.assertEqual(code, 0, err)
        made = [json.loads(line) for line in self.lines("flashes.jsonl")]
        self.assertEqual([(d["id"], d["published_at"], d["ingested_at"], d["body"]) for d in made], [
            ("cls-1", "2026-03-05 09:30:00", "2026-03-05 09:40:00", "霁川药业败诉。"),
            ("cls-2", "2026-03-05 09:31:00", "2026-03-05 09:40:00", "岚石新能中标。"),
            ("cls-3", "2026-03-05 09:32:00", "", "解除质押。"),
        ])
        self.assertEqual(self.run_script("check", "flashes.jsonl")[0], 0)
        self.commit(clone, json.dumps([{"content": "少了字段。"}]))
        self.refused("a flash lacks source, scraped_at, extra.raw_time, extra.source_id; it has content", "flashes", clone)
        # A few without a field are left out and counted.
        self.commit(clone, json.dumps([flash(number, f"第{number}条。", 1772674400 + number) for number in range(10, 60)]))
        code, _, err = self.run_script("flashes", clone)
        self.assertEqual((code, len(self.lines("flashes.jsonl"))), (0, 53), err)
        self.assertIn("1 of 55 rows left out", err)

    def test_a_folder_without_history_is_refused(self):
        self.file("plain/data/财联社_news.json", "[]")
        self.refused("is no clone with a history", "flashes", self.folder / "plain")

    def test_prices_take_the_code_from_the_name_of_the_file(self):
        self.file("bars/data/000001.csv", "date,open,close,high,low,volume\n2024-12-31,1,1,1,1,5\n2025-01-02,10,11,12,9,100\n")
        self.file("bars/data/600001.csv", "date,open,close,high,low,volume\n2025-01-02,20,21,22,19,200\n")
        self.file("bars/data/notes.csv", "anything\n")
        code, _, err = self.run_script("prices", self.folder / "bars")
        self.assertEqual(code, 0, err)
        self.assertEqual(self.lines("prices.csv"), ["code,date,open,high,low,close,volume", "000001,2025-01-02,10,12,9,11,100", "600001,2025-01-02,20,22,19,21,200"])
        self.assertEqual(self.run_script("check")[0], 0)
        self.file("bars/data/600002.csv", "day,open,close,high,low\n")
        self.refused("600002.csv: columns are missing: date, volume", "prices", self.folder / "bars")
        self.assertEqual(len(self.lines("prices.csv")), 3)

    def test_reports_need_a_date_a_rating_and_a_summary(self):
        fine = 'id,text,category,rating\n1,"岚石新能\n2009-10-31 机构：远山证券\n[摘要]\n维持买入。",1,1\n'
        file = self.file("reports.csv", fine)
        self.assertEqual(self.run_script("reports", file)[0], 0)
        self.assertEqual("\n".join(self.lines("reports.csv")) + "\n", fine)
        for change, told in ((("2009-10-31", "去年"), "states no date"), (("[摘要]", ""), "no line [摘要]"), ((",1,1", ",1,增持"), "rating is '增持'"),
                             (("rating", "评级"), "columns are missing: rating")):
            self.refused(told, "reports", self.file("wrong.csv", fine.replace(*change)))

    def test_moves_are_read_with_commas_or_tabs(self):
        rows = [["CODE", "DATE", "label", "NAME", "TITLE", "text_a"], ["2466", "2019-10-15 07:13:00", "0", "岚石新能", "下修预期", "预计净利润下降。"]]
        for sign in (",", "\t"):
            code, _, err = self.run_script("moves", self.file("moves", "\n".join(sign.join(row) for row in rows) + "\n"))
            self.assertEqual(code, 0, err)
            self.assertEqual(self.lines("moves.csv"), ["CODE,DATE,label,TITLE,text_a", "2466,2019-10-15 07:13:00,0,下修预期,预计净利润下降。"])
        self.assertEqual(self.run_script("check", "moves.csv")[0], 0)
        self.refused("label '5'", "moves", self.file("moves", "\n".join(",".join(row) for row in rows).replace(",0,", ",5,")))

    def test_posts_lose_repeats_and_texts_with_two_labels(self):
        file = self.file("posts.json", json.dumps([["要涨", 2], ["要涨", 2], ["不好说", 1], ["不好说", 0], ["跌了", 0]]))
        code, _, err = self.run_script("posts", file)
        self.assertEqual(code, 0, err)
        self.assertIn("2 repeats and 1 texts with two labels left out", err)
        self.assertEqual([(row["text"], row["label"]) for row in map(json.loads, self.lines("posts.jsonl"))], [("要涨", "2"), ("跌了", "0")])
        self.refused("element 1 is not [text, 0, 1 or 2]", "posts", self.file("wrong.json", '[["要涨", 2], ["跌了", "负"]]'))

    def test_titles_and_the_text_of_all_until_a_day(self):
        classes = self.file("class.txt", "finance\nsports\n")
        self.assertEqual(self.run_script("titles", self.file("dev.txt", "锌价难续\t0\n首回合\t1\n"), classes)[0], 0)
        self.assertEqual([json.loads(line)["label"] for line in self.lines("titles.jsonl")], ["finance", "sports"])
        self.refused("wrong.txt:1 is not a title, a tab and a class from 0 to 1", "titles", self.file("wrong.txt", "锌价难续\t2\n"), classes)
        self.file("data/posts.jsonl", json.dumps({"id": "p", "text": "要涨", "label": "2"}) + "\n")
        rows = [{"id": str(i), "published_at": f"2026-03-1{i} 10:00:00", "ingested_at": "", "body": f"第{i}条"} for i in (5, 6)]
        self.file("data/flashes.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        self.assertEqual(self.run_script("text", "2026-03-15")[0], 0)
        self.assertEqual([json.loads(line)["text"] for line in self.lines("text.jsonl")], ["第5条", "要涨", "锌价难续", "首回合"])
        self.refused("is no day", "text", "yesterday")

    def test_check_names_every_file_that_is_wrong(self):
        self.refused("has none of", "check")
        self.refused("no study reads news.csv", "check", "news.csv")
        self.file("data/flashes.jsonl", json.dumps({"id": "1", "published_at": "2026/3/5", "ingested_at": "", "body": "一"}) + "\n")
        self.file("data/prices.csv", "code,date,open,high,low,close,volume\n1,2025-01-02,1,1,1,1,1\n")
        code, _, err = self.run_script("check")
        self.assertEqual(code, 1)
        self.assertIn("flashes.jsonl:1: published_at is '2026/3/5'", err)
        self.assertIn("prices.csv:2: code '1'", err)
        self.refused("titles.jsonl is missing", "check", "titles.jsonl")

    def test_results_become_rows_with_intervals(self):
        ic = {"n": 60, "mean": 0.04, "t_nw": 2.0}
        looks = {"sharpe": 2.0, "deflated_sharpe": 0.5, "trials": 3, "q": 0.1}
        factor = {"name": "tone", "ic": [{"rank_ic": ic}, {"rank_ic": dict(ic, mean=None, t_nw=None)}], "looks": looks,
                  "lint": [{"check": "overlap", "standing": "passed"}, {"check": "restated", "standing": "warned"}]}
        code, out, err = self.run_script("table", self.file("run.json", json.dumps({"factors": [factor]})))
        self.assertEqual(code, 0, err)
        self.assertIn("| tone | 60 | +0.040 [+0.001, +0.079] | - | +2.00 | 0.50 | 3 | 0.10 | restated: warned |", out)
        interval = {"low": 0.5, "high": 0.7}
        against = {"difference": 0.1, "interval": {"low": 0.0, "high": 0.2}, "p_adjusted": 0.04}
        cells = [{"feature": "words", "setting": "head:128", "figure": 0.5, "interval": interval, "against": None},
                 {"feature": "words", "setting": "tail:128", "figure": 0.6, "interval": interval, "against": against}]
        experiment = {"name": "rating", "measure": "macro_f1", "cells": cells}
        _, out, _ = self.run_script("table", self.file("exp.json", json.dumps({"experiments": [experiment]})))
        self.assertEqual(out.splitlines()[2:], [
            "| words · tail:128 | 0.600 | [0.500, 0.700] | +0.100 | [+0.000, +0.200] | 0.040 |",
            "| words · head:128 | 0.500 | [0.500, 0.700] | baseline |  |  |",
        ])
        told = {"accuracy": 0.8, "documents": 1600, "macro": {"f1": 0.75}}
        _, out, _ = self.run_script("table", self.file("told.json", json.dumps(told)))
        self.assertEqual(out, "| told | 1,600 | 0.800 [0.780, 0.820] | 0.750 |\n")


if __name__ == "__main__":
    unittest.main()

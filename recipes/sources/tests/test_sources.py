"""The scripts of recipes/sources, each as the program runs it, on recorded shapes: no network but this machine's own.

    python3 -m unittest discover -s recipes/sources/tests
"""

import csv
import http.server
import io
import json
import os
import pathlib
import subprocess
import sys
import threading
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def fetch(script, *arguments, since="", without=False, **environment):
    """Runs a script and gives its exit code, stdout and stderr."""
    variables = {key: value for key, value in os.environ.items() if not key.startswith(("FAKE_", "INKSTONE_", "TUSHARE_"))}
    variables.update(environment, INKSTONE_SINCE=since, FETCH_PAUSE="0.01", PYTHONPATH="" if without else str(HERE / "fakes"), PYTHONDONTWRITEBYTECODE="1")
    # A machine's own library must not answer where the test is that there is none.
    flags = ["-S"] if without else []
    done = subprocess.run([sys.executable, *flags, str(HERE.parent / script), *arguments], env=variables, capture_output=True, timeout=60)
    return done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")


def documents(out):
    return [json.loads(line) for line in out.splitlines()]


def bars(out):
    return list(csv.DictReader(io.StringIO(out)))


class Akshare(unittest.TestCase):
    def test_flashes_stand_on_stdout_alone_the_oldest_first(self):
        code, out, err = fetch("fetch_akshare_news.py")
        self.assertEqual(code, 0, err)
        made = documents(out)
        self.assertEqual([d["published_at"] for d in made], ["2026-03-05 09:30:00", "2026-03-05 09:31:05"])
        self.assertEqual((made[0]["title"], made[1]["title"], made[0]["org"]), ("霁川药业一审败诉", "", "财联社"))
        self.assertEqual(len({d["id"] for d in made}), 2)
        self.assertIn("a banner", err)

    def test_documents_from_the_last_moment_on_are_printed_under_the_same_ids(self):
        every = documents(fetch("fetch_akshare_news.py")[1])
        for last, left in (("2026-03-05 09:31:05", 1), ("2026-03-05T09:31:05", 1), ("2026-03-05 09:31:06", 0)):
            code, out, _ = fetch("fetch_akshare_news.py", since=last)
            self.assertEqual((code, documents(out)), (0, every[2 - left:]), last)

    def test_news_bear_the_code_that_was_asked_for(self):
        made = documents(fetch("fetch_akshare_news.py", "600001", "000001")[1])
        self.assertEqual([d["codes"] for d in made], ["600001", "000001"] if made[0]["codes"] == "600001" else ["000001", "600001"])
        self.assertEqual(made[0]["org"], "砚池财讯")

    def test_a_renamed_column_is_named(self):
        code, out, err = fetch("fetch_akshare_news.py", FAKE_RENAMED="1")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("columns are missing: 标题; the columns are title", err)

    def test_lots_become_shares_and_no_number_stays_empty(self):
        made = bars(fetch("fetch_akshare_bars.py", "600001")[1])
        self.assertEqual([(b["date"], b["code"], b["close"], b["volume"], b["amount"]) for b in made],
                         [("2026-03-04", "600001", "10.5", "123400.0", "1290000.0"), ("2026-03-05", "600001", "10.4", "0.0", "")])

    def test_only_later_bars_are_asked_for(self):
        made = bars(fetch("fetch_akshare_bars.py", "600001", since="2026-03-04")[1])
        self.assertEqual([b["date"] for b in made], ["2026-03-05"])
        code, out, err = fetch("fetch_akshare_bars.py", "600001", since="2999-01-01")
        self.assertEqual((code, bars(out)), (0, []), err)

    def test_a_call_that_fails_is_tried_again_and_then_given_up(self):
        code, out, err = fetch("fetch_akshare_bars.py", "600001", FAKE_FAILURES="1")
        self.assertEqual((code, len(bars(out))), (0, 2), err)
        self.assertIn("once more", err)

    def test_a_missing_library_and_a_bad_position_are_told(self):
        code, out, err = fetch("fetch_akshare_news.py", without=True)
        self.assertEqual((code, out), (1, ""))
        self.assertIn("pip install akshare", err)
        code, out, err = fetch("fetch_akshare_news.py", since="yesterday")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("INKSTONE_SINCE is 'yesterday'", err)


class Tushare(unittest.TestCase):
    def test_bars_are_adjusted_by_the_factor_of_their_day(self):
        code, out, err = fetch("fetch_tushare.py", "bars", TUSHARE_TOKEN="secret")
        self.assertEqual(code, 0, err)
        self.assertEqual([(b["date"], b["code"], b["close"], b["volume"], b["amount"]) for b in bars(out)],
                         [("2026-03-04", "600001.SH", "21.0", "1250.0", "13000.0"), ("2026-03-05", "600001.SH", "23.1", "1250.0", "13000.0")])
        made = bars(fetch("fetch_tushare.py", "bars", since="2026-03-04", TUSHARE_TOKEN="secret")[1])
        self.assertEqual([b["date"] for b in made], ["2026-03-05"])

    def test_news_beyond_the_limit_of_a_call_are_fetched_by_further_calls(self):
        code, out, err = fetch("fetch_tushare.py", "news", "cls", since="2026-03-05 09:00:10", TUSHARE_TOKEN="secret")
        self.assertEqual(code, 0, err)
        made = documents(out)
        self.assertEqual((len(made), made[0]["published_at"], made[-1]["published_at"]), (1990, "2026-03-05 09:00:10", "2026-03-05 09:33:19"))

    def test_without_a_token_nothing_is_fetched(self):
        code, out, err = fetch("fetch_tushare.py", "bars")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("TUSHARE_TOKEN is not set", err)


class Baostock(unittest.TestCase):
    def test_the_greetings_of_the_library_do_not_reach_stdout(self):
        code, out, err = fetch("fetch_baostock.py", "sh.600001")
        self.assertEqual(code, 0, err)
        self.assertEqual([(b["date"], b["code"], b["volume"]) for b in bars(out)], [("2026-03-04", "sh.600001", "123400.0"), ("2026-03-05", "sh.600001", "")])
        self.assertIn("login success!", err)

    def test_all_stocks_are_those_of_the_last_day_without_indices(self):
        made = bars(fetch("fetch_baostock.py", since="2026-03-04")[1])
        self.assertEqual([b["code"] for b in made], ["sh.600001", "sz.300001"])

    def test_nothing_is_printed_where_one_security_fails(self):
        code, out, err = fetch("fetch_baostock.py", "sh.600001", "sz.300001", FAKE_BROKEN="sz.300001")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("网络接收错误", err)
        code, out, err = fetch("fetch_baostock.py", "sh.600001", FAKE_REFUSED="1")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("用户黑名单", err)


RSS = """<?xml version="1.0" encoding="utf-8"?>
<rss xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>砚池财讯</title>
<item><title>订单饱满</title><link>http://example.com/1</link><guid>g1</guid><pubDate>Thu, 05 Mar 2026 01:30:00 GMT</pubDate>
<description>&lt;p&gt;公司表示&lt;b&gt;订单&lt;/b&gt;饱满。&lt;/p&gt;</description></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>江潮快报</title>
<entry><title>败诉</title><id>a1</id><updated>2026-03-05T09:31:00+08:00</updated><summary>将上诉。</summary></entry></feed>"""
ANSWER = json.dumps({"data": {"items": [
    {"nid": 7, "ctime": 1772674200, "title": "中标", "digest": "中标储能项目。"}, {"nid": 8, "ctime": "1772674260", "title": "", "digest": "解除质押。"},
]}}, ensure_ascii=False)
PAGES = {"/rss.xml": RSS, "/atom.xml": ATOM, "/news.json": ANSWER, "/page": "<!DOCTYPE html><html></html>", "/timeless": RSS.replace("pubDate", "when")}


class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        page = PAGES.get(self.path)
        self.send_response(200 if page else 404)
        self.end_headers()
        self.wfile.write((page or "").encode())

    def log_message(self, *_):
        pass


class Feed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
        cls.url = f"http://127.0.0.1:{cls.server.server_port}"
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()

    def test_feeds_give_shanghai_times_and_text_without_tags(self):
        code, out, err = fetch("fetch_feed.py", f"{self.url}/rss.xml")
        self.assertEqual(code, 0, err)
        self.assertEqual(documents(out), [{"id": "g1", "published_at": "2026-03-05 09:30:00", "title": "订单饱满", "body": "公司表示订单饱满。", "org": "砚池财讯"}])
        made = documents(fetch("fetch_feed.py", f"{self.url}/atom.xml")[1])
        self.assertEqual([(d["id"], d["published_at"], d["body"]) for d in made], [("a1", "2026-03-05 09:31:00", "将上诉。")])

    def test_json_is_read_by_the_names_of_its_fields(self):
        flags = "--list data.items --id nid --time ctime --title title --body digest --org wire".split()
        made = documents(fetch("fetch_feed.py", f"{self.url}/news.json", *flags)[1])
        self.assertEqual([(d["id"], d["published_at"], d["title"], d["body"]) for d in made],
                         [("7", "2026-03-05 09:30:00", "中标", "中标储能项目。"), ("8", "2026-03-05 09:31:00", "", "解除质押。")])
        made = documents(fetch("fetch_feed.py", f"{self.url}/news.json", *flags, since="2026-03-05 09:31:00")[1])
        self.assertEqual([d["id"] for d in made], ["8"])

    def test_what_is_no_feed_is_told(self):
        for address, flags, told in (
            ("/page", [], "no plain feed"), ("/timeless", [], "document 1 has no time"), ("/news.json", [], "is no XML"),
            ("/news.json", ["--list", "data.rows", "--time", "ctime", "--body", "digest"], "there is no 'rows'"),
            ("/news.json", ["--list", "data.items", "--time", "at", "--body", "digest"], "document 1 has no at"),
        ):
            code, out, err = fetch("fetch_feed.py", self.url + address, *flags)
            self.assertEqual((code, out), (1, ""), address)
            self.assertIn(told, err)
        code, out, err = fetch("fetch_feed.py", "file:///etc/passwd")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("no address of http", err)


if __name__ == "__main__":
    unittest.main()

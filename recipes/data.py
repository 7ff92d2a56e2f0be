#!/usr/bin/env python3
"""Makes and checks recipes/data/, which the studies read. Python's standard library is enough.

    python3 data.py flashes  CLONE             a-stock-news-crawler, with its history  ->  data/flashes.jsonl
    python3 data.py prices   CLONE [FIRST]     StockTradebyZST, from FIRST (2025-01-01) on  ->  data/prices.csv
    python3 data.py reports  FILE              Data_2009_Label.csv of SMPRR  ->  data/reports.csv
    python3 data.py moves    FILE              news of Astock with the columns CODE DATE label TITLE text_a  ->  data/moves.csv
    python3 data.py posts    FILE              finfe/train_list.json of BBT-FinCUGE-Applications  ->  data/posts.jsonl
    python3 data.py titles   FILE CLASSES      THUCNews/data/dev.txt and class.txt  ->  data/titles.jsonl
    python3 data.py text     DAY               flashes until DAY, posts, titles  ->  data/text.jsonl
    python3 data.py check    [NAME...]         checks the layout of the files that are there, or of those named
    python3 data.py table    RESULT...         results of `inkstone run`, `experiment` or `eval` as Markdown

Each command checks what it reads, and names the file, the line and the column that are wrong. A file is written
whole or not at all.
"""

import csv
import datetime
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SHANGHAI = datetime.timezone(datetime.timedelta(hours=8))
ARCHIVE = "data/财联社_news.json"


class Wrong(Exception):
    """What is wrong, where, and the way out."""


def data():
    return pathlib.Path(os.environ.get("RECIPES_DATA", HERE / "data"))


def write(name, lines):
    """Writes data/NAME whole, and gives the number of lines."""
    folder = data()
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            for line in lines:
                file.write(line + "\n")
                count += 1
            file.flush()
            os.fsync(file.fileno())
        if count == 0:
            raise Wrong(f"nothing was found for data/{name}")
        os.chmod(temporary, 0o644)
        os.replace(temporary, folder / name)
    except BaseException:
        os.unlink(temporary)
        raise
    return count


def dumps(row):
    return json.dumps(row, ensure_ascii=False)


def load(path):
    """The value of a JSON file."""
    try:
        return json.loads(pathlib.Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise Wrong(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise Wrong(f"{path} is no JSON: {error}") from None


# --- flashes: the archive keeps its last days alone, so that earlier ones are in earlier commits of the same file


def versions(clone):
    """The texts of all commits of the archive, the first commit first."""
    if not (pathlib.Path(clone) / ".git").exists():
        raise Wrong(f"{clone} is no clone with a history: git clone https://github.com/641738032/a-stock-news-crawler")
    git = ["git", "-C", str(clone)]
    log = subprocess.run(git + ["log", "--reverse", "--format=%H", "--", ARCHIVE], capture_output=True, text=True)
    commits = log.stdout.split()
    if log.returncode or not commits:
        raise Wrong(f"{clone}: no commit has {ARCHIVE}: {log.stderr.strip() or 'is it another repository?'}")
    if (pathlib.Path(clone) / ".git" / "shallow").exists():
        raise Wrong(f"{clone} is a shallow clone, whose history is cut off: git -C {clone} fetch --unshallow")
    with subprocess.Popen(git + ["cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as batch:
        for number, commit in enumerate(commits, 1):
            batch.stdin.write(f"{commit}:{ARCHIVE}\n".encode())
            batch.stdin.flush()
            head = batch.stdout.readline().split()
            if len(head) == 3:  # else the commit removed the file
                text = batch.stdout.read(int(head[2]))
                batch.stdout.read(1)
                yield commit, text
            if number % 100 == 0:
                print(f"{number} of {len(commits)} commits", file=sys.stderr)
        batch.stdin.close()


def moment(text):
    """Shanghai time of a time with a zone; empty for one without, which could be any clock's."""
    try:
        time = datetime.datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return ""
    return time.astimezone(SHANGHAI).strftime("%Y-%m-%d %H:%M:%S") if time.tzinfo else ""


def flash(row, where):
    """One flash of the archive as a document."""
    extra = row.get("extra") or {}
    number = extra.get("source_id") or row.get("url", "").rpartition("/")[2]
    missing = [key for key in ("content", "source", "scraped_at") if key not in row]
    missing += [] if str(extra.get("raw_time", "")).isdigit() else ["extra.raw_time"]
    missing += [] if str(number).isdigit() else ["extra.source_id"]
    if missing:
        raise Wrong(f"{where}: a flash lacks {', '.join(missing)}; it has {', '.join(row)}")
    published = datetime.datetime.fromtimestamp(int(extra["raw_time"]), SHANGHAI)
    return {
        "id": f"cls-{number}",
        "source": row["source"],
        "kind": "news",
        "published_at": published.strftime("%Y-%m-%d %H:%M:%S"),
        "ingested_at": moment(row["scraped_at"]),
        "codes": "",
        "title": "",
        "body": row["content"].strip(),
    }


def flashes(clone):
    """The flashes of all versions, each as it was first seen, in the order of publication. Some that lack a field are left out and
    counted; more than one in twenty is another layout."""
    seen, lacking, rows_read = {}, [], 0
    for commit, text in versions(clone):
        try:
            rows = json.loads(text)
        except ValueError:
            print(f"{commit[:9]}: no JSON, passed over", file=sys.stderr)
            continue
        if not isinstance(rows, list):
            raise Wrong(f"{commit[:9]}:{ARCHIVE} is no list of flashes")
        for row in rows:
            rows_read += 1
            try:
                document = flash(row, f"{commit[:9]}:{ARCHIVE}")
            except Wrong as wrong:
                lacking.append(wrong)
                continue
            if document["body"]:
                seen.setdefault(document["id"], document)
    if lacking:
        print(f"{len(lacking)} of {rows_read} rows left out, the first: {lacking[0]}", file=sys.stderr)
    if len(lacking) > 0.05 * rows_read:
        raise lacking[0]
    return write("flashes.jsonl", map(dumps, sorted(seen.values(), key=lambda d: (d["published_at"], d["id"]))))


# --- prices: a file a security, whose name is its code


def bars(clone, first):
    folder = pathlib.Path(clone) / "data"
    files = sorted(file for file in folder.glob("*.csv") if re.fullmatch(r"\d{6}", file.stem))
    if not files:
        raise Wrong(f"{folder} has no files such as 000001.csv: git clone https://github.com/Zhusongtong/StockTradebyZST")
    need = ["date", "open", "high", "low", "close", "volume"]
    yield "code," + ",".join(need)
    for file in files:
        with open(file, encoding="utf-8-sig", newline="") as opened:
            reader = csv.DictReader(opened)
            columns(file, reader.fieldnames or [], need)
            for row in reader:
                if row["date"] >= first:
                    if None in row.values():
                        raise Wrong(f"{file}:{reader.line_num}: the row has too few cells")
                    yield ",".join([file.stem] + [row[column] for column in need])


def columns(file, there, need):
    missing = [column for column in need if column not in there]
    if missing:
        raise Wrong(f"{file}: columns are missing: {', '.join(missing)}; the columns are {', '.join(there) or 'none'}")


# --- reports, posts, titles


def reports(file):
    text = whole(file)
    check_reports(file)
    return write("reports.csv", text.rstrip("\n").split("\n"))


def check_reports(file):
    csv.field_size_limit(1 << 24)
    with open(file, encoding="utf-8-sig", newline="") as opened:
        reader = csv.DictReader(opened)
        columns(file, reader.fieldnames or [], ["id", "text", "category", "rating"])
        for row in reader:
            if row["rating"] not in ("0", "1"):
                raise Wrong(f"{file}:{reader.line_num}: rating is {row['rating']!r}, not 0 or 1")
            if not re.search(r"20\d{2}-\d{2}-\d{2}", row["text"]):
                raise Wrong(f"{file}:{reader.line_num}: the text of report {row['id']} states no date such as 2009-10-31")
            if "[摘要]" not in row["text"]:
                raise Wrong(f"{file}:{reader.line_num}: the text of report {row['id']} has no line [摘要], behind which its body begins")


def moves(file):
    """Company news with the class of the move that followed, of a table with commas or tabs."""
    text = whole(file)
    delimiter = "\t" if "\t" in text.partition("\n")[0] else ","
    reader = csv.DictReader(text.splitlines(keepends=True), delimiter=delimiter)
    columns(file, reader.fieldnames or [], MOVES)
    made = io.StringIO()
    writer = csv.DictWriter(made, MOVES, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(dict(row, text_a=" ".join((row["text_a"] or "").split()), TITLE=" ".join((row["TITLE"] or "").split())) for row in reader)
    lines = made.getvalue().rstrip("\n").split("\n")
    check_moves(file, lines)
    return write("moves.csv", lines)


MOVES = ["CODE", "DATE", "label", "TITLE", "text_a"]


def check_moves(file, lines=None):
    reader = csv.DictReader(lines if lines is not None else whole(file).split("\n"))
    columns(file, reader.fieldnames or [], MOVES)
    for row in reader:
        if row["label"] not in ("0", "1", "2") or not re.match(r"\d{4}-\d{2}-\d{2}", row["DATE"] or ""):
            raise Wrong(f"{file}:{reader.line_num}: label {row['label']!r} and DATE {row['DATE']!r} are not such as 0 and 2019-07-01 02:24:00")


def whole(file):
    try:
        return pathlib.Path(file).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise Wrong(f"{file}: {error.strerror}") from None


def posts(file):
    """Posts without repeats; a text that has two labels is left out."""
    rows = load(file)
    labels = {}
    for number, row in enumerate(rows if isinstance(rows, list) else [None]):
        if not (isinstance(row, list) and len(row) == 2 and isinstance(row[0], str) and row[1] in (0, 1, 2)):
            raise Wrong(f"{file}: element {number} is not [text, 0, 1 or 2]: {dumps(row)[:80]}")
        labels.setdefault(" ".join(row[0].split()), set()).add(row[1])
    clear = [(text, label.pop()) for text, label in labels.items() if text and len(label) == 1]
    print(f"{len(rows)} posts, {len(rows) - len(labels)} repeats and {len(labels) - len(clear)} texts with two labels left out", file=sys.stderr)
    return write("posts.jsonl", (dumps({"id": f"post-{i}", "text": text, "label": str(label)}) for i, (text, label) in enumerate(clear, 1)))


def titles(file, classes):
    names, lines, made = whole(classes).split(), whole(file).splitlines(), []
    for number, line in enumerate(lines, 1):
        text, tab, label = line.rpartition("\t")
        if not tab or not label.isdigit() or int(label) >= len(names):
            raise Wrong(f"{file}:{number} is not a title, a tab and a class from 0 to {len(names) - 1}: {line[:60]!r}")
        made.append(dumps({"id": f"title-{number}", "text": text, "label": names[int(label)]}))
    return write("titles.jsonl", made)


def text(day):
    """All text without labels and times, for word vectors and encoders: nothing of it was published after DAY."""
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", day):
        raise Wrong(f"{day!r} is no day such as 2026-03-15")

    def rows():
        for name, key in (("flashes.jsonl", "body"), ("posts.jsonl", "text"), ("titles.jsonl", "text")):
            for row in jsonl(data() / name):
                if row.get("published_at", "")[:10] <= day:
                    yield dumps({"text": row[key]})

    return write("text.jsonl", rows())


def jsonl(file):
    try:
        with open(file, encoding="utf-8") as opened:
            for number, line in enumerate(opened, 1):
                try:
                    yield json.loads(line)
                except ValueError as error:
                    raise Wrong(f"{file}:{number} is no JSON: {error}") from None
    except OSError as error:
        raise Wrong(f"{file}: {error.strerror}") from None


# --- the layout of data/


def check_lines(file, need):
    count = 0
    for count, row in enumerate(jsonl(file), 1):
        missing = [key for key in need if not isinstance(row, dict) or not isinstance(row.get(key), str)]
        if missing:
            raise Wrong(f"{file}:{count} lacks {', '.join(missing)}")
        time = row.get("published_at")
        if "published_at" in need and not re.fullmatch(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}", time):
            raise Wrong(f"{file}:{count}: published_at is {time!r}, not such as 2026-03-15 09:30:00")
    if count == 0:
        raise Wrong(f"{file} is empty")


def check_prices(file):
    with open(file, encoding="utf-8-sig", newline="") as opened:
        reader = csv.DictReader(opened)
        columns(file, reader.fieldnames or [], ["code", "date", "open", "high", "low", "close", "volume"])
        for row in reader:
            if not re.fullmatch(r"\d{6}(\.[A-Z]{2})?", row["code"]) or not re.fullmatch(r"\d{4}-\d{2}-\d{2}", row["date"] or ""):
                raise Wrong(f"{file}:{reader.line_num}: code {row['code']!r} and date {row['date']!r} are not such as 000001 and 2026-03-15")


LAYOUT = {
    "flashes.jsonl": lambda file: check_lines(file, ["id", "published_at", "ingested_at", "body"]),
    "prices.csv": check_prices,
    "reports.csv": check_reports,
    "moves.csv": check_moves,
    "posts.jsonl": lambda file: check_lines(file, ["id", "text", "label"]),
    "titles.jsonl": lambda file: check_lines(file, ["id", "text", "label"]),
    "text.jsonl": lambda file: check_lines(file, ["text"]),
}


def check(*names):
    """Checks the files that are named, or all that are there; gives their number."""
    unknown = [name for name in names if name not in LAYOUT]
    if unknown:
        raise Wrong(f"no study reads {', '.join(unknown)}; the files are {', '.join(LAYOUT)}")
    wrong, fine = [], 0
    for name in names or [name for name in LAYOUT if (data() / name).exists()]:
        try:
            if not (data() / name).exists():
                raise Wrong(f"{data() / name} is missing: README.md says how it is made")
            LAYOUT[name](data() / name)
            fine += 1
            print(f"{name}: as expected", file=sys.stderr)
        except UnicodeDecodeError as error:
            wrong.append(f"{name} is not UTF-8: {error}")
        except Wrong as error:
            wrong.append(str(error))
    if wrong:
        raise Wrong("\n".join(wrong))
    if not fine:
        raise Wrong(f"{data()} has none of {', '.join(LAYOUT)}")
    return fine


# --- results as Markdown


def number(value, form):
    return "-" if value is None else format(value, form)


def table(*files):
    """Rows of factors (mean RankIC, its 95 % interval of 1.96 Newey-West errors), of the cells of experiments, and of `inkstone eval`
    (accuracy, its 95 % interval of 1.96 binomial errors, macro F1)."""
    for file in files:
        result = load(file)
        if "factors" in result:
            print("| factor | days | RankIC, 1 day | RankIC, 5 days | Sharpe after costs | deflated | looks | q | linter |\n|---|---|---|---|---|---|---|---|---|")
            for factor in result["factors"]:
                print("| " + " | ".join(factor_row(factor)) + " |")
        for experiment in result.get("experiments", []):
            print(f"| {experiment['name']} | {experiment['measure']} | 95 % | against the baseline | 95 % | p, corrected |\n|---|---|---|---|---|---|")
            for cell in sorted(experiment["cells"], key=lambda cell: -(cell["figure"] or 0)):
                print("| " + " | ".join(cell_row(cell)) + " |")
        if "accuracy" in result:
            share, documents = result["accuracy"], result["documents"]
            error = 1.96 * (share * (1 - share) / documents) ** 0.5
            print(f"| {pathlib.Path(file).stem} | {documents:,} | {share:.3f} [{share - error:.3f}, {share + error:.3f}] | {result['macro']['f1']:.3f} |")
    return len(files)


def factor_row(factor):
    looks, ics = factor["looks"], []
    for horizon in factor["ic"]:
        ic = horizon["rank_ic"]
        error = 1.96 * ic["mean"] / ic["t_nw"] if ic["t_nw"] else None
        ics.append("-" if error is None else f"{ic['mean']:+.3f} [{ic['mean'] - error:+.3f}, {ic['mean'] + error:+.3f}]")
    told = [f"{check['check']}: {check['standing']}" for check in factor["lint"] if check["standing"] in ("warned", "failed")]
    days = factor["ic"][0]["rank_ic"]["n"]
    return [factor["name"], str(days), *(ics + ["-"])[:2], number(looks["sharpe"], "+.2f"), number(looks["deflated_sharpe"], ".2f"),
            str(looks["trials"]), number(looks["q"], ".2f"), ", ".join(told) or "passed"]


def cell_row(cell):
    name = " · ".join(part for part in (cell["feature"], cell["setting"]) if part)
    span = lambda interval, sign="": f"[{interval['low']:{sign}.3f}, {interval['high']:{sign}.3f}]"
    against = cell.get("against")
    beside = [f"{against['difference']:+.3f}", span(against["interval"], "+"), f"{against['p_adjusted']:.3f}"] if against else ["baseline", "", ""]
    return [name, f"{cell['figure']:.3f}", span(cell["interval"]), *beside]


COMMANDS = {
    "flashes": (flashes, 1, 1), "prices": (lambda clone, first="2025-01-01": write("prices.csv", bars(clone, first)), 1, 2),
    "reports": (reports, 1, 1), "moves": (moves, 1, 1), "posts": (posts, 1, 1), "titles": (titles, 2, 2), "text": (text, 1, 1),
    "check": (check, 0, 99), "table": (table, 1, 99),
}


def main(arguments):
    if not arguments or arguments[0] not in COMMANDS:
        print(__doc__, file=sys.stderr)
        return 2
    command, least, most = COMMANDS[arguments[0]]
    if not least <= len(arguments) - 1 <= most:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        count = command(*arguments[1:])
    except Wrong as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if arguments[0] not in ("check", "table"):
        print(f"data/{arguments[0]}: {count:,} lines", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

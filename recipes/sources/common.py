"""What the scripts of this folder share: the last position, times, tries, and output that is all or nothing."""

import contextlib
import csv
import datetime
import json
import os
import sys
import time

SHANGHAI = datetime.timezone(datetime.timedelta(hours=8))
CLOSED = datetime.time(16, 0)  # Shanghai time after which the bar of a day does not change any more
TRIES = 3
PAUSE = float(os.environ.get("FETCH_PAUSE", "2"))  # seconds before the second try, doubled before the third


class Failed(Exception):
    """Why nothing was fetched, and the way out."""


def note(text):
    print(text, file=sys.stderr, flush=True)


def now():
    return datetime.datetime.now(SHANGHAI).replace(tzinfo=None)


def moment(value):
    """A Shanghai time without a zone, of text, a number of seconds since 1970, or a date of any library."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return datetime.datetime.fromtimestamp(value, SHANGHAI).replace(tzinfo=None)
    if isinstance(value, datetime.datetime):
        time = value
    elif isinstance(value, datetime.date):
        time = datetime.datetime.combine(value, datetime.time())
    else:
        text = str(value).strip()
        if text.isdigit() and len(text) == 8:
            text = f"{text[:4]}-{text[4:6]}-{text[6:]}"
        if text.endswith("Z"):
            text = text[:-1] + "+00:00"
        try:
            time = datetime.datetime.fromisoformat(text)
        except ValueError:
            raise Failed(f"{value!r} is no time") from None
    return time.astimezone(SHANGHAI).replace(tzinfo=None) if time.tzinfo else time


def since():
    """The greatest time that the project has (INKSTONE_SINCE); None at first."""
    text = os.environ.get("INKSTONE_SINCE", "").strip()
    try:
        return moment(text) if text else None
    except Failed:
        raise Failed(f"INKSTONE_SINCE is {text!r}, which is no time") from None


def days(first):
    """The days whose bars are wanted, first and last: those after the last one that the project has, else from `first` on. The bar
    of today is wanted once the market has closed for good."""
    last = since()
    begin = last.date() + datetime.timedelta(days=1) if last else moment(first).date()
    today = now()
    end = today.date() if today.time() >= CLOSED else today.date() - datetime.timedelta(days=1)
    return begin, end


@contextlib.contextmanager
def library():
    """What a library prints goes to stderr: stdout is for rows alone."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


def tried(what, call):
    """The result of a call to a server that may fail now and then."""
    pause = PAUSE
    for attempt in range(1, TRIES + 1):
        try:
            with library():
                return call()
        except Exception as error:  # libraries raise whatever their servers make them
            if attempt == TRIES:
                raise Failed(f"{what}: {type(error).__name__}: {error} ({TRIES} tries)") from error
            note(f"{what}: {type(error).__name__}: {error}; once more in {pause:.0f} s")
            time.sleep(pause)
            pause *= 2


def module(name):
    """A library that the user installs."""
    try:
        with library():
            return __import__(name)
    except ImportError as error:
        raise Failed(f"{name} cannot be imported ({error}): pip install {name}") from None


def rows(frame, need, what):
    """The rows of a data frame as dicts; columns that a new version of a library has renamed are named."""
    if frame is None:
        return []
    there = list(frame.columns)
    missing = [column for column in need if column not in there]
    if missing and len(frame):
        raise Failed(f"{what}: columns are missing: {', '.join(missing)}; the columns are {', '.join(map(str, there))}")
    return frame.to_dict("records")


def number(value):
    """A number as text, empty where there is none (None, NaN)."""
    return "" if value is None or value == "" or value != value else repr(float(value))


def print_documents(documents):
    """JSON lines, the oldest first, from the last position on. Documents of that moment are printed again: others of the same
    second may have come since, and the project knows those that it has by their ids."""
    last = since()
    kept = [d for d in documents if last is None or moment(d["published_at"]) >= last]
    kept.sort(key=lambda d: (d["published_at"], d["id"]))
    sys.stdout.write("".join(json.dumps(d, ensure_ascii=False) + "\n" for d in kept))
    sys.stdout.flush()
    note(f"{len(kept)} of {len(documents)} documents are new since {last or 'the beginning'}")


BAR = ["date", "code", "open", "high", "low", "close", "volume", "amount"]


def print_bars(bars):
    """CSV by date and code: prices in CNY, volume in shares, amount in CNY."""
    writer = csv.DictWriter(sys.stdout, BAR, lineterminator="\n")
    writer.writeheader()
    writer.writerows(sorted(bars, key=lambda bar: (bar["date"], bar["code"])))
    sys.stdout.flush()
    note(f"{len(bars)} bars")


def main(fetch):
    """Runs a script: rows to stdout once all of them are there; the reason to stderr and exit code 1 where they are not."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8")
    try:
        fetch(sys.argv[1:])
    except Failed as error:
        note(f"error: {error}")
        return 1
    return 0

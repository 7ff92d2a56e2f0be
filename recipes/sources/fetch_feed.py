"""Documents of an RSS or Atom feed, or of a JSON answer, by Python's standard library alone.

    python3 fetch_feed.py https://example.com/rss.xml
    python3 fetch_feed.py https://example.com/news.json --list data.items --id nid --time ctime --title title --body digest

--list is the path to the list of documents within the answer, the others are the names of its fields; a time is a text or a number of
seconds since 1970 (with --milliseconds of thousandths). JSON lines: id, published_at, title, body, org.
"""

import argparse
import datetime
import email.utils
import hashlib
import html
import json
import re
import urllib.parse
import urllib.request
import xml.etree.ElementTree

import common

MOST = 64 << 20  # bytes of an answer


def get(url):
    if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        raise common.Failed(f"{url} is no address of http or https")

    def call():
        request = urllib.request.Request(url, headers={"User-Agent": "Mozilla/5.0 (inkstone fetch_feed.py)"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            content = answer.read(MOST + 1)
        if len(content) > MOST:
            raise RuntimeError(f"the answer is longer than {MOST >> 20} MB")
        return content

    return common.tried(url, call)


def plain(text):
    """Text without the tags of HTML."""
    return html.unescape(re.sub(r"<[^>]*>", "", text or "")).strip()


def time_of(text, where):
    """A time as feeds write it: RFC 822 of RSS, RFC 3339 of Atom."""
    try:
        parsed = email.utils.parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return common.moment(text)
    if parsed.tzinfo is None:  # "-0000": a time of UTC whose place is unknown
        parsed = parsed.replace(tzinfo=datetime.timezone.utc)
    return common.moment(parsed)


def entries(content, url):
    """The documents of a feed."""
    if b"<!DOCTYPE" in content[:2000] or b"<!ENTITY" in content:
        raise common.Failed(f"{url} is a page or has entities of its own, no plain feed")
    try:
        root = xml.etree.ElementTree.fromstring(content)
    except xml.etree.ElementTree.ParseError as error:
        raise common.Failed(f"{url} is no XML: {error}") from None
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]  # whatever the namespace
    org = root.findtext("channel/title") or root.findtext("title") or ""
    for number, item in enumerate(root.findall(".//item") + root.findall(".//entry"), 1):
        link = item.find("link")
        address = (link.text or link.get("href") or "") if link is not None else ""
        time = item.findtext("pubDate") or item.findtext("published") or item.findtext("updated") or item.findtext("date")
        if not time:
            raise common.Failed(f"{url}: document {number} has no time (pubDate, published, updated, date)")
        body = item.findtext("encoded") or item.findtext("description") or item.findtext("content") or item.findtext("summary")
        yield document(item.findtext("guid") or item.findtext("id") or address, time_of(time.strip(), url), item.findtext("title"), body, org)


def items(content, url, asked):
    """The documents of a JSON answer."""
    try:
        value = json.loads(content)
    except ValueError as error:
        raise common.Failed(f"{url} is no JSON: {error}") from None
    for step in filter(None, asked.list.split(".")):
        if not isinstance(value, dict) or step not in value:
            raise common.Failed(f"{url}: there is no {step!r} of --list {asked.list}; the fields are {', '.join(value) if isinstance(value, dict) else type(value).__name__}")
        value = value[step]
    if not isinstance(value, list):
        raise common.Failed(f"{url}: --list {asked.list!r} leads to no list")
    for number, row in enumerate(value, 1):
        missing = [name for name in (asked.time, asked.body) if row.get(name) in (None, "")]
        if missing:
            raise common.Failed(f"{url}: document {number} has no {', '.join(missing)}; its fields are {', '.join(row)}")
        time = row[asked.time]
        if isinstance(time, str) and time.isdigit() and len(time) != 8:
            time = int(time)
        if asked.milliseconds:
            time = float(time) / 1000
        yield document(row.get(asked.id, "") if asked.id else "", common.moment(time), row.get(asked.title), row[asked.body], asked.org)


def document(identity, published, title, body, org):
    title, body = plain(title), plain(body)
    identity = str(identity) or hashlib.sha256(f"{published}\n{title}\n{body}".encode()).hexdigest()[:16]
    return {"id": identity, "published_at": str(published)[:19], "title": title, "body": body, "org": org}


def fetch(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    for name in ("list", "id", "time", "title", "body", "org"):
        parser.add_argument(f"--{name}", default="")
    parser.add_argument("--milliseconds", action="store_true")
    asked = parser.parse_args(arguments)
    content = get(asked.url)
    if asked.time or asked.body:
        if not (asked.time and asked.body):
            parser.error("a JSON answer needs --time and --body")
        made = items(content, asked.url, asked)
    else:
        made = entries(content, asked.url)
    common.print_documents([d for d in made if d["title"] or d["body"]])


if __name__ == "__main__":
    raise SystemExit(common.main(fetch))

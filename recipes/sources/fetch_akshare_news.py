"""News by akshare (pip install akshare): the flashes of 财联社, or the news of 东方财富 about some securities.

    python3 fetch_akshare_news.py                      flashes: the last ones that the site shows, so fetch often
    python3 fetch_akshare_news.py 600519 000001        up to 100 news of each security

JSON lines: id, published_at, codes, title, body, org.
"""

import hashlib

import common


def key(*parts):
    """An id made of what a document says, where the library gives none."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def flashes(ak):
    frame = common.tried("stock_info_global_cls", lambda: ak.stock_info_global_cls(symbol="全部"))
    for row in common.rows(frame, ["标题", "内容", "发布日期", "发布时间"], "stock_info_global_cls"):
        published = common.moment(f"{row['发布日期']} {row['发布时间']}")
        body = str(row["内容"]).strip()
        yield {"id": key(str(published), body), "published_at": str(published), "codes": "", "title": str(row["标题"] or ""), "body": body, "org": "财联社"}


def news(ak, code):
    frame = common.tried(f"stock_news_em {code}", lambda: ak.stock_news_em(symbol=code))
    for row in common.rows(frame, ["新闻标题", "新闻内容", "发布时间", "文章来源", "新闻链接"], f"stock_news_em {code}"):
        published = common.moment(row["发布时间"])
        yield {"id": key(str(row["新闻链接"]), code), "published_at": str(published), "codes": code, "title": str(row["新闻标题"]),
               "body": str(row["新闻内容"]).strip(), "org": str(row["文章来源"])}


def fetch(codes):
    ak = common.module("akshare")
    documents = [document for code in codes for document in news(ak, code)] if codes else list(flashes(ak))
    if not documents:
        raise common.Failed("akshare gave no document: the site may have changed; pip install --upgrade akshare")
    common.print_documents(documents)


if __name__ == "__main__":
    raise SystemExit(common.main(fetch))

//! HTML files: title, time of publication and main text of a saved page.
//!
//! The main text is that of `article` or `main` where a page has them, else all of it; without scripts, styles, navigation,
//! footers, forms, and without lines that are links and nothing else. A row of a table is a line with a space between cells,
//! unless its cells hold whole paragraphs, as in pages that are laid out by tables. (Markup inside texts of other formats is
//! taken off by `clean`, which must not take a `<` of a text for a tag; here everything is markup.)

use std::io::Cursor;
use std::sync::LazyLock;

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};
use regex::Regex;

use super::dates::{self, Dated, Origin};
use super::flow::{Flow, FlowedText};
use super::quality::Census;
use super::{Limits, Paper, Refused};
use crate::clean::BLOCKS;
use crate::ingest::{reason, times};
use inkstone_base::encoding::{self, Charset, Encoded};
use inkstone_base::limits;

/// Elements whose text does not belong to the page.
const HIDDEN: [&str; 15] = [
    "script", "style", "noscript", "template", "svg", "math", "iframe", "object", "select", "button", "textarea",
    "canvas", "audio", "video", "datalist",
];
/// Elements around the main text.
const AROUND: [&str; 4] = ["nav", "footer", "aside", "form"];
/// Classes and ids of other elements around the main text, as whole words.
const AROUND_NAMES: [&str; 22] = [
    "nav",
    "navbar",
    "navigation",
    "menu",
    "topbar",
    "top-bar",
    "footer",
    "foot",
    "sidebar",
    "side-bar",
    "breadcrumb",
    "breadcrumbs",
    "crumbs",
    "copyright",
    "share",
    "related",
    "recommend",
    "comments",
    "comment",
    "pagination",
    "pager",
    "ad",
];
/// Elements without an end.
const VOID: [&str; 14] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"];
/// Elements that end a line, besides [`BLOCKS`].
const OTHER_BLOCKS: [&str; 5] = ["caption", "fieldset", "tbody", "tfoot", "thead"];
/// Names of `meta` elements that say when a page was published.
const PUBLISHED: [&str; 15] = [
    "article:published_time",
    "og:published_time",
    "og:article:published_time",
    "article:create_at",
    "weibo:article:create_at",
    "datepublished",
    "publishdate",
    "publish_date",
    "publish-date",
    "publishtime",
    "pubdate",
    "pubtime",
    "_pubtime",
    "dc.date.issued",
    "apub:time",
];

/// The encoding that a page declares.
static DECLARED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?i)<meta[^>]{0,200}charset\s*=\s*["']?\s*([A-Za-z0-9_-]+)"#).expect("a valid expression")
});
/// The time of publication in a page's linked data.
static LINKED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#""datePublished"\s*:\s*"([^"]{8,40})""#).expect("a valid expression"));
/// A date with a time of day in running text.
static MOMENT: LazyLock<Regex> = LazyLock::new(|| {
    let form = r"((?:19|20)\d{2}\s*(?:年|[-/.])\s*\d{1,2}\s*(?:月|[-/.])\s*\d{1,2}\s*日?)\s*(\d{1,2}:\d{2}(?::\d{2})?)";
    Regex::new(form).expect("a valid expression")
});

/// Lines at the head of a page in which its time of publication may stand.
const HEAD_LINES: usize = 30;

pub(super) fn read(bytes: &[u8], name: &str, declared: Option<Charset>, limits: &Limits) -> Result<Paper, Refused> {
    if bytes.len() > limits::RECORD {
        return Err(Refused::new(reason::RECORD_TOO_LONG, ""));
    }
    let (html, encoding) = decode(bytes, declared)?;
    let mut page = HtmlPage::read(&html, true);
    if page.text.body.is_empty() {
        // An element around the text that is never closed would hide all that follows.
        page = HtmlPage::read(&html, false);
    }
    let title = [&page.social_title, &page.heading, &page.title].into_iter().find(|t| !t.is_empty()).cloned();
    let title = title.unwrap_or_default();
    let mut lines: Vec<&str> = page.text.body.lines().collect();
    let published_at = page.published_at(name, &lines);
    if lines.first() == Some(&title.as_str()) {
        lines.remove(0);
    }
    let body = lines.join("\n");
    let mut census = Census::default();
    census.add(&title);
    census.add(&body);
    let quality = census.quality(1, usize::from(body.is_empty()));
    limits.check_quality(&quality, 0)?;
    let author = page.author.filter(|a| !a.is_empty());
    Ok(Paper { title, body, published_at, author, encoding: Some(encoding), quality, ..Paper::default() })
}

/// The page as text, and the name of its encoding: by its mark, its `meta` element, or its looks. Broken characters are counted
/// and stay, as browsers show such pages.
fn decode(bytes: &[u8], declared: Option<Charset>) -> Result<(String, String), Refused> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]);
    let meta = DECLARED.captures(&head).and_then(|found| Charset::for_label(&found[1])).filter(|c| !c.is_utf16());
    let marked = [&b"\xef\xbb\xbf"[..], b"\xff\xfe", b"\xfe\xff"].iter().any(|mark| bytes.starts_with(mark));
    let known = declared.or(meta).filter(|c| !marked && c.decode(bytes).is_some());
    let encoded = match known {
        Some(charset) => Encoded { name: charset.name().to_owned(), by: "declared".to_owned(), sure: 1.0, bom: false },
        None => encoding::detect(&mut Cursor::new(bytes), None).or_else(|error| match declared.or(meta) {
            Some(charset) => {
                Ok(Encoded { name: charset.name().to_owned(), by: "declared".to_owned(), sure: 0.0, bom: false })
            }
            None => Err(Refused::new(format!("{error:#}"), "")),
        })?,
    };
    let (charset, content) = (encoded.charset(), &bytes[encoded.bom_len() as usize..]);
    let mut utf8 = Vec::new();
    if charset.is_utf16() {
        let read = std::io::Read::read_to_end(&mut encoding::Utf16Reader::new(content, charset), &mut utf8);
        read.map_err(|error| Refused::new(reason::not_in(charset.name()), error.to_string()))?;
    }
    let content = if charset.is_utf16() { &utf8 } else { content };
    Ok((charset.decode_lossy(content), encoded.name))
}

#[derive(Default)]
struct HtmlPage {
    title: String,
    heading: String,
    social_title: String,
    author: Option<String>,
    published: Vec<String>,
    text: FlowedText,
}

impl HtmlPage {
    /// Reads a page, with or without what stands around its main text.
    fn read(html: &str, main_only: bool) -> HtmlPage {
        let mut page = HtmlPage::default();
        let mut flow = Flow::default();
        let mut hidden: Option<(String, usize)> = None;
        let mut captured: Option<(&'static str, String)> = None;
        let mut emitter = DefaultEmitter::default();
        emitter.naively_switch_states(true);
        for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
            match token {
                Token::StartTag(tag) => {
                    let name = String::from_utf8_lossy(&tag.name).into_owned();
                    if let Some((inside, depth)) = &mut hidden {
                        *depth += usize::from(*inside == name && !tag.self_closing);
                        continue;
                    }
                    page.note(&name, &tag);
                    let closed = tag.self_closing || VOID.contains(&name.as_str());
                    let around = main_only && is_around(&name, &tag);
                    if !closed && (HIDDEN.contains(&name.as_str()) || around) {
                        flow.end_line();
                        hidden = Some((name, 1));
                        continue;
                    }
                    match name.as_str() {
                        "title" if page.title.is_empty() => captured = Some(("title", String::new())),
                        "h1" if page.heading.is_empty() => captured = Some(("h1", String::new())),
                        _ => {}
                    }
                    open(&mut flow, &name);
                }
                Token::EndTag(tag) => {
                    let name = String::from_utf8_lossy(&tag.name).into_owned();
                    if let Some((inside, depth)) = &mut hidden {
                        if *inside == name {
                            *depth -= 1;
                            hidden = hidden.filter(|(_, depth)| *depth > 0);
                        }
                        continue;
                    }
                    if let Some((element, text)) = captured.take_if(|(element, _)| *element == name) {
                        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                        *(if element == "title" { &mut page.title } else { &mut page.heading }) = text;
                    }
                    close(&mut flow, &name);
                }
                Token::String(text) => {
                    let text = String::from_utf8_lossy(&text.value);
                    match (&hidden, &mut captured) {
                        (Some((inside, _)), _) => {
                            if inside == "script" {
                                page.published.extend(LINKED.captures(&text).map(|found| found[1].to_owned()));
                            }
                        }
                        (None, Some((element, title))) => {
                            title.push_str(&text);
                            if *element == "h1" {
                                flow.text(&text);
                            }
                        }
                        (None, None) => flow.text(&text),
                    }
                }
                _ => {}
            }
        }
        page.text = flow.finish();
        page
    }

    fn note(&mut self, name: &str, tag: &StartTag<()>) {
        if name == "meta" {
            let key = ["property", "name", "itemprop"].iter().find_map(|k| attribute(tag, k)).unwrap_or_default();
            let Some(content) = attribute(tag, "content") else { return };
            match key.to_ascii_lowercase().replace(' ', "").as_str() {
                "og:title" => self.social_title = content,
                "author" | "article:author" => self.author = self.author.take().or(Some(content)),
                key if PUBLISHED.contains(&key) => self.published.push(content),
                _ => {}
            }
        } else if name == "time" && self.published.is_empty() {
            self.published.extend(attribute(tag, "datetime"));
        }
    }

    /// The latest time that the page's own marks give, else the latest of its head and its file's name.
    fn published_at(&self, name: &str, lines: &[&str]) -> Option<Dated> {
        let marked = self.published.iter().filter_map(|text| times::parse(text).ok()).map(|m| m.time).max();
        if let Some(time) = marked {
            return Some(Dated { time, origin: Origin::Metadata });
        }
        let head = &lines[..lines.len().min(HEAD_LINES)];
        let moment = head
            .iter()
            .filter_map(|line| MOMENT.captures(line))
            .filter_map(|found| {
                let date: String = found[1].chars().filter(|c| !c.is_whitespace()).collect();
                times::parse(&format!("{date} {}", &found[2])).ok()
            })
            .map(|m| m.time)
            .max();
        let stated = dates::published_at(name, head, &[]);
        match moment {
            // A day without a time says less of the same day.
            Some(time) if stated.is_none_or(|s| s.time.date() <= time.date()) => {
                Some(Dated { time, origin: Origin::Text })
            }
            _ => stated,
        }
    }
}

fn attribute(tag: &StartTag<()>, name: &str) -> Option<String> {
    let value = tag.attributes.iter().find(|(key, _)| key.as_slice() == name.as_bytes())?.1;
    Some(String::from_utf8_lossy(&value.value).trim().to_owned())
}

fn is_around(name: &str, tag: &StartTag<()>) -> bool {
    if AROUND.contains(&name) {
        return true;
    }
    if !matches!(name, "div" | "ul" | "ol" | "section" | "p" | "span" | "table" | "header") {
        return false;
    }
    let named = ["class", "id"]
        .iter()
        .filter_map(|key| attribute(tag, key))
        .any(|value| value.split_whitespace().any(|word| AROUND_NAMES.contains(&word.to_ascii_lowercase().as_str())));
    named || attribute(tag, "role").is_some_and(|role| matches!(role.as_str(), "navigation" | "contentinfo" | "search"))
}

fn open(flow: &mut Flow, name: &str) {
    match name {
        "table" => flow.open_table(),
        "tr" => flow.open_row(),
        "td" | "th" => flow.open_cell(),
        "article" | "main" => flow.open_main(),
        "a" => flow.open_link(),
        name if BLOCKS.contains(&name) || OTHER_BLOCKS.contains(&name) => flow.end_line(),
        _ => {}
    }
}

fn close(flow: &mut Flow, name: &str) {
    match name {
        "table" => flow.close_table(),
        "tr" => flow.close_row(),
        "td" | "th" => flow.close_cell(),
        "article" | "main" => flow.close_main(),
        "a" => flow.close_link(),
        name if BLOCKS.contains(&name) || OTHER_BLOCKS.contains(&name) => flow.end_line(),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { max_pages: 10, max_garbled: 0.1 };

    fn paper(html: &str) -> Paper {
        read(html.as_bytes(), "page", None, &LIMITS).unwrap()
    }

    fn time(html: &str) -> Option<(String, Origin)> {
        paper(html).published_at.map(|d| (d.time.to_string(), d.origin))
    }

    #[test]
    fn the_main_text_stays_and_what_stands_around_it_goes() {
        let read = paper(
            r#"<!doctype html><html><head><title>产能投放_某某网</title><style>p{color:red}</style></head><body>
            <nav><a href=/>首页</a> 财经</nav><div class="x footer">版权所有</div><h1>产能投放</h1><script>var a='<p>不读</p>'</script>
            <p>公司公告&amp;说明：净利润<b>增长</b>20%，
            市盈率&lt;15倍。</p><ul><li><a href=1>更多</a> <a href=2>推荐阅读</a></li><li>第二点</li></ul>
            <table><tr><th>项目</th><th>2023A</th></tr><tr><td><p>收入</p></td><td>8.5</td></tr></table></body></html>"#,
        );
        assert_eq!(read.title, "产能投放");
        assert_eq!(read.body, "公司公告&说明：净利润增长20%，市盈率<15倍。\n第二点\n项目 2023A\n收入 8.5");
        assert_eq!((read.quality.unmapped, read.quality.garbled, read.encoding.as_deref()), (0.0, 0.0, Some("UTF-8")));
    }

    #[test]
    fn an_article_is_the_page_and_an_unclosed_footer_hides_nothing() {
        let long = "正文一句话。".repeat(20);
        assert_eq!(paper(&format!("<body><p>热点</p><article><p>{long}</p></article><p>热点</p></body>")).body, long);
        assert_eq!(paper("<footer><p>正文</p>").body, "正文");
    }

    #[test]
    fn pages_laid_out_by_tables_keep_their_paragraphs() {
        let (one, two) = ("第一段。".repeat(30), "第二段。".repeat(30));
        let html = format!(
            "<table><tr><td>栏目</td><td><p>{one}</p><p>{two}</p><table><tr><td>甲</td><td>1</td></tr></table></td></tr></table>"
        );
        assert_eq!(paper(&html).body, format!("栏目\n{one}\n{two}\n甲 1"));
    }

    #[test]
    fn a_page_nested_without_end_is_read_as_far_as_pages_go() {
        let table = "<table><tr><td>".repeat(300_000);
        assert_eq!(paper(&format!("<p>第一段。</p>{table}末段。")).body, "第一段。\n末段。");
        let blocks = "<div><article>".repeat(300_000);
        assert_eq!(paper(&format!("{blocks}正文。")).body, "正文。");
    }

    #[test]
    fn the_time_is_of_the_marks_then_of_the_text() {
        let meta =
            r#"<meta property="article:published_time" content="2024-03-01T01:30:00Z"><p>2024年3月5日 10:00</p>"#;
        assert_eq!(time(meta), Some(("2024-03-01 09:30:00".into(), Origin::Metadata)));
        let mark = r#"<p>正文</p><time datetime="2024-03-02 08:00">昨天</time><time datetime="2023-01-01">x</time>"#;
        assert_eq!(time(mark), Some(("2024-03-02 08:00:00".into(), Origin::Metadata)));
        let linked =
            r#"<script type="application/ld+json">{"datePublished": "2024-03-03T08:00:00+08:00"}</script><p>正文</p>"#;
        assert_eq!(time(linked), Some(("2024-03-03 08:00:00".into(), Origin::Metadata)));
        assert_eq!(
            time("<p>2024年03月04日 07:05 来源：某某报</p>"),
            Some(("2024-03-04 07:05:00".into(), Origin::Text))
        );
        assert_eq!(time("<p>2024-03-04</p>"), Some(("2024-03-04 23:59:59".into(), Origin::Text)));
        assert_eq!(time("<p>正文</p>"), None);
    }

    #[test]
    fn the_encoding_is_as_declared_and_a_broken_byte_costs_one_character() {
        let html = "<meta charset=gb2312><title>产能投放</title><p>公司净利润同比增长，订单充足，产能释放。</p>";
        let mut bytes = encoding_rs::GB18030.encode(html).0.into_owned();
        let parsed_page = read(&bytes, "page", None, &LIMITS).unwrap();
        assert_eq!((parsed_page.title.as_str(), parsed_page.encoding.as_deref()), ("产能投放", Some("gb18030")));
        let at = bytes.len() - 6;
        bytes[at] = 0xff;
        let broken = read(&bytes, "page", None, &LIMITS).unwrap();
        assert!(broken.body.starts_with("公司净利润同比增长") && broken.quality.unmapped > 0.0, "{broken:?}");
        let refused = read("<p>ÖÐ¹úÆ½°²£º¾»ÀûÈóÔö³¤</p>".as_bytes(), "page", None, &LIMITS).unwrap_err();
        assert_eq!(refused.reason, reason::too_garbled(0.1));
    }
}

//! Removes HTML and XML markup from a text, without mistaking a `<` of the text for a tag.
//!
//! `PE<20倍` and `PE<PB and PB>1` are text. A tag is `<`, a name, attributes and `>`, and it must show that it is one:
//! by a name of HTML, a prefix (`o:p`), a closing form, a quoted attribute, or a closing tag of the same name further on.
//! An attribute has a value or is one of those that stand alone in HTML. Entities are decoded when they end with `;`
//! (`&nbsp` also without). Contents of scripts and styles go; those of everything else stay. Blocks end a line, table
//! cells a word.

use std::borrow::Cow;
use std::collections::BTreeSet;

/// Elements that end a line in pages and in texts with markup.
pub(crate) const BLOCKS: [&str; 29] = [
    "address",
    "article",
    "blockquote",
    "body",
    "br",
    "center",
    "dd",
    "div",
    "dl",
    "dt",
    "figcaption",
    "figure",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "ol",
    "option",
    "p",
    "pre",
    "section",
    "title",
    "ul",
];
/// Further elements that end a line in texts with markup.
const OTHER_BLOCKS: [&str; 7] = ["aside", "footer", "form", "html", "nav", "table", "tr"];
/// Elements that end a word.
const CELLS: [&str; 2] = ["td", "th"];
/// Elements inside a line.
const INLINE: [&str; 54] = [
    "a", "abbr", "acronym", "area", "b", "base", "big", "button", "caption", "cite", "code", "col", "colgroup", "del",
    "em", "embed", "fieldset", "font", "frame", "head", "i", "iframe", "img", "input", "ins", "kbd", "label", "legend",
    "link", "map", "mark", "marquee", "meta", "noscript", "object", "param", "q", "s", "script", "select", "small",
    "source", "span", "strike", "strong", "style", "sub", "sup", "svg", "tbody", "tfoot", "thead", "u", "video",
];
/// Attributes without a value.
const BARE: [&str; 10] =
    ["async", "checked", "controls", "defer", "disabled", "hidden", "noshade", "nowrap", "readonly", "selected"];

/// The text without its markup; borrowed when there is none.
pub(super) fn strip(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    if text.contains('<') {
        text = Cow::Owned(Stripper::new(&text).strip());
    }
    if text.contains('&') {
        let spaced = text.replace("&nbsp;", " ").replace("&nbsp", " ");
        text = Cow::Owned(html_escape::decode_html_entities(&spaced).into_owned());
    }
    text
}

struct Tag<'a> {
    name: Cow<'a, str>,
    closing: bool,
    /// Something besides the name shows that this is a tag.
    evident: bool,
    len: usize,
}

struct Stripper<'a> {
    text: &'a str,
    /// Names of the closing tags in the text.
    closed: BTreeSet<String>,
    /// Ends that were looked for in vain and are not looked for again, so that the time stays linear.
    missing: Vec<&'static str>,
}

impl<'a> Stripper<'a> {
    fn new(text: &'a str) -> Stripper<'a> {
        let closing = text.match_indices("</").filter_map(|(at, _)| name_at(&text[at + 2..]));
        Stripper { text, closed: closing.map(str::to_ascii_lowercase).collect(), missing: Vec::new() }
    }

    fn strip(mut self) -> String {
        let mut stripped = String::with_capacity(self.text.len());
        let mut done = 0;
        while let Some(found) = self.text[done..].find('<') {
            let at = done + found;
            stripped.push_str(&self.text[done..at]);
            done = match self.markup_at(at) {
                Some((end, instead)) => {
                    stripped.push_str(instead);
                    end
                }
                None => {
                    stripped.push('<');
                    at + 1
                }
            };
        }
        stripped.push_str(&self.text[done..]);
        stripped
    }

    /// End of the markup that begins at `at`, and the text that replaces it; `None` if it is text.
    fn markup_at(&mut self, at: usize) -> Option<(usize, &'a str)> {
        let rest = &self.text[at..];
        if rest.starts_with("<!--") {
            let end = self.find(at + 4, "-->").map_or(at + 4, |end| end + 3);
            return Some((end, ""));
        }
        if rest.starts_with("<![CDATA[") {
            let inside = at + 9;
            return Some(match self.find(inside, "]]>") {
                Some(end) => (end + 3, &self.text[inside..end]),
                None => (inside, ""),
            });
        }
        if rest.starts_with("<!") || rest.starts_with("<?") {
            name_at(&rest[2..])?;
            let end = self.find(at, ">")?;
            return Some((end + 1, ""));
        }
        let tag = self.tag_at(at)?;
        let name = tag.name.as_ref();
        let end = at + tag.len;
        for (raw, closing) in [("script", "</script"), ("style", "</style")] {
            if name == raw && !tag.closing {
                let contents_end = self.find(end, closing).and_then(|close| self.find(close, ">"));
                return Some((contents_end.map_or(end, |close| close + 1), ""));
            }
        }
        if BLOCKS.contains(&name) || OTHER_BLOCKS.contains(&name) {
            Some((end, "\n"))
        } else if CELLS.contains(&name) {
            Some((end, " "))
        } else if INLINE.contains(&name) || tag.evident || self.closed.contains(name) {
            Some((end, ""))
        } else {
            None
        }
    }

    /// A tag by its form alone.
    fn tag_at(&mut self, at: usize) -> Option<Tag<'a>> {
        let text = self.text;
        let bytes = text.as_bytes();
        let closing = bytes.get(at + 1) == Some(&b'/');
        let mut i = at + 1 + usize::from(closing);
        let name = name_at(&text[i..])?;
        i += name.len();
        let mut evident = closing || name.contains(':');
        loop {
            let spaced = bytes.get(i).is_some_and(u8::is_ascii_whitespace);
            while bytes.get(i).is_some_and(u8::is_ascii_whitespace) {
                i += 1;
            }
            match bytes.get(i)? {
                b'>' => break,
                b'/' if bytes.get(i + 1) == Some(&b'>') => {
                    evident = true;
                    i += 1;
                    break;
                }
                _ if !spaced => return None,
                _ => {}
            }
            let attribute = name_at(&text[i..])?;
            i += attribute.len();
            if bytes.get(i) != Some(&b'=') {
                if BARE.contains(&attribute.to_ascii_lowercase().as_str()) {
                    continue;
                }
                return None;
            }
            i += 1;
            i = match bytes.get(i)? {
                b'"' => self.find(i + 1, "\"")? + 1,
                b'\'' => self.find(i + 1, "'")? + 1,
                _ => i + text[i..].find(|c: char| c.is_ascii_whitespace() || matches!(c, '>' | '<' | '"' | '\''))?,
            };
            evident = true;
        }
        let name = match name.chars().any(|c| c.is_ascii_uppercase()) {
            true => Cow::Owned(name.to_ascii_lowercase()),
            false => Cow::Borrowed(name),
        };
        Some(Tag { name, closing, evident, len: i + 1 - at })
    }

    /// Place of the next `end` (ASCII, in either case).
    fn find(&mut self, from: usize, end: &'static str) -> Option<usize> {
        if self.missing.contains(&end) {
            return None;
        }
        let bytes = &self.text.as_bytes()[from..];
        let found = bytes.windows(end.len()).position(|window| window.eq_ignore_ascii_case(end.as_bytes()));
        if found.is_none() {
            self.missing.push(end);
        }
        Some(from + found?)
    }
}

/// The name of an element or attribute that `text` begins with.
fn name_at(text: &str) -> Option<&str> {
    let letter = |b: u8| b.is_ascii_alphabetic();
    let len = text.bytes().take_while(|&b| letter(b) || b.is_ascii_digit() || matches!(b, b':' | b'_' | b'-')).count();
    text.bytes().next().is_some_and(letter).then(|| &text[..len])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_with_angle_brackets_stays() {
        for text in [
            "PE<20倍且ROE>15%",
            "《关于A<B的说明》",
            "若PE<PB and PB>1",
            "x <y z> w",
            "<重要>通知",
            "3<5",
            "<",
            "a</",
            "<未完",
        ] {
            assert_eq!(strip(text), text);
        }
    }

    #[test]
    fn tags_go_and_blocks_end_lines() {
        assert_eq!(strip("<P class=\"a\">公司<b>大幅</b>增长</P>点评"), "\n公司大幅增长\n点评");
        assert_eq!(strip("<td nowrap>收入</td><td width=50>12</td>"), " 收入  12 ");
        assert_eq!(strip("一<br/>二<o:p></o:p><note>三</note><img src='a>b.png'/>四"), "一\n二三四");
    }

    #[test]
    fn scripts_comments_and_declarations_go_with_their_contents() {
        assert_eq!(strip("<!DOCTYPE html><script>if (a<b) {}</SCRIPT>文<!-- 注 <b> -->字<style>p{}</style>"), "文字");
        assert_eq!(strip("<?xml version=\"1.0\"?><![CDATA[利润 < 成本]]>"), "利润 < 成本");
        // An element that is never closed loses its opening tag only.
        assert_eq!(strip("<script>正文还在<!-- 也在"), "正文还在 也在");
    }

    #[test]
    fn entities_are_decoded_when_they_are_entities() {
        assert_eq!(strip("A&amp;B&nbsp;C&nbsp&#20013;&lt;5"), "A&B C 中<5");
        assert_eq!(strip("AT&T 研发（R&D）；&不是;"), "AT&T 研发（R&D）；&不是;");
    }
}

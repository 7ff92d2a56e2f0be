//! Text files: a few `标题:` lines at the head are fields, the rest is the body.

use std::io::Cursor;

use super::quality::Census;
use super::{Paper, Refused};
use crate::ingest::reason;
use inkstone_base::encoding::{self, Charset};
use inkstone_base::limits;

/// Names of the head lines, by column.
const HEAD: &[(&str, &[&str])] = &[
    ("title", &["标题", "题目", "title"]),
    ("published_at", &["时间", "日期", "发布时间", "发布日期", "date", "time", "published_at"]),
    ("codes", &["代码", "证券代码", "股票代码", "code", "codes"]),
    ("author", &["作者", "研究员", "分析师", "author"]),
    ("org", &["机构", "来源", "org"]),
    ("rating", &["评级", "投资评级", "rating"]),
];

pub(super) fn read(bytes: &[u8], declared: Option<Charset>) -> Result<Paper, Refused> {
    if bytes.len() > limits::RECORD {
        return Err(Refused::new(reason::RECORD_TOO_LONG, ""));
    }
    let (text, encoding) = decode(bytes, declared)?;
    let mut census = Census::default();
    census.add(&text);
    let (head, body) = split_head(&text);
    Ok(Paper { body, head, encoding: Some(encoding), quality: census.quality(1, 0), ..Paper::default() })
}

/// The text of a file, strictly, and the name of its encoding.
fn decode(bytes: &[u8], declared: Option<Charset>) -> Result<(String, String), Refused> {
    let encoded =
        encoding::detect(&mut Cursor::new(bytes), declared).map_err(|error| Refused::new(format!("{error:#}"), ""))?;
    let charset = encoded.charset();
    let content = &bytes[encoded.bom_len() as usize..];
    let mut utf8 = Vec::new();
    let text = if charset.is_utf16() {
        let read = std::io::Read::read_to_end(&mut encoding::Utf16Reader::new(content, charset), &mut utf8);
        read.ok().and_then(|_| charset.decode(&utf8))
    } else {
        charset.decode(content)
    };
    match text {
        Some(text) => Ok((text.into_owned(), encoded.name)),
        None => Err(Refused::new(reason::not_in(charset.name()), charset.decode_lossy(content))),
    }
}

fn split_head(text: &str) -> (Vec<(String, String)>, String) {
    let mut head = Vec::new();
    let mut rest = text;
    while let Some((line, after)) = rest.split_once('\n')
        && let Some((name, value)) = line.split_once([':', '：'])
        && let Some((column, _)) = HEAD.iter().find(|(_, names)| names.contains(&name.trim()))
    {
        head.push(((*column).to_owned(), value.trim().to_owned()));
        rest = after;
    }
    (head, rest.trim_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_lines_are_fields_and_the_rest_is_the_body() {
        let gbk = encoding_rs::GBK.encode("标题：产能投放\n日期: 2024-03-01\n\n第一段：净利润增长。\n第二段").0;
        let paper = read(&gbk, None).unwrap();
        let head: Vec<(&str, &str)> = paper.head.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(head, [("title", "产能投放"), ("published_at", "2024-03-01")]);
        assert_eq!(paper.body, "第一段：净利润增长。\n第二段");
        assert_eq!(paper.encoding.as_deref(), Some("gb18030"));
    }
}

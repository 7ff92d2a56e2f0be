//! Word documents (Office Open XML): the text of the body, without footnotes, comments, headers and deleted text.

use std::io::{Cursor, Read};

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use zip::ZipArchive;

use super::dates;
use super::flow::Flow;
use super::pdf::sensible_title;
use super::quality::Census;
use super::{Limits, Paper, Refused};
use crate::ingest::reason;
use inkstone_base::limits;

/// Characters of a first paragraph that may be a title.
const TITLE: usize = 60;

pub(super) fn read(bytes: &[u8], name: &str, limits: &Limits) -> Result<Paper, Refused> {
    // An encrypted document is no archive but a compound file.
    if bytes.starts_with(b"\xd0\xcf\x11\xe0") {
        return Err(Refused::new(reason::ENCRYPTED, "or a .doc file of before 2007"));
    }
    let damaged = |error: &dyn std::fmt::Display| Refused::new(reason::DAMAGED_DOCX, error.to_string());
    limits::check_archive(bytes).map_err(|error| damaged(&error))?;
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| damaged(&error))?;
    let size = bytes.len() as u64;
    let xml = part(&mut archive, "word/document.xml", size)?;
    check_depth(&xml)?;
    let document = DocxBody::read(&xml).map_err(|error| damaged(&error))?;
    drop(xml);
    let record = match part(&mut archive, "docProps/core.xml", size) {
        Ok(xml) => CoreProperties::read(&xml).unwrap_or_default(),
        Err(_) => CoreProperties::default(),
    };
    let head: Vec<&str> = document.body.lines().take(20).collect();
    let published_at = dates::published_at(name, &head, &record.made_at);
    let first = head.first().filter(|l| l.chars().count() <= TITLE && !l.ends_with(['。', '！', '？', '：', ':']));
    let own =
        [document.title.as_deref(), record.title.as_deref().and_then(sensible_title), document.heading.as_deref()];
    let title = own.into_iter().flatten().next().or(first.copied()).unwrap_or_default().to_owned();
    let body = match document.body.split_once('\n') {
        Some((first, rest)) if first == title => rest.to_owned(),
        None if document.body == title => String::new(),
        _ => document.body,
    };
    let mut census = Census::default();
    census.add(&title);
    census.add(&body);
    let quality = census.quality(1, usize::from(body.is_empty()));
    limits.check_quality(&quality, 0)?;
    Ok(Paper { title, body, published_at, author: record.author, quality, ..Paper::default() })
}

/// A part of an archive of `size` bytes, unpacked within the limit.
fn part(archive: &mut ZipArchive<Cursor<&[u8]>>, name: &str, size: u64) -> Result<String, Refused> {
    let damaged = |error: &dyn std::fmt::Display| Refused::new(reason::DAMAGED_DOCX, format!("{name}: {error}"));
    let file = archive.by_name(name).map_err(|error| damaged(&error))?;
    let mut bytes = Vec::new();
    let limit = limits::unpacked(size);
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| damaged(&error))?;
    if bytes.len() as u64 > limit {
        return Err(Refused::new(reason::UNPACKS_TOO_LARGE, name));
    }
    String::from_utf8(bytes).map_err(|error| damaged(&error))
}

/// Refuses elements nested deeper than in any document: the reader would keep the name of each in memory.
fn check_depth(xml: &str) -> Result<(), Refused> {
    let mut reader = Reader::from_str(xml);
    reader.config_mut().check_end_names = false;
    let mut depth = 0usize;
    // Ill-formed XML is reported later, when the text is read.
    while let Ok(event) = reader.read_event() {
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Eof => break,
            _ => {}
        }
        if depth > limits::XML_DEPTH {
            return Err(Refused::new(reason::XML_TOO_DEEP, ""));
        }
    }
    Ok(())
}

/// Content of the body of a document.
#[derive(Default)]
struct DocxBody {
    body: String,
    /// The paragraph of the style Title.
    title: Option<String>,
    /// The first paragraph of the style Heading 1.
    heading: Option<String>,
}

impl DocxBody {
    fn read(xml: &str) -> Result<DocxBody, quick_xml::Error> {
        let mut reader = Reader::from_str(xml);
        let mut document = DocxBody::default();
        let mut flow = Flow::default();
        // Text that does not belong to the document, and how deep inside of it the reader is.
        let mut outside = 0usize;
        let (mut in_text, mut style, mut paragraph) = (false, String::new(), String::new());
        loop {
            let event = reader.read_event()?;
            match &event {
                Event::Eof => break,
                Event::Start(tag) if outside > 0 || is_outside(tag) => outside += 1,
                Event::End(_) if outside > 0 => outside -= 1,
                _ if outside > 0 => {}
                Event::Start(tag) | Event::Empty(tag) => {
                    let empty = matches!(event, Event::Empty(_));
                    match tag.local_name().as_ref() {
                        "t" => in_text = !empty,
                        "tab" => flow.text(" "),
                        "br" | "cr" => flow.end_line(),
                        "noBreakHyphen" => flow.text("-"),
                        "pStyle" => style = value(tag).unwrap_or_default(),
                        "tbl" if !empty => flow.open_table(),
                        "tr" if !empty => flow.open_row(),
                        "tc" if !empty => flow.open_cell(),
                        _ => {}
                    }
                }
                Event::Text(text) if in_text => {
                    let text = text.xml10_content();
                    paragraph.push_str(&text);
                    flow.text(&text);
                }
                Event::CData(text) if in_text => flow.text(&text.xml10_content()),
                Event::GeneralRef(reference) if in_text => {
                    let known = quick_xml::escape::resolve_predefined_entity(reference);
                    let text = match known {
                        Some(text) => text.to_owned(),
                        None => reference.resolve_char_ref()?.map(String::from).unwrap_or_default(),
                    };
                    paragraph.push_str(&text);
                    flow.text(&text);
                }
                Event::End(tag) => match tag.local_name().as_ref() {
                    "t" => in_text = false,
                    "p" => {
                        document.note(&style, &paragraph);
                        (style, paragraph) = (String::new(), String::new());
                        flow.end_line();
                    }
                    "tbl" => flow.close_table(),
                    "tr" => flow.close_row(),
                    "tc" => flow.close_cell(),
                    _ => {}
                },
                _ => {}
            }
        }
        document.body = flow.finish().body;
        Ok(document)
    }

    fn note(&mut self, style: &str, paragraph: &str) {
        let paragraph = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        if paragraph.is_empty() {
            return;
        }
        match style {
            "Title" | "a3" => self.title = self.title.take().or(Some(paragraph)),
            "Heading1" | "1" => self.heading = self.heading.take().or(Some(paragraph)),
            _ => {}
        }
    }
}

/// Elements that were deleted or moved away, and second forms of elements that have two.
fn is_outside(tag: &BytesStart<'_>) -> bool {
    matches!(tag.local_name().as_ref(), "del" | "moveFrom" | "Fallback" | "footnote" | "endnote" | "comment")
}

fn value(tag: &BytesStart<'_>) -> Option<String> {
    let found = tag.attributes().flatten().find(|a| a.key.local_name().as_ref() == "val")?;
    found.normalized_value(XmlVersion::Implicit1_0).ok().map(|v| v.into_owned())
}

#[derive(Default)]
struct CoreProperties {
    title: Option<String>,
    author: Option<String>,
    /// Times of creation and of the last change.
    made_at: Vec<String>,
}

impl CoreProperties {
    fn read(xml: &str) -> Result<CoreProperties, quick_xml::Error> {
        let mut reader = Reader::from_str(xml);
        let (mut record, mut made, mut changed) = (CoreProperties::default(), None, None);
        let (mut element, mut text) = (String::new(), String::new());
        loop {
            match reader.read_event()? {
                Event::Eof => break,
                Event::Start(tag) => (element, text) = (tag.local_name().as_ref().to_owned(), String::new()),
                Event::Text(found) => text.push_str(&found.xml10_content()),
                Event::End(_) => {
                    let found = Some(std::mem::take(&mut text).trim().to_owned()).filter(|t| !t.is_empty());
                    match element.as_str() {
                        "title" => record.title = found,
                        "creator" => record.author = found,
                        "created" => made = found,
                        "modified" => changed = found,
                        _ => {}
                    }
                    element.clear();
                }
                _ => {}
            }
        }
        record.made_at = made.into_iter().chain(changed).collect();
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::super::dates::Origin;
    use super::*;

    const LIMITS: Limits = Limits { max_pages: 10, max_garbled: 0.1 };
    const CORE: &str = r#"<cp:coreProperties xmlns:cp="c" xmlns:dc="d" xmlns:dcterms="t"><dc:title></dc:title><dc:creator>张三</dc:creator>
        <dcterms:created>2024-03-01T02:00:00Z</dcterms:created><dcterms:modified>2024-03-02T02:00:00Z</dcterms:modified></cp:coreProperties>"#;

    fn packed(document: &str) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, text) in [("word/document.xml", document), ("docProps/core.xml", CORE)] {
            zip.start_file(name, SimpleFileOptions::default()).unwrap();
            zip.write_all(text.as_bytes()).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    fn document(body: &str) -> Vec<u8> {
        packed(&format!(r#"<?xml version="1.0"?><w:document xmlns:w="w"><w:body>{body}</w:body></w:document>"#))
    }

    #[test]
    fn paragraphs_rows_and_titles_are_read_and_what_was_deleted_is_not() {
        let bytes = document(
            r#"<w:p><w:pPr><w:pStyle w:val="Title"/></w:pPr><w:r><w:t>订单充足</w:t></w:r></w:p>
            <w:p><w:r><w:t>收入&amp;利润&#x589E;</w:t></w:r><w:del><w:r><w:delText>删</w:delText><w:t>去</w:t></w:r></w:del><w:r><w:t>长</w:t></w:r></w:p>
            <w:tbl><w:tr><w:tc><w:p><w:r><w:t>项目</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>2023A</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
            <w:p><w:r><w:t>第一</w:t><w:br/><w:t>第二</w:t></w:r></w:p>"#,
        );
        let paper = read(&bytes, "a", &LIMITS).unwrap();
        assert_eq!(paper.title, "订单充足");
        assert_eq!(paper.body, "收入&利润增长\n项目 2023A\n第一\n第二");
        assert_eq!(paper.author.as_deref(), Some("张三"));
        let dated = paper.published_at.unwrap();
        assert_eq!((dated.time.to_string().as_str(), dated.origin), ("2024-03-02 10:00:00", Origin::Metadata));
        let named = read(&bytes, "点评20240301", &LIMITS).unwrap().published_at.unwrap();
        assert_eq!((named.time.to_string().as_str(), named.origin), ("2024-03-01 23:59:59", Origin::FileName));
    }

    #[test]
    fn a_first_short_line_is_the_title_of_a_document_without_styles() {
        let paper =
            read(&document("<w:p><w:t>产能投放</w:t></w:p><w:p><w:t>正文。</w:t></w:p>"), "a", &LIMITS).unwrap();
        assert_eq!((paper.title.as_str(), paper.body.as_str()), ("产能投放", "正文。"));
    }

    #[test]
    fn what_is_no_document_is_refused_with_a_reason() {
        let reason = |bytes: &[u8]| read(bytes, "a", &LIMITS).unwrap_err().reason;
        assert_eq!(reason(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), reason::ENCRYPTED);
        assert_eq!(reason(b"PK\x03\x04 and then nothing"), reason::DAMAGED_DOCX);
        assert_eq!(reason(&packed("<w:document><w:body></w:document>")), reason::DAMAGED_DOCX);
        let bomb = document(&" ".repeat(limits::FILE as usize));
        assert!(bomb.len() < 1 << 20);
        assert_eq!(reason(&bomb), reason::UNPACKS_TOO_LARGE);
        let nested = document(&"<w:tbl><w:tr><w:tc>".repeat(limits::XML_DEPTH));
        assert_eq!(reason(&nested), reason::XML_TOO_DEEP);
    }
}

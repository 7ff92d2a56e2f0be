//! Helpers of tests that read pages and charts.

use std::collections::BTreeSet;

use html5gum::{Token, Tokenizer};
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;

/// The texts of an SVG, read by an XML parser that refuses what is not well formed.
pub(crate) fn texts(svg: &str) -> Vec<String> {
    let mut reader = Reader::from_str(svg);
    let (mut open, mut found, mut text) = (Vec::new(), Vec::new(), String::new());
    loop {
        match reader.read_event().unwrap() {
            Event::Start(tag) => open.push(tag.name().as_ref().to_owned()),
            Event::End(_) => {
                let closed = open.pop().unwrap();
                if closed == "text" {
                    found.push(std::mem::take(&mut text).trim().to_owned());
                }
            }
            Event::Text(part) if open.last().is_some_and(|tag| tag == "text") => text += &part,
            Event::GeneralRef(name) => text += resolve_predefined_entity(&name).unwrap(),
            Event::Eof => break,
            _ => {}
        }
    }
    assert!(open.is_empty() && svg.matches("<svg").count() == 1);
    found
}

/// The kinds of elements of a page with the names of their attributes, and the values of all attributes that act.
pub(crate) fn shape(page: &str) -> BTreeSet<String> {
    let mut shape = BTreeSet::new();
    for Ok(token) in Tokenizer::new(page) {
        match token {
            Token::StartTag(tag) => {
                let name = String::from_utf8_lossy(&tag.name).into_owned();
                for (key, value) in &tag.attributes {
                    let (key, value) = (String::from_utf8_lossy(key), String::from_utf8_lossy(&value.value));
                    let acts = matches!(&*key, "href" | "src" | "http-equiv" | "content" | "id" | "class");
                    shape.insert(format!("{name} {key}{}", if acts { format!("={value}") } else { String::new() }));
                }
                shape.insert(name);
            }
            Token::Comment(text) => drop(shape.insert(format!("comment {}", String::from_utf8_lossy(&text)))),
            Token::String(text) => {
                let harmless = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
                assert!(
                    String::from_utf8_lossy(&text.value).chars().all(harmless),
                    "a control character is in the page"
                );
            }
            _ => {}
        }
    }
    shape
}

/// Fails where a chart is not well formed or something lies outside of it.
pub(crate) fn within(stem: &str, svg: &str) {
    let size = |name: &str| -> i32 { svg.split(name).nth(1).unwrap().split('"').next().unwrap().parse().unwrap() };
    let (wide, high) = (size(" width=\""), size(" height=\""));
    let check = |x: &str, limit: i32| {
        let value: i32 = x.parse().unwrap_or_else(|_| panic!("{x} in {stem}"));
        assert!((0..=limit).contains(&value), "{value} of {limit} in {stem}");
    };
    let mut reader = Reader::from_str(svg);
    loop {
        match reader.read_event().unwrap() {
            Event::Start(tag) | Event::Empty(tag) => {
                for attribute in tag.attributes() {
                    let attribute = attribute.unwrap();
                    let value = attribute.value.into_owned();
                    match attribute.key.as_ref() {
                        "x" | "x1" | "x2" | "cx" => check(&value, wide),
                        "y" | "y1" | "y2" | "cy" => check(&value, high),
                        "points" => value.split_whitespace().for_each(|point| {
                            let (x, y) = point.split_once(',').unwrap();
                            check(x, wide);
                            check(y, high);
                        }),
                        _ => {}
                    }
                }
            }
            Event::Eof => break,
            _ => {}
        }
    }
}

//! Parts that pages share: the shell with its switch of languages, and pieces that hold both languages.
//!
//! Every text is escaped where it is put in ([`text`]); a policy in the page forbids browsers to run or send for anything all the same.
//! Both languages are in the file; two buttons choose by style alone which one is shown. Browsers that know no `:has` show both.

use anyhow::Result;

use super::svg::printable;
use super::words;

use inkstone_base::language::{Language, Message, Word};

/// Content policy of a page: browsers may draw it, in its own styles.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// A page from its first line to where its sections begin: a title, and above it what is to be known first, if anything.
pub(super) fn opened(name: &str, kind: Word, note: &str) -> String {
    let name = text(name);
    let [zh, en] = Language::ALL.map(|language| kind.to(language));
    let [switch_zh, switch_en] = Language::ALL.map(|language| words::SWITCH.to(language));
    let note = if note.trim().is_empty() { String::new() } else { format!("<p class=\"note\">{}</p>\n", text(note)) };
    format!(
        "<!doctype html>\n<html lang=\"zh-CN\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{name} · {zh} · {en}</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n<style>\n{}</style>\n</head>\n<body>\n\
         <div class=\"switch\" role=\"group\" aria-label=\"{switch_zh} / {switch_en}\">\
         <input type=\"radio\" name=\"language\" id=\"zh\" checked><label for=\"zh\" lang=\"zh-CN\">中文</label>\
         <input type=\"radio\" name=\"language\" id=\"en\"><label for=\"en\" lang=\"en\">English</label></div>\n\
         <header>\n{note}<h1>{} · {name}</h1>\n</header>\n<main>\n",
        include_str!("page.css"),
        both(kind)
    )
}

/// End of a page.
pub(super) fn closed() -> String {
    format!("</main>\n<footer>Inkstone {}</footer>\n</body>\n</html>\n", env!("CARGO_PKG_VERSION"))
}

/// A text that is safe between tags and in attributes.
pub(super) fn text(text: &str) -> String {
    html_escape::encode_safe(&printable(text)).into_owned()
}

/// Code of a language in HTML.
pub(super) fn code(language: Language) -> &'static str {
    match language {
        Language::Zh => "zh-CN",
        Language::En => "en",
    }
}

/// A word in both languages; the page shows one.
pub(super) fn both(word: Word) -> String {
    both_of([word.0, word.1])
}

/// Texts in Chinese and English; the page shows one. Written once where they are the same.
pub(super) fn both_of([zh, en]: [&str; 2]) -> String {
    if zh == en {
        return text(zh);
    }
    format!("<span lang=\"zh-CN\">{}</span><span lang=\"en\">{}</span>", text(zh), text(en))
}

/// A piece of the page in both languages.
pub(super) fn each(piece: impl Fn(Language) -> String) -> String {
    Language::ALL.map(|language| format!("<div lang=\"{}\">{}</div>\n", code(language), piece(language))).concat()
}

/// A picture with its caption, drawn in each language; none where there is nothing to draw.
pub(super) fn each_picture(draw: impl Fn(Language) -> Result<Option<(String, String)>>) -> Result<Option<String>> {
    let mut pieces = String::new();
    for language in Language::ALL {
        let Some((svg, caption)) = draw(language)? else { return Ok(None) };
        pieces += &format!(
            "<div lang=\"{}\"><figure><div class=\"wide\" tabindex=\"0\">{svg}</div><figcaption>{}</figcaption></figure></div>\n",
            code(language),
            text(&caption)
        );
    }
    Ok(Some(pieces))
}

/// A paragraph in both languages.
pub(super) fn paragraph(sentence: Word) -> String {
    format!("<p>{}</p>\n", both(sentence))
}

/// A part of the page under its title.
pub(super) fn section(id: &str, title: Word, inside: &str) -> String {
    format!("<section id=\"{id}\">\n<h2>{}</h2>\n{inside}</section>\n", both(title))
}

/// Names with their values, a few words each; values are ready for the page.
pub(super) fn pairs(rows: &[(Word, String)]) -> String {
    let rows: Vec<String> =
        rows.iter().map(|(name, value)| format!("<div><dt>{}</dt><dd>{value}</dd></div>\n", both(*name))).collect();
    format!("<dl>\n{}</dl>\n", rows.concat())
}

/// A field of a table: text on one line.
pub(super) fn word(value: &str) -> String {
    format!("<td class=\"text\">{}</td>", text(value))
}

/// A field of a table: a message on as many lines as it takes.
pub(super) fn wrapped(message: &Message) -> String {
    format!("<td class=\"text wrap\">{}</td>", both_of([&message.zh, &message.en]))
}

/// A field of a table: a number.
pub(super) fn figure(value: &str) -> String {
    format!("<td>{}</td>", text(value))
}

/// A table of ready fields; heads say whether their column is text. Without rows, a sentence says what that means.
pub(super) fn table(heads: &[(Word, bool)], rows: &[Vec<String>], none: Word) -> String {
    let heads: Vec<String> = heads.iter().map(|(head, is_text)| head_of(&both(*head), *is_text)).collect();
    table_of(&heads, &rows.iter().map(|row| format!("<tr>{}</tr>\n", row.concat())).collect::<Vec<_>>(), none)
}

/// The head of a column.
pub(super) fn head_of(inside: &str, is_text: bool) -> String {
    let class = if is_text { " class=\"text\"" } else { "" };
    format!("<th scope=\"col\"{class}>{inside}</th>")
}

/// A table of ready heads and rows.
pub(super) fn table_of(heads: &[String], rows: &[String], none: Word) -> String {
    if rows.is_empty() {
        return paragraph(none);
    }
    format!(
        "<div class=\"wide\" tabindex=\"0\"><table>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n</table></div>\n",
        heads.concat(),
        rows.concat()
    )
}

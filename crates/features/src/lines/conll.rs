//! Sentences in columns, as CoNLL's tasks have them: a character and its label a line, an empty line behind each sentence. They are read as JSON
//! lines: names (B-ORG, I-ORG, E-ORG, S-ORG, O) as a text with `entities`, words (B, M, E, S) as a text with blanks between the words.

use std::io::{self, BufRead, BufReader, Read};

use serde_json::json;

/// Prefix of the line of a sentence that cannot be used. The index of the reason in [`REASONS`] follows the prefix.
const REFUSED: char = '\u{1}';
const REASONS: [&str; 3] = [
    "a line of the sentence has no label behind its character",
    "a label of the sentence is none of B, I, M, E, S and O",
    "the sentence has labels of words and of names",
];

/// The reason for which a sentence is no document, as its line tells.
pub(super) fn refused(line: &str) -> Option<&'static str> {
    REASONS.get(line.strip_prefix(REFUSED)?.parse::<usize>().ok()?).copied()
}

/// Reads a file in columns as JSON lines.
pub(super) struct ConllLines<R> {
    input: BufReader<R>,
    /// The current line, and the number of its bytes that were read.
    line: Vec<u8>,
    given: usize,
    ended: bool,
}

impl<R: Read> ConllLines<R> {
    pub(super) fn new(input: R) -> ConllLines<R> {
        ConllLines { input: BufReader::new(input), line: Vec::new(), given: 0, ended: false }
    }

    /// The next sentence as a line; nothing at the end.
    fn next_line(&mut self) -> io::Result<()> {
        self.line.clear();
        self.given = 0;
        let mut rows: Vec<Vec<u8>> = Vec::new();
        while !self.ended {
            let mut row = Vec::new();
            self.ended = self.input.read_until(b'\n', &mut row)? == 0;
            let row = row.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&row).trim_ascii_end();
            if !row.is_empty() {
                rows.push(row.to_vec());
            } else if !rows.is_empty() {
                break;
            }
        }
        if rows.is_empty() {
            return Ok(());
        }
        // A byte that is no text stays, for the reader of lines to name.
        let texts: Result<Vec<&str>, _> = rows.iter().map(|row| std::str::from_utf8(row)).collect();
        self.line = match texts {
            Ok(rows) => match sentence(&rows) {
                Ok(line) => line.into_bytes(),
                Err(reason) => format!("{REFUSED}{reason}").into_bytes(),
            },
            Err(_) => rows.concat(),
        };
        self.line.push(b'\n');
        Ok(())
    }
}

impl<R: Read> Read for ConllLines<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.given == self.line.len() {
            self.next_line()?;
        }
        let count = bytes.len().min(self.line.len() - self.given);
        bytes[..count].copy_from_slice(&self.line[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}

/// A sentence as a JSON line; the place of the reason where it cannot be one.
fn sentence(rows: &[&str]) -> Result<String, usize> {
    let (mut text, mut spans) = (String::new(), Vec::<(&str, usize, usize)>::new());
    let (mut of_words, mut of_names, mut open) = (false, false, None);
    for row in rows {
        let (character, label) = match row.split_once('\t') {
            Some((character, columns)) => (character, columns.rsplit('\t').next()),
            None => {
                let mut columns = row.split_ascii_whitespace();
                (columns.next().unwrap_or_default(), columns.last())
            }
        };
        let (label, character) = (label.map(str::trim).filter(|label| !label.is_empty()).ok_or(0_usize)?, character);
        let (place, kind) = label.split_once('-').unwrap_or((label, ""));
        let start = text.len();
        text.push_str(character);
        match place {
            "O" => of_names = true,
            "B" | "I" | "M" | "E" | "S" if kind.is_empty() => of_words = true,
            "B" | "I" | "M" | "E" | "S" => of_names = true,
            _ => return Err(1),
        }
        match spans.last_mut().filter(|span| open == Some(kind) && span.0 == kind) {
            Some(span) if matches!(place, "I" | "M" | "E") => span.2 = text.len(),
            _ if place != "O" => spans.push((kind, start, text.len())),
            _ => {}
        }
        open = matches!(place, "B" | "I" | "M").then_some(kind);
    }
    match (of_words, of_names) {
        (true, true) => Err(2),
        (true, false) => {
            let words: Vec<&str> = spans.iter().map(|&(_, start, end)| &text[start..end]).collect();
            Ok(json!({"text": words.join(" ")}).to_string())
        }
        (false, _) => {
            let entities = spans.iter().map(|(kind, start, end)| json!({"kind": kind, "start": start, "end": end}));
            Ok(json!({"text": text, "entities": entities.collect::<Vec<_>>()}).to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        let mut all = String::new();
        ConllLines::new(text.as_bytes()).read_to_string(&mut all).unwrap();
        all.lines().map(str::to_owned).collect()
    }

    #[test]
    fn sentences_in_columns_are_json_lines() {
        let lines = read(
            "\u{feff}中 B-ORG\n行 E-ORG\n涨\tO\r\n\n\n张 nr B-PER\n三 nr I-PER\n李 nr B-PER\n\n买 S\n股 B\n份 E\n",
        );
        let values: Vec<serde_json::Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let entity = |kind: &str, start: usize, end: usize| json!({"kind": kind, "start": start, "end": end});
        assert_eq!(values[0], json!({"text": "中行涨", "entities": [entity("ORG", 0, 6)]}));
        assert_eq!(values[1], json!({"text": "张三李", "entities": [entity("PER", 0, 6), entity("PER", 6, 9)]}));
        assert_eq!(values[2], json!({"text": "买 股份"}));
        assert_eq!(values.len(), 3);
    }

    #[test]
    fn a_sentence_that_cannot_be_used_says_why() {
        let lines = read("中\n\n中 X\n\n中 S\n行 O\n\n中 O\n");
        let reasons: Vec<Option<&str>> = lines.iter().map(|line| refused(line)).collect();
        assert_eq!(reasons, [Some(REASONS[0]), Some(REASONS[1]), Some(REASONS[2]), None]);
        assert_eq!(refused("\u{1}9"), None);
    }
}

//! The shapes that word lists come in, told by their content.
//!
//! - a word a line (NTUSD, and most lists of papers);
//! - word and weight, apart by a tab, a comma or a blank (BosonNLP's `word score`);
//! - a title that speaks of words (词), with their number, before a word a line (HowNet);
//! - a table whose header names its columns in English or Chinese: word, strength, polarity (the emotion ontology of the Dalian
//!   University of Technology, and what spreadsheets export), commas or tabs between them.
//!
//! `#` opens a comment; a line `# fitted_until: TIME` says that a list was itself learned from data of until then. Lines that
//! cannot be used are set aside with their number and reason.

use anyhow::{Context, Result};
use chrono::NaiveDateTime;

use inkstone_base::language::Word;
use inkstone_base::{bail, message};

/// Names of the columns of a table.
const WORD: [&str; 9] = ["word", "words", "term", "token", "词", "词语", "词汇", "情感词", "情感词汇"];
const WEIGHT: [&str; 11] =
    ["weight", "score", "strength", "intensity", "强度", "情感强度", "权重", "分值", "得分", "分数", "情感值"];
const POLARITY: [&str; 7] = ["polarity", "sentiment", "极性", "情感极性", "情感倾向", "倾向", "正负"];

/// The middle of the strengths 1, 3, 5, 7, 9 of the Dalian ontology: a word of that strength weighs as one without weight.
const DALIAN_MIDDLE: f32 = 5.0;

/// A list as it was read.
#[derive(Debug, Default)]
pub(super) struct Shaped {
    pub(super) lines: Vec<Listed>,
    /// Lines set aside: number and reason.
    pub(super) refused: Vec<(usize, &'static str)>,
    /// The shape, in words.
    pub(super) shape: &'static str,
    /// Name of the column that tells the sides, where there is one.
    pub(super) polarity: Option<String>,
    /// The last time of the data that the list was learned from, if it was.
    pub(super) fitted_until: Option<NaiveDateTime>,
}

#[derive(Debug, PartialEq)]
pub(super) struct Listed {
    /// Number of the line, from 1.
    pub(super) number: usize,
    /// The word as written; blanks separate the words of a phrase.
    pub(super) word: String,
    /// Weight of the word, with the sign of the polarity column where there is one.
    pub(super) weight: Option<f32>,
}

/// Reads a list from its text.
pub(super) fn read(text: &str) -> Result<Shaped> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut shaped = Shaped::default();
    let mut content = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let (said, comment) = line.split_once('#').unwrap_or((line, ""));
        if let Some(time) = comment.trim().strip_prefix("fitted_until:").filter(|_| said.trim().is_empty()) {
            let read = NaiveDateTime::parse_from_str(time.trim(), "%Y-%m-%d %H:%M:%S");
            shaped.fitted_until = Some(read.with_context(|| {
                message!(
                    "第 {number} 行：{:?} 不是时间；请写 fitted_until: 2024-01-31 15:00:00",
                    "line {number}: {:?} is no time; write fitted_until: 2024-01-31 15:00:00",
                    time.trim()
                )
            })?);
        }
        if !said.trim().is_empty() {
            content.push((number, said.trim()));
        }
    }
    let Some(&(first, header)) = content.first() else { return Ok(shaped) };
    if let Some(table) = ListTable::from_header(header) {
        table.read(text, first, &mut shaped)?;
        return Ok(shaped);
    }
    let (word, weight) = parted(header);
    // A number near that of the lines, and no weight on any of them.
    let title = weight.and_then(|n| n.parse::<usize>().ok()).filter(|n| n.abs_diff(content.len() - 1) <= 1 + n / 20);
    let bare = content[1..].iter().all(|(_, line)| parted(line).1.is_none());
    let skipped = if title.is_some() && bare && word.contains('词') {
        shaped.shape = "title, then a word a line";
        true
    } else {
        weight.is_some_and(|w| w.parse::<f32>().is_err()) || WORD.contains(&word.to_lowercase().as_str())
    };
    let mut weights = false;
    for &(number, line) in &content[usize::from(skipped)..] {
        let (word, weight) = parted(line);
        let weight = weight.filter(|w| !w.is_empty()).map(str::parse::<f32>);
        match weight {
            _ if word.is_empty() => shaped.refused.push((number, "no word")),
            Some(Err(_)) => shaped.refused.push((number, "the weight is not a number")),
            Some(Ok(weight)) if !weight.is_finite() => shaped.refused.push((number, "the weight is not a number")),
            weight => {
                let weight = weight.and_then(Result::ok);
                weights |= weight.is_some();
                shaped.lines.push(Listed { number, word: word.to_owned(), weight });
            }
        }
    }
    if shaped.shape.is_empty() {
        shaped.shape = if weights { "word and weight" } else { "a word a line" };
    }
    Ok(shaped)
}

/// Word and weight of a line. A last field after a blank is a weight only if it is a number: other blanks part the words of a
/// phrase.
fn parted(line: &str) -> (&str, Option<&str>) {
    fn bare(field: &str) -> &str {
        field.trim().trim_matches('"').trim()
    }
    if let Some((word, rest)) = line.split_once(['\t', ',']) {
        let weight = rest.split(['\t', ',']).next().unwrap_or_default();
        return (bare(word), Some(bare(weight)));
    }
    match line.rsplit_once(char::is_whitespace) {
        Some((word, weight)) if weight.parse::<f32>().is_ok() => (bare(word), Some(weight)),
        _ => (bare(line), None),
    }
}

/// A table with a header: which column is what.
struct ListTable {
    delimiter: u8,
    word: usize,
    weight: Option<usize>,
    polarity: Option<usize>,
    names: Vec<String>,
}

impl ListTable {
    /// The table that a header opens; none when it names no column of words beside another.
    fn from_header(header: &str) -> Option<ListTable> {
        let delimiter = if header.contains('\t') { b'\t' } else { b',' };
        let names: Vec<String> = header
            .split(char::from(delimiter))
            .map(|name| name.trim().trim_matches('"').trim().to_lowercase())
            .collect();
        // The Dalian ontology has strength and polarity twice, the second for a second emotion: the first counts.
        let find = |known: &[&str]| names.iter().position(|name| known.contains(&name.as_str()));
        let word = find(&WORD).filter(|_| names.len() > 1)?;
        Some(ListTable { delimiter, word, weight: find(&WEIGHT), polarity: find(&POLARITY), names })
    }

    fn read(&self, text: &str, header: usize, shaped: &mut Shaped) -> Result<()> {
        // Without their comments, the lines keep their numbers.
        let text: Vec<&str> = text.lines().map(|line| line.split('#').next().unwrap_or_default()).collect();
        let text = text.join("\n");
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(self.delimiter)
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.context(Word("表无法读取", "the table cannot be read"))?;
            let number = record.position().map_or(0, |at| at.line() as usize);
            if number > header && record.iter().any(|field| !field.is_empty()) {
                rows.push((number, record));
            }
        }
        let field = |row: &csv::StringRecord, column: Option<usize>| -> String {
            column.and_then(|column| row.get(column)).unwrap_or_default().to_owned()
        };
        let signs = Signs::new(rows.iter().map(|(_, row)| field(row, self.polarity)), &self.names)?;
        shaped.polarity = self.polarity.map(|column| self.names[column].clone());
        shaped.shape = match (self.weight, self.polarity) {
            (None, None) => "table of words",
            (Some(_), None) => "table of words and weights",
            (None, Some(_)) => "table of words and polarities",
            (Some(_), Some(_)) => "table of words, weights and polarities",
        };
        for (number, row) in rows {
            let word = field(&row, Some(self.word));
            let weight = field(&row, self.weight);
            let weight = (!weight.is_empty()).then(|| weight.parse::<f32>().ok().filter(|w| w.is_finite()));
            let side = self.polarity.map(|_| signs.side(&field(&row, self.polarity)));
            match (weight, side) {
                _ if word.is_empty() => shaped.refused.push((number, "no word")),
                (Some(None), _) => shaped.refused.push((number, "the weight is not a number")),
                (_, Some(Err(reason))) => shaped.refused.push((number, reason)),
                (weight, side) => {
                    let scale = if signs == Signs::Dalian { DALIAN_MIDDLE } else { 1.0 };
                    let weight = weight.flatten().map(|w| w / scale);
                    let weight = match side {
                        Some(Ok(sign)) => Some(sign * weight.unwrap_or(1.0).abs()),
                        _ => weight,
                    };
                    shaped.lines.push(Listed { number, word, weight });
                }
            }
        }
        Ok(())
    }
}

/// The meaning of the numbers of a polarity column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Signs {
    /// 1 and -1; 0 is neutral. Also columns of words.
    Signed,
    /// 1 good, 2 bad, 0 neutral, 3 both, as in the Dalian ontology.
    Dalian,
}

impl Signs {
    fn new(values: impl Iterator<Item = String>, names: &[String]) -> Result<Signs> {
        let (mut zero, mut two, mut minus) = (None, false, false);
        for (at, value) in values.enumerate() {
            match value.as_str() {
                "0" => zero = zero.or(Some(at)),
                "2" | "3" => two = true,
                "-1" => minus = true,
                _ => {}
            }
        }
        if two || names.iter().any(|name| name == "情感分类") {
            return Ok(Signs::Dalian);
        }
        if let (Some(at), false) = (zero, minus) {
            bail!(
                "表的第 {} 行极性为 0，而没有一行为 -1：0 表示负面还是中性？请写 1 与 -1，或 positive 与 negative",
                "row {} of the table has the polarity 0 and no row has -1: is 0 bad or neutral? Write 1 and -1, or positive and negative",
                at + 1
            );
        }
        Ok(Signs::Signed)
    }

    fn side(self, value: &str) -> Result<f32, &'static str> {
        match (value.to_lowercase().as_str(), self) {
            (
                "positive" | "pos" | "p" | "+" | "+1" | "1" | "1.0" | "正" | "正面" | "正向" | "积极" | "褒" | "褒义",
                _,
            ) => Ok(1.0),
            ("negative" | "neg" | "n" | "-" | "-1" | "-1.0" | "负" | "负面" | "负向" | "消极" | "贬" | "贬义", _) => {
                Ok(-1.0)
            }
            ("2", Signs::Dalian) => Ok(-1.0),
            ("3", Signs::Dalian) => Err("good and bad at once"),
            ("0" | "neutral" | "中性" | "中", _) => Err("neutral"),
            ("", _) => Err("no polarity"),
            _ => Err("a polarity that is not known"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<(String, Option<f32>)> {
        read(text).unwrap().lines.into_iter().map(|line| (line.word, line.weight)).collect()
    }

    fn owned(words: &[(&str, Option<f32>)]) -> Vec<(String, Option<f32>)> {
        words.iter().map(|&(word, weight)| (word.to_owned(), weight)).collect()
    }

    #[test]
    fn lists_of_words_and_weights() {
        assert_eq!(
            words("\u{feff}走强\r\n\r\n股价 下跌\r\n# 注\n暴涨 # 自拟\n"),
            owned(&[("走强", None), ("股价 下跌", None), ("暴涨", None)])
        );
        let weighed = owned(&[("走强", Some(1.5)), ("走弱", Some(-2.0)), ("持平", None)]);
        assert_eq!(words("走强\t1.5\n走弱\t-2\n持平\n"), weighed);
        assert_eq!(words("走强,1.5\n走弱,-2\n\"持平\",\n"), weighed);
        assert_eq!(words("走强 1.5\n走弱  -2\n持平\n"), weighed);
        assert_eq!(words("word,weight\n走强,1.5,extra\n"), owned(&[("走强", Some(1.5))]));
        let titled = read("中文正面评价词\t3\n走强  \n回暖\n跃升\n").unwrap();
        assert_eq!((titled.lines.len(), titled.lines[0].number, titled.shape), (3, 2, "title, then a word a line"));
        assert_eq!(words("走强\t1\n回暖\n")[0], ("走强".to_owned(), Some(1.0)), "a weight is no number of words");
    }

    #[test]
    fn tables_are_read_by_the_names_of_their_columns() {
        let dalian = "词语,词性种类,词义数,词义序号,情感分类,强度,极性,辅助情感分类,强度,极性\n\
                      走强,verb,1,1,PA,7,1,,,\n走弱,verb,1,1,NB,5,2,NE,3,1\n持平,adj,1,1,PH,3,0,,,\n起落,verb,1,1,PC,1,3,,,\n";
        let shaped = read(dalian).unwrap();
        let found: Vec<(&str, f32)> = shaped.lines.iter().map(|l| (l.word.as_str(), l.weight.unwrap())).collect();
        assert_eq!(found, [("走强", 1.4), ("走弱", -1.0)]);
        assert_eq!(shaped.refused, [(4, "neutral"), (5, "good and bad at once")]);
        assert_eq!(shaped.polarity.as_deref(), Some("极性"));
        let sides = "polarity\tword\npositive\t走强\n负面\t走弱\n?\t起落\n";
        assert_eq!(words(sides), owned(&[("走强", Some(1.0)), ("走弱", Some(-1.0))]));
        assert_eq!(read(sides).unwrap().refused, [(4, "a polarity that is not known")]);
        let error = read("word,polarity\n走强,1\n走弱,0\n").unwrap_err().to_string();
        assert!(error.contains("row 2") && error.contains("is 0 bad or neutral?"), "{error}");
        assert_eq!(words("# 归纳\nword\tweight\tp\n走强\t0.5\t1e-9\n"), owned(&[("走强", Some(0.5))]));
    }

    #[test]
    fn broken_lines_are_set_aside_by_number() {
        let shaped = read("走强 1\n走弱\t高\n,2\n回暖,nan\n").unwrap();
        let refused = [(2, "the weight is not a number"), (3, "no word"), (4, "the weight is not a number")];
        assert_eq!((shaped.lines.len(), shaped.refused), (1, refused.to_vec()));
    }

    #[test]
    fn a_learned_list_says_until_when() {
        let shaped = read("# documents: 9\n# fitted_until: 2024-03-01 15:00:00\n走强\n").unwrap();
        assert_eq!(shaped.fitted_until.unwrap().to_string(), "2024-03-01 15:00:00");
        let error = format!("{:#}", read("# fitted_until: 上月\n走强\n").unwrap_err());
        assert!(error.contains("line 1") && error.contains("上月"), "{error}");
    }
}

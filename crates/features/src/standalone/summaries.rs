//! Written texts against their references: BLEU and ROUGE, without a model.
//!
//! A text goes with the reference that has its id, or its line number where the lines have no ids. Both files are held in memory:
//! summaries are short. Offsets, logarithms and shares are those of `model::metrics`.

use std::borrow::Cow;
use std::path::Path;

use anyhow::{Context, Result};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::json;

use super::{Figures, Line, Lines};
use crate::lines::BLOCK;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{ensure, message};
use inkstone_models::{character_tokens, chinese_tokens, corpus_bleu, mean_rouge, rouge, sentence_bleu, textbook_bleu};
use inkstone_text::{Segmenter, TokenizerParams};

/// The tokens of a summary that are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lowercase")]
pub enum SummaryTokens {
    /// Every character that is no white space.
    #[default]
    Char,
    /// Words of jieba.
    Jieba,
    /// Chinese characters, and words of other scripts, as sacrebleu's `zh`.
    Zh,
}

impl SummaryTokens {
    fn cutter(self) -> Result<Box<dyn Fn(&str) -> Vec<String> + Sync>> {
        Ok(match self {
            SummaryTokens::Char => Box::new(character_tokens),
            SummaryTokens::Zh => Box::new(chinese_tokens),
            SummaryTokens::Jieba => {
                let segmenter = Segmenter::new(&TokenizerParams::default(), Path::new(""))?;
                Box::new(move |text| segmenter.tokens(text).iter().map(|token| token.text.to_owned()).collect())
            }
        })
    }
}

/// A text with its names.
struct NamedText {
    id: Option<String>,
    line: u64,
    text: String,
}

/// The texts of a file.
struct TextFile {
    texts: Vec<NamedText>,
    report: Report,
}

impl TextFile {
    fn read(mut lines: Lines, ctx: &Ctx) -> Result<TextFile> {
        let mut texts = Vec::new();
        lines.for_each_block(BLOCK, |documents| {
            for Line { id, number, text, .. } in documents {
                ctx.advance(1)?;
                texts.push(NamedText { id: id.map(Cow::into_owned), line: number, text: text.into_owned() });
            }
            Ok(())
        })?;
        Ok(TextFile { texts, report: lines.finish()? })
    }

    fn have_ids(&self) -> bool {
        self.texts.iter().all(|text| text.id.is_some())
    }
}

/// Longest sequence of the textbook's BLEU, as of the other.
const LONGEST: usize = 4;

/// Measures written texts by their references: BLEU of the corpus, mean BLEU of a sentence in both forms, and mean ROUGE.
pub fn evaluate_summaries(
    written: Lines,
    references: Lines,
    tokens: SummaryTokens,
    ctx: &Ctx,
) -> Result<(Figures, Report)> {
    let (written, references) = (TextFile::read(written, ctx)?, TextFile::read(references, ctx)?);
    let by_id = written.have_ids() && references.have_ids();
    let pairs = pairs(&written.texts, &references.texts, by_id)?;
    let cut = tokens.cutter()?;
    let measured: Vec<_> = ctx.install(|| {
        let measured = pairs.par_iter().map(|(written, reference)| {
            ctx.check()?;
            let (written, reference) = (cut(written), cut(reference));
            let bleu = [sentence_bleu(&written, &reference).score, textbook_bleu(&written, &reference, LONGEST)];
            let one = (bleu, rouge(&written, &reference));
            Ok((one, written, reference))
        });
        measured.collect::<Result<_>>()
    })?;
    let bleu = corpus_bleu(measured.iter().map(|(_, written, reference)| (written.as_slice(), reference.as_slice())));
    let (scores, shares): (Vec<[f64; 2]>, Vec<_>) = measured.iter().map(|(one, ..)| *one).unzip();
    let mut figures = Figures::new();
    figures.insert("pairs".into(), json!(pairs.len()));
    figures.insert("paired_by".into(), json!(if by_id { "id" } else { "line" }));
    figures.insert("tokens".into(), json!(tokens));
    figures.insert("bleu".into(), json!(bleu));
    for (form, name) in ["mean_sentence_bleu", "mean_textbook_bleu"].into_iter().enumerate() {
        let mean = scores.iter().map(|score| score[form]).sum::<f64>() / scores.len().max(1) as f64;
        figures.insert(name.into(), json!(mean));
    }
    if let serde_json::Value::Object(shares) = json!(mean_rouge(&shares)) {
        figures.extend(shares);
    }
    Ok((figures, written.report))
}

/// Each text with its reference, in the order of the texts.
fn pairs<'t>(written: &'t [NamedText], references: &'t [NamedText], by_id: bool) -> Result<Vec<(&'t str, &'t str)>> {
    let (count, wanted) = (written.len(), references.len());
    let way_out = Word(
        "每篇文本须有一篇参考：两个文件中编号相同，没有编号时行号相同",
        "a text needs one reference: the same id in both files, or the same line where there are no ids",
    );
    ensure!(
        count == wanted,
        "写出了 {count} 篇文本，而参考有 {wanted} 篇；{way_out}",
        "{count} texts were written and there are {wanted} references; {way_out}"
    );
    let name = |text: &NamedText| text.id.clone().filter(|_| by_id).unwrap_or_else(|| format!("line {}", text.line));
    let mut by_name: FxHashMap<String, &str> = FxHashMap::default();
    for reference in references {
        let (name, shown) = (name(reference), reference.id.as_deref().unwrap_or_default());
        ensure!(
            by_name.insert(name, &reference.text).is_none(),
            "两篇参考的编号都是 {shown:?}；{way_out}",
            "two references have the id {shown:?}; {way_out}"
        );
    }
    // A reference that was found is taken away, so that none serves twice.
    let pair = |text: &'t NamedText| {
        let name = name(text);
        let reference = by_name.remove(&name);
        let reference = reference.with_context(|| {
            message!(
                "{name:?} 没有参考，或写了两次；{way_out}",
                "{name:?} has no reference, or was written twice; {way_out}"
            )
        })?;
        Ok((text.text.as_str(), reference))
    };
    written.iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::super::LineFormat;
    use super::*;

    fn measured(written: &str, references: &str, format: LineFormat, tokens: SummaryTokens) -> Result<Figures> {
        let lines = |text: &str| Lines::new(Cursor::new(text.to_owned().into_bytes()), format);
        let ctx = Ctx::new(2, 1)?;
        Ok(evaluate_summaries(lines(written), lines(references), tokens, &ctx)?.0)
    }

    #[test]
    fn lines_go_with_lines_and_ids_with_ids() {
        let by_line =
            measured("净利润增长\n订单下降\n", "净利润增长\n订单上升\n", LineFormat::Text, SummaryTokens::Char)
                .unwrap();
        assert_eq!((&by_line["pairs"], &by_line["paired_by"]), (&json!(2), &json!("line")));
        // All five characters of the first, two of four of the second.
        assert_eq!(by_line["rouge1"], json!({"precision": 0.75, "recall": 0.75, "f1": 0.75}));
        assert!((by_line["bleu"]["precisions"][0].as_f64().unwrap() - 700.0 / 9.0).abs() < 1e-9);
        // The first is 100; the second has no sequence of three that its reference has.
        assert!((by_line["mean_textbook_bleu"].as_f64().unwrap() - 50.0).abs() < 1e-9);
        let written = "{\"id\":\"a\",\"text\":\"净利润增长\"}\n{\"id\":\"b\",\"text\":\"订单下降\"}\n";
        let references = "{\"id\":\"b\",\"text\":\"订单上升\"}\n{\"id\":\"a\",\"text\":\"净利润增长\"}\n";
        let by_id = measured(written, references, LineFormat::Jsonl, SummaryTokens::Char).unwrap();
        assert_eq!((&by_id["paired_by"], &by_id["bleu"]), (&json!("id"), &by_line["bleu"]));
        // Without ids in one of the files, the order counts.
        let without = "{\"text\":\"订单上升\"}\n{\"text\":\"净利润增长\"}\n";
        let by_order = measured(written, without, LineFormat::Jsonl, SummaryTokens::Char).unwrap();
        assert_eq!((&by_order["paired_by"], &by_order["rouge1"]["f1"]), (&json!("line"), &json!(0.0)));
    }

    #[test]
    fn what_a_token_is_can_be_chosen() {
        let first = |tokens| {
            measured("公司回购 AI 芯片", "公司回购芯片", LineFormat::Text, tokens).unwrap()["rouge1"]["precision"]
                .as_f64()
                .unwrap()
        };
        assert_eq!(first(SummaryTokens::Char), 6.0 / 8.0);
        assert_eq!(first(SummaryTokens::Zh), 6.0 / 7.0);
        assert_eq!(first(SummaryTokens::Jieba), 3.0 / 4.0);
    }

    #[test]
    fn files_that_do_not_go_together_are_refused() {
        let refused = |written: &str, references: &str, format| {
            format!("{:#}", measured(written, references, format, SummaryTokens::Char).unwrap_err())
        };
        let error = refused("甲\n乙\n", "甲\n", LineFormat::Text);
        assert!(error.contains("2 texts were written and there are 1 references"), "{error}");
        let (a, b) = ("{\"id\":\"a\",\"text\":\"甲\"}\n", "{\"id\":\"b\",\"text\":\"乙\"}\n");
        let error = refused(a, b, LineFormat::Jsonl);
        assert!(error.contains("\"a\" has no reference"), "{error}");
        let twice = [a, a].concat();
        assert!(refused(&twice, &[a, b].concat(), LineFormat::Jsonl).contains("was written twice"));
        assert!(refused(&[a, b].concat(), &twice, LineFormat::Jsonl).contains("two references have the id \"a\""));
    }
}

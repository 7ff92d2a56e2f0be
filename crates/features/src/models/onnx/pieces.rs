//! The texts that a contextual model reads: the pieces that a strategy keeps, or windows of sentences that rows are put together from.

use std::borrow::Cow;
use std::ops::Range;

use anyhow::Result;

use crate::extract::Feature;
use crate::extract::cost::Cost;
use crate::extract::reading::{ReadDocument, join};
use inkstone_base::data::Key;
use inkstone_base::job::Ctx;
use inkstone_corpus::truncate::{Layout, Over, Pick, Strategy, TokenView, combine};
use inkstone_onnx::Encoder;
use inkstone_text::Segmenter;

/// The pieces of some documents.
pub(crate) struct Pieces<'t> {
    pieces: Vec<Cow<'t, str>>,
    documents: Vec<PiecedDocument>,
}

/// A document made of pieces.
struct PiecedDocument {
    views: Vec<PiecedView>,
    /// Tokens that the model would read of it alone, special ones included.
    tokens: u64,
}

/// A part of a document that the model sees at once.
struct PiecedView {
    /// Number and weight of each piece.
    pieces: Vec<(usize, f64)>,
    /// Weight among the views of the document.
    weight: f64,
}

/// The pieces of documents that the strategy of a feature keeps. `segmenter` cuts the text where limits count characters.
pub(crate) fn pieces<'t>(
    documents: impl Iterator<Item = &'t ReadDocument>,
    feature: &Feature,
    encoder: &Encoder,
    segmenter: &Segmenter,
    ctx: &Ctx,
) -> Result<Pieces<'t>> {
    let strategy = &feature.truncate;
    let units = (feature.onnx.compose > 0).then_some(Strategy {
        pick: Pick::Sentences { limit: feature.onnx.compose, over: Over::Mean },
        ..Strategy::default()
    });
    let (specials, counter) = (encoder.specials(), strategy.counter(segmenter));
    let mut all = Pieces { pieces: Vec::new(), documents: Vec::new() };
    for document in documents {
        ctx.check()?;
        let text = document.text.as_deref().unwrap_or_default();
        if strategy.place().is_some() && units.is_none() {
            // The encoder cuts what it needs.
            let tokens = encoder.tokens_kept(text, ctx)?;
            let view = PiecedView { pieces: vec![(all.pieces.len(), 1.0)], weight: 1.0 };
            all.pieces.push(Cow::Borrowed(text));
            all.documents.push(PiecedDocument { views: vec![view], tokens });
            continue;
        }
        let model_tokens = match strategy.characters && units.is_none() {
            true => Vec::new(),
            false => encoder.places(text)?,
        };
        let characters: Vec<Range<usize>>;
        let (tokens, room) = if strategy.characters {
            characters = counter.tokens(text).iter().map(|token| token.start..token.end).collect();
            (&characters, 0)
        } else {
            (&model_tokens, specials)
        };
        let layout = |tokens: &[Range<usize>]| Layout::new(tokens.iter().map(|t| t.start), &document.sentences);
        let views = strategy.views(&layout(tokens), room, document.draw);
        let read = views.iter().map(|view| (view.len() + specials) as u64).sum();
        let views = match &units {
            None => views.iter().map(|view| all.piece(text, view, tokens)).collect(),
            Some(units) => {
                let first = all.pieces.len();
                let mut starts = Vec::new();
                for unit in units.views(&layout(&model_tokens), specials, 0) {
                    let bytes = unit.bytes(&model_tokens);
                    starts.push(bytes.first().map_or(0, |range| range.start));
                    all.pieces.push(Cow::Owned(joined(text, &bytes)));
                }
                views.iter().map(|view| put_together(view, tokens, &starts, first)).collect()
            }
        };
        all.documents.push(PiecedDocument { views, tokens: read });
    }
    Ok(all)
}

/// A view by the windows that hold its tokens, each weighing as many as are kept of it. `starts` = first bytes of the windows.
fn put_together(view: &TokenView, tokens: &[Range<usize>], starts: &[usize], first: usize) -> PiecedView {
    let mut shares: Vec<(usize, f64)> = Vec::new();
    for token in view.tokens.iter().cloned().flatten() {
        let unit = starts.partition_point(|&start| start <= tokens[token].start).saturating_sub(1) + first;
        match shares.last_mut().filter(|share| share.0 == unit) {
            Some(share) => share.1 += 1.0,
            None => shares.push((unit, 1.0)),
        }
    }
    PiecedView { pieces: shares, weight: view.weight }
}

/// The kept bytes of a text; tokens of bytes may end within a character, which is then left out.
fn joined(text: &str, kept: &[Range<usize>]) -> String {
    let whole_characters: Vec<Range<usize>> =
        kept.iter().map(|range| text.ceil_char_boundary(range.start)..text.floor_char_boundary(range.end)).collect();
    join(text, &whole_characters)
}

impl Pieces<'_> {
    fn piece(&mut self, text: &str, view: &TokenView, tokens: &[Range<usize>]) -> PiecedView {
        let number = self.pieces.len();
        self.pieces.push(Cow::Owned(joined(text, &view.bytes(tokens))));
        PiecedView { pieces: vec![(number, 1.0)], weight: view.weight }
    }

    /// The texts of the pieces.
    pub(crate) fn texts(&self) -> Vec<&str> {
        self.pieces.iter().map(AsRef::as_ref).collect()
    }

    /// Numbers of the pieces of a document.
    pub(crate) fn of_document(&self, document: usize) -> impl Iterator<Item = usize> {
        self.documents[document].views.iter().flat_map(|view| view.pieces.iter().map(|(piece, _)| *piece))
    }

    /// The key of the texts.
    pub(crate) fn key(&self) -> Key {
        Key::of_parts(self.pieces.iter().map(|piece| piece.as_bytes()))
    }

    /// True if the strategy keeps nothing of a document that has text.
    pub(crate) fn keeps_nothing(&self, document: usize) -> bool {
        self.documents[document].views.is_empty()
    }

    /// Adds the cost of the numbered documents, each as often as its number stands there.
    pub(crate) fn add_cost(&self, numbers: &[Option<usize>], cost: &mut Cost) {
        for document in numbers.iter().flatten().map(|&document| &self.documents[document]) {
            cost.documents += 1;
            cost.nothing_kept += u64::from(document.views.is_empty());
            cost.windows += document.views.len() as u64;
            cost.tokens += document.tokens;
        }
    }

    /// The row of a document, of the rows of all pieces `[pieces, columns]`.
    pub(crate) fn compose(&self, document: usize, rows: &[f32], over: Over, out: &mut [f32]) {
        let dim = out.len();
        let row = |piece: usize| &rows[piece * dim..(piece + 1) * dim];
        let views = &self.documents[document].views;
        let mut made: Vec<Vec<f32>> = Vec::with_capacity(views.len());
        for view in views {
            let mut one = vec![f32::NAN; dim];
            match view.pieces[..] {
                [(piece, _)] => one.copy_from_slice(row(piece)),
                _ => {
                    let pieces: Vec<(&[f32], f64)> =
                        view.pieces.iter().map(|&(piece, share)| (row(piece), share)).collect();
                    combine(Over::Salience, &pieces, &mut one);
                }
            }
            made.push(one);
        }
        let made: Vec<(&[f32], f64)> =
            made.iter().map(Vec::as_slice).zip(views.iter().map(|view| view.weight)).collect();
        match made[..] {
            // An answer without a number in it still has its other figures.
            [(row, _)] if !row[0].is_nan() => out.copy_from_slice(row),
            _ => combine(over, &made, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use chrono::{NaiveDate, NaiveDateTime};

    use super::*;
    use crate::extract::Model;
    use crate::extract::tests::Corpus;
    use inkstone_base::data::{Kind, Report};
    use inkstone_onnx::OnnxParams;
    use inkstone_onnx::testing::{graph, has_library};

    const FIRST: &str = "公司订单增长，产能利用率提升。毛利率下滑，费用增加。海外收入同比增长。现金流为负，应收款增加。\
                         管理层预计下半年好转。我们维持买入评级。";
    const SECOND: &str = "风险提示：需求不及预期。新产线投产，成本下降。净利润同比下降，毛利率下滑。";

    fn corpus() -> Corpus {
        let corpus = Corpus::new(0);
        let day = |day| NaiveDate::from_ymd_opt(2024, 1, day).unwrap().and_hms_opt(10, 0, 0).unwrap();
        let texts: Vec<(NaiveDateTime, Kind, &'static str, &'static str)> = vec![
            (day(1), Kind::Report, "点评", FIRST),
            (day(2), Kind::Report, "", SECOND),
            (day(3), Kind::Report, "", ""),
        ];
        corpus.put(&texts, 3);
        corpus.structure(&[]);
        corpus
    }

    fn feature(truncate: &str, compose: usize) -> Feature {
        let onnx = OnnxParams {
            model: graph("bert"),
            batch_tokens: 64,
            compose,
            fitted_until: NaiveDate::from_ymd_opt(2023, 12, 31),
            ..OnnxParams::default()
        };
        Feature {
            name: "bert".into(),
            model: Model::Onnx,
            truncate: truncate.parse().unwrap(),
            onnx,
            ..Feature::default()
        }
    }

    fn cost(report: &Report) -> Cost {
        serde_json::from_value(report.facts["cost"].clone()).unwrap()
    }

    fn near(a: &[f32], b: &[f32]) -> bool {
        a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5)
    }

    #[test]
    fn what_is_cut_by_sentences_is_read_as_what_the_encoder_cuts() {
        if !has_library() {
            return;
        }
        let corpus = corpus();
        let (place, report) = corpus.run(&feature("head:16", 0));
        // Nothing is boilerplate yet, so both keep the same.
        let (cut, of_cut) = corpus.run(&feature("head:16 -boilerplate", 0));
        let rows = |set| corpus.rows(set);
        assert!(near(&rows(place)[0], &rows(cut)[0]) && near(&rows(place)[1], &rows(cut)[1]));
        assert_eq!((cost(&report).tokens, cost(&of_cut).tokens), (32, 32));
        assert!(rows(cut)[2][0].is_nan());
        let (dropped, report) = corpus.run(&feature("tail:16", 0));
        assert!(!near(&rows(dropped)[0], &rows(place)[0]));
        assert_eq!(report.rows_out, 2);
    }

    #[test]
    fn windows_are_read_once_for_all_strategies() {
        if !has_library() {
            return;
        }
        let corpus = corpus();
        let sliding = cost(&corpus.run(&feature("windows:24/12", 0)).1);
        assert_eq!((sliding.tokens, sliding.documents), (sliding.tokens_read, 3));
        let shared = Mutex::new(Vec::new());
        let strategies = [
            "head:16",
            "tail:16",
            "middle:16",
            "random:16",
            "head+tail:16@0.5",
            "sections:16@rating",
            "head:16 -boilerplate",
            "windows:24/12@max",
            "sentences:24@first",
            "none",
        ];
        let mut read = 0;
        for strategy in strategies {
            let (_, report) = corpus.run_sharing(&feature(strategy, 24), Some(&shared)).unwrap();
            read += cost(&report).tokens_read;
            assert!(cost(&report).tokens > 0, "{strategy}");
        }
        assert!(
            read as f64 <= 1.3 * sliding.tokens_read as f64,
            "{read} tokens for all, {} for one pass",
            sliding.tokens_read
        );
        // All ten left the same windows, which whoever shares them removes.
        let sets = shared.into_inner().unwrap();
        assert!(sets.iter().all(|set| *set == sets[0]) && sets.len() == strategies.len());
        assert!(corpus.store.stats().unwrap().other_bytes > 0);
        corpus.store.remove(&sets[0]).unwrap();
        assert_eq!(corpus.store.stats().unwrap().other_bytes, 0);
    }

    #[test]
    fn a_row_is_put_together_from_windows_by_what_is_kept_of_each() {
        if !has_library() {
            return;
        }
        let corpus = corpus();
        // One window holds the second document's head and its tail.
        let rows = |strategy: &str, compose| corpus.rows(corpus.run(&feature(strategy, compose)).0);
        let uncut = rows("none", 0);
        assert!(near(&rows("head:8", 512)[0], &uncut[0]), "a window that holds all of it");
        let [head, tail, all] = ["head:8", "tail:8", "none"].map(|strategy| rows(strategy, 24));
        assert!(!near(&head[0], &tail[0]) && !near(&all[0], &head[0]));
        let between = |column: usize| {
            let windows = rows("sentences:24@max", 0)[0][column];
            all[0][column] <= windows + 1e-5
        };
        assert!((0..all[0].len()).all(between), "a mean of windows is nowhere above their maximum");
    }
}

//! RankIC that remains when the values of texts are given to other texts.
//!
//! Values are permuted among the documents of a kind; which document is about whom, and when, stays. The factor is
//! built anew, and its mean RankIC as a share of the one found is the number: what comes from who is written about and
//! when (attention), not from what is said. More than `max_share` fails; less, with p above 1 - `confidence`, warns. A
//! factor that no permutation changes counts documents by its construction, and warns: it is attention, which is no
//! fault if it is meant.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::factor::Signal;
use crate::lint::finding::ShuffledText;
use crate::lint::power::{Placebo, Power};
use crate::lint::{Check, Finding, Params, Standing, Subject, Texts, Verdict, no_documents, nothing_to_break};
use inkstone_base::data::Kind;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::stats::mean;

pub(super) fn check(subject: &Subject<'_>, power: &Power<'_>, params: &Params, ctx: &Ctx) -> Result<Verdict> {
    let Some(texts) = &subject.texts else { return Ok(no_documents(Check::ShuffledText, subject)) };
    if !power.is_there(params) {
        return Ok(nothing_to_break(Check::ShuffledText, power));
    }
    let values_of_documents = DocumentValues::new(texts);
    let draw = |number: usize| -> Result<(f64, bool)> {
        ctx.check()?;
        let mut rng = ChaCha8Rng::seed_from_u64(ctx.seed());
        rng.set_stream(number as u64);
        let factor = (texts.rebuild)(&values_of_documents.permuted(texts.signals, &mut rng))
            .context(Word("无法计算打乱文本后的因子", "cannot build the factor of permuted texts"))?;
        let drawn = power.series_of(&factor, ctx)?;
        let same = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan());
        let untouched = drawn.iter().zip(&power.series).all(same);
        Ok((mean(drawn.into_iter()), untouched))
    };
    let drawn = ctx.install(|| (0..params.text_draws).into_par_iter().map(draw).collect::<Result<Vec<_>>>())?;
    let (draws, untouched): (Vec<f64>, Vec<bool>) = drawn.into_iter().unzip();
    let untouched = untouched.into_iter().all(|untouched| untouched);
    let Placebo { mean, std, share, mut standing, figures } = power.placebo(draws, params);
    if untouched && standing != Standing::Skipped {
        standing = Standing::Warned;
    }
    let finding = Finding::ShuffledText(ShuffledText {
        rank_ic_permuted: mean,
        std_permuted: std,
        counts_documents: untouched,
        draws: figures,
    });
    Ok(Verdict::new(Check::ShuffledText, standing, share, Some(params.max_share), finding))
}

/// Values of documents. A document has one value for all securities that it is about. Values that several readings take of a
/// document move together.
struct DocumentValues {
    /// Numbers of documents of one kind that the same readings take.
    alike: Vec<Vec<u32>>,
    /// Value by document and reading.
    values: FxHashMap<(u32, u32), f64>,
    documents: u32,
}

impl DocumentValues {
    fn new(texts: &Texts<'_>) -> DocumentValues {
        let values: FxHashMap<(u32, u32), f64> =
            texts.counted().map(|(signal, _)| ((signal.document, signal.reading), signal.value)).collect();
        let mut readings: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut keys: Vec<(u32, u32)> = values.keys().copied().collect();
        keys.sort_unstable();
        keys.into_iter().for_each(|(document, reading)| readings.entry(document).or_default().push(reading));
        let mut alike: BTreeMap<(Kind, Vec<u32>), Vec<u32>> = BTreeMap::new();
        for (document, readings) in readings {
            alike.entry((texts.documents[document as usize].kind, readings)).or_default().push(document);
        }
        DocumentValues { alike: alike.into_values().collect(), values, documents: texts.documents.len() as u32 }
    }

    /// The signals with the values of other documents.
    fn permuted(&self, signals: &[Signal], rng: &mut ChaCha8Rng) -> Vec<Signal> {
        let mut from: Vec<u32> = (0..self.documents).collect();
        for alike in &self.alike {
            let mut other = alike.clone();
            other.shuffle(rng);
            alike.iter().zip(other).for_each(|(document, other)| from[*document as usize] = other);
        }
        let with_other = |signal: &Signal| {
            let other = self.values.get(&(from[signal.document as usize], signal.reading));
            Signal { value: other.copied().unwrap_or(signal.value), ..*signal }
        };
        signals.iter().map(with_other).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::testing::{Post, World};

    #[test]
    fn values_stay_among_their_kind_and_a_document_says_one_thing_of_all() {
        let mut posts: Vec<Post> = (0..12).map(|k| Post::new(k, (0, 10, 0), f64::from(k))).collect();
        // One document about the codes 0 and 1, and reports from 6 on.
        (posts[1].document, posts[1].value) = (Some(0), 0.0);
        posts[6..].iter_mut().for_each(|post| post.kind = Kind::Report);
        let world = World::flat(12, 3, posts, |post| Some(post.day));
        world.look(|subject| {
            let texts = subject.texts.as_ref().unwrap();
            let values_of_documents = DocumentValues::new(texts);
            assert_eq!((values_of_documents.values.len(), values_of_documents.alike.len()), (11, 2));
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            let permuted = values_of_documents.permuted(texts.signals, &mut rng);
            assert_eq!(permuted[0].value, permuted[1].value);
            let sorted = |range: std::ops::Range<usize>| {
                let mut values: Vec<f64> = permuted[range].iter().map(|s| s.value).collect();
                values.sort_by(f64::total_cmp);
                values
            };
            assert_eq!(sorted(6..12), [6.0, 7.0, 8.0, 9.0, 10.0, 11.0], "reports among reports");
            let sum: f64 = permuted[1..6].iter().map(|s| s.value).sum();
            assert_eq!(sum, 14.0, "news among news");
        });
    }
}

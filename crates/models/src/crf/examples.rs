//! Texts as the numbers of their features.

use anyhow::Result;
use rayon::prelude::*;

use super::LabelledText;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_text::labeller::{Characters, FeatureTable, Templates, WordList};

/// Number of a feature that is not learned.
pub(super) const NONE: u32 = u32::MAX;

/// All texts, one after the other; a place is a character of one of them.
pub(super) struct Examples {
    pub(super) labels: usize,
    pub(super) templates: usize,
    pub(super) features: FeatureTable,
    /// The feature of each template at each place, `[places, templates]`.
    pub(super) seen: Vec<u32>,
    /// Places of each feature in order, one feature after the other.
    pub(super) places: Vec<u32>,
    /// Index in `places` at which the places of each feature begin; the last index is the length of `places`.
    pub(super) begins: Vec<usize>,
    /// The right label of each place.
    pub(super) right: Vec<u8>,
    /// First place of each text; the last entry is the number of places.
    pub(super) texts: Vec<usize>,
}

impl Examples {
    /// Texts without characters are left out.
    pub(super) fn new(
        texts: &[LabelledText],
        labels: usize,
        templates: &Templates,
        words: Option<&WordList>,
        min_count: u64,
        ctx: &Ctx,
    ) -> Result<Examples> {
        let read = ctx.install(|| {
            let read = texts.par_iter().map(|text| {
                ctx.check()?;
                let characters = Characters::new(&text.text, words);
                ensure!(
                    characters.len() == text.labels.len()
                        && text.labels.iter().all(|&label| usize::from(label) < labels),
                    "文本有 {} 个字，标签有 {} 个",
                    "a text has {} characters and {} labels",
                    characters.len(),
                    text.labels.len()
                );
                Ok(characters)
            });
            read.collect::<Result<Vec<Characters>>>()
        })?;
        let mut begins = vec![0];
        for characters in read.iter().filter(|characters| !characters.is_empty()) {
            begins.push(begins[begins.len() - 1] + characters.len());
        }
        let count = begins[begins.len() - 1];
        ensure!(
            count < NONE as usize,
            "文本共 {count} 个字，最多四十亿；请取其一部分",
            "{count} characters are more than the four billion that one training takes; give a part of them"
        );
        ensure!(count > 0, Word("文本中没有字可学", "the texts have no character to learn from"));
        let places: Vec<(u32, u32)> = (0..)
            .zip(&read)
            .flat_map(|(text, characters)| (0..characters.len() as u32).map(move |place| (text, place)))
            .collect();
        let mut examples = Examples {
            labels,
            templates: templates.len(),
            features: FeatureTable::new(Vec::new(), vec![0]).expect("no features are in order"),
            seen: vec![NONE; count * templates.len()],
            places: Vec::new(),
            begins: vec![0],
            right: texts.iter().flat_map(|text| &text.labels).copied().collect(),
            texts: begins,
        };
        let (mut keys, mut starts) = (Vec::new(), vec![0]);
        for template in 0..templates.len() {
            ctx.check()?;
            let mut found: Vec<(u64, u32)> = ctx.install(|| {
                let key = |(number, &(text, place)): (usize, &(u32, u32))| {
                    (templates.key(template, &read[text as usize], place as usize), number as u32)
                };
                let mut found: Vec<(u64, u32)> = places.par_iter().enumerate().map(key).collect();
                found.par_sort_unstable();
                found
            });
            for run in found.chunk_by_mut(|a, b| a.0 == b.0).filter(|run| run.len() as u64 >= min_count) {
                let number = keys.len() as u32;
                keys.push(run[0].0);
                for &mut (_, place) in run {
                    examples.seen[place as usize * templates.len() + template] = number;
                    examples.places.push(place);
                }
                examples.begins.push(examples.places.len());
            }
            starts.push(keys.len() as u64);
        }
        ensure!(
            keys.len() < NONE as usize / 4,
            "特征多达 {} 个：请提高 --min-count",
            "there are {} features, too many: raise --min-count",
            keys.len()
        );
        examples.features = FeatureTable::new(keys, starts).expect("keys were sorted");
        Ok(examples)
    }

    /// The features of a place.
    pub(super) fn seen_at(&self, place: usize) -> impl Iterator<Item = usize> {
        let seen = &self.seen[place * self.templates..(place + 1) * self.templates];
        seen.iter().filter(|&&feature| feature != NONE).map(|&feature| feature as usize)
    }
}

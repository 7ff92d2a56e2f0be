//! Networks walked forward over words in their order: the words and the given vectors of each fold come from its training window alone.

use std::ops::Range;
use std::sync::Arc;

use anyhow::Result;
use chrono::{NaiveDate, NaiveDateTime};

use super::{Examples, TextNet, TextNetParams};
use crate::walk_forward::{FoldNetworks, FoldReport, NetFold};
use crate::words::WordLimits;
use crate::{Goal, WordVectors};
use inkstone_base::data::TooLittle;
use inkstone_base::job::Ctx;
use inkstone_base::{ensure, message};

/// Texts as numbers of words, a text a sample.
pub struct NumberedTexts<'a> {
    /// The numbers of all tokens.
    pub numbers: &'a [u32],
    /// The places of each text's tokens among them.
    pub places: &'a [Range<usize>],
    /// The word of each number: mere names, which words are known is decided on each training window.
    pub words: &'a [String],
}

impl NumberedTexts<'_> {
    pub(super) fn text(&self, i: usize) -> &[u32] {
        &self.numbers[self.places[i].clone()]
    }
}

/// Word vectors that the network of a fold begins with.
#[derive(Clone)]
pub struct GivenVectors {
    pub vectors: Arc<WordVectors>,
    /// Last time of the text that they were trained on.
    pub seen_until: NaiveDateTime,
}

/// Gives the word vectors of a fold by its last training day; none where too little text was there before that day.
pub type VectorsOfFold<'a> = &'a (dyn Fn(NaiveDate) -> Result<Option<GivenVectors>> + Sync);

/// The texts of samples, and the settings of the networks that read them.
pub struct TextNets<'a> {
    pub texts: NumberedTexts<'a>,
    pub limits: &'a WordLimits,
    pub params: &'a TextNetParams,
    pub given: Option<VectorsOfFold<'a>>,
}

/// A network of a fold, with the words that it knows.
pub struct FoldNet {
    pub net: TextNet,
    vocabulary: KnownWords,
    given: Option<GivenVectors>,
}

impl FoldNetworks for TextNets<'_> {
    type Network = FoldNet;

    fn tokens(&self, sample: usize) -> usize {
        self.texts.text(sample).len().min(self.params.max_tokens)
    }

    fn train(&self, samples: &[usize], goal: &Goal, report: &mut FoldReport, ctx: &Ctx) -> Result<Option<FoldNet>> {
        let TextNets { texts, limits, params, given } = self;
        let given = match given {
            None => None,
            Some(given) => match given(report.train.1)? {
                None => return Ok(None),
                given => given,
            },
        };
        let vocabulary = KnownWords::new(texts, samples, limits, ctx)?;
        report.vocabulary = vocabulary.words.len();
        let documents = samples.iter().map(|&i| vocabulary.document(texts.text(i), params.max_tokens)).collect();
        let examples = Examples { documents, goal: goal.clone() };
        let vectors = given.as_ref().map(|given| &*given.vectors);
        let net = TextNet::train(&examples, vocabulary.words.clone(), vectors, params, None, ctx)?;
        Ok(Some(FoldNet { net, vocabulary, given }))
    }

    fn probabilities(&self, network: &FoldNet, samples: &[usize], _: &Ctx) -> Result<Vec<f64>> {
        let document = |&i: &usize| network.vocabulary.document(self.texts.text(i), self.params.max_tokens);
        network.net.probabilities(&samples.iter().map(document).collect::<Vec<Vec<u32>>>())
    }

    fn knows(&self, network: &FoldNet, sample: usize) -> bool {
        self.texts.text(sample).iter().any(|&number| network.vocabulary.knows(number))
    }

    fn figures(&self, network: &FoldNet) -> NetFold {
        let FoldNet { net, vocabulary, given } = network;
        NetFold {
            given_words: given.as_ref().map(|given| given.vectors.known(&vocabulary.words)),
            vectors_until: given.as_ref().map(|given| given.seen_until),
            parameters: net.parameters(),
            epochs: net.epochs().to_vec(),
        }
    }
}

/// The words of a training window.
pub(super) struct KnownWords {
    pub(super) words: Vec<Box<str>>,
    /// The place among these of each number of the corpus; that of unknown words comes after the last.
    places: Vec<u32>,
}

impl KnownWords {
    pub(super) fn new(
        texts: &NumberedTexts<'_>,
        train: &[usize],
        limits: &WordLimits,
        ctx: &Ctx,
    ) -> Result<KnownWords> {
        let mut counts = vec![0u64; texts.words.len()];
        for &i in train {
            ctx.check()?;
            texts.text(i).iter().for_each(|&number| counts[number as usize] += 1);
        }
        let kept = limits.choose(&counts, texts.words);
        ensure!(
            kept.len() > 1,
            TooLittle(message!(
                "{3} 篇文档的 {1} 个词中有 {0} 个出现至少 {2} 次，网络需要两个：请降低 words.min_count",
                "{} of {} words occur at least {} times in {} documents, and a network needs two: lower words.min_count",
                kept.len(),
                counts.iter().filter(|count| **count > 0).count(),
                limits.min_count,
                train.len()
            ))
        );
        let mut places = vec![kept.len() as u32; texts.words.len()];
        (0..).zip(&kept).for_each(|(place, &number)| places[number as usize] = place);
        Ok(KnownWords {
            words: kept.iter().map(|&number| texts.words[number as usize].as_str().into()).collect(),
            places,
        })
    }

    fn knows(&self, number: u32) -> bool {
        (self.places[number as usize] as usize) < self.words.len()
    }

    pub(super) fn document(&self, text: &[u32], most: usize) -> Vec<u32> {
        text.iter().take(most).map(|&number| self.places[number as usize]).collect()
    }
}

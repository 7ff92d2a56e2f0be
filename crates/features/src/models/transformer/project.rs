//! A score for each document by an encoder that each fold trains on from the same base: the target out.

use std::ops::Range;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use rayon::prelude::*;

use super::params::BaseFolder;
use super::texts::{TextWriter, TokenizedTexts, inputs, room};
use super::{heads_of, tokenizer_of, words_beside};
use crate::extract::entry::{Explainer, ModelEntry, RowModel};
use crate::extract::feature::name_keys;
use crate::extract::network_walk::{network_of, walk_networks, write_walk};
use crate::extract::reading::{CorpusReader, ReadDocument};
use crate::extract::samples::SampledCorpus;
use crate::extract::set::SetParams;
use crate::extract::text_rows::TextRows;
use crate::extract::{Feature, Inputs};
use inkstone_base::data::{Key, Report};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_models::transformer::{
    BaseVintage, FinetunedFolds, FrozenStates, TextGoal, TokenTexts, Transformer, WordsBeside, softmax,
};
use inkstone_models::{CalibrationForm, NetWalk, lead};
use inkstone_store::{SetSpec, Store};
use inkstone_text::subword::Subword;

/// Version of the arithmetic of encoders; rows of another version are not taken up.
const VERSION: u32 = 2;

pub(crate) const ENTRY: ModelEntry = ModelEntry {
    explained_by: Explainer::Rows,
    opened: RowModel::Refit(open),
    walk_fits: Some(walk_fits),
    settings: &["walk_forward", "target", "classes", "finetune"],
    check,
    ..ModelEntry::of_target(run)
};

/// Fails where the settings of a feature do not suit an encoder.
fn check(feature: &Feature) -> Result<()> {
    feature.finetune.check().map_err(|error| name_keys("finetune", &error))?;
    ensure!(
        feature.classes.calibrate == CalibrationForm::None,
        "classes.calibrate 用于 logistic、bayes、svm、boosted 和 mlp；请去掉",
        "classes.calibrate is for logistic, bayes, svm, boosted and mlp; leave it out"
    );
    Ok(())
}

fn run(feature: &Feature, inputs: &Inputs<'_>, store: &Store, ctx: &Ctx) -> Result<(Key, Report)> {
    let mut report = Report::new(&feature.name);
    let walk = FeatureWalk::read(feature, inputs, &mut report, ctx)?;
    let spec = walk.spec()?;
    let walked = walk.folds(&spec)?;
    write_walk(&walk.reader, &spec, &walk.sampled, walked, store, report)
}

/// Walks over the folds of a feature without making rows of the corpus.
fn walk_fits(
    feature: &Feature,
    inputs: &Inputs<'_>,
    ctx: &Ctx,
    check: &mut dyn FnMut(&[Key], &SetSpec) -> Result<()>,
) -> Result<()> {
    let walk = FeatureWalk::read(feature, inputs, &mut Report::new(&feature.name), ctx)?;
    let spec = walk.spec()?;
    check(&walk.sampled.batches(), &spec)?;
    walk.folds(&spec)?;
    Ok(())
}

/// The base of a feature or its vintages, and how they read texts.
struct Base {
    /// By time.
    folders: Vec<BaseFolder>,
    subword: Subword,
    /// Tokens that are read of a text at most, special tokens not included.
    room: usize,
    /// The texts' own words, where they are learned beside the target.
    words: Option<WordsBeside>,
}

impl Base {
    fn open(feature: &Feature, inputs: &Inputs<'_>) -> Result<Base> {
        let folders = feature.finetune.folders(inputs.base)?;
        let subword = tokenizer_of(&folders[0].folder.files, folders[0].folder.shape.vocabulary)?;
        let most = folders.iter().map(|base| base.folder.most_tokens()).min().unwrap_or(0);
        let room = room(&subword, feature.finetune.max_tokens, most).map_err(|error| name_keys("finetune", &error))?;
        let words = words_beside(&folders[0].folder, &subword, feature.finetune.words)?;
        Ok(Base { folders, subword, room, words })
    }

    /// The tokens of a text with special tokens.
    fn tokens(&self, document: &ReadDocument) -> Result<Vec<u32>> {
        let text = document.text.as_deref().unwrap_or_default();
        let read = inputs(&self.subword, text, self.room, None)?.into_iter().next();
        Ok(read.unwrap_or_else(|| self.subword.wrap(&[]).ids))
    }

    fn encoders(&self, seed: u64) -> Result<Vec<BaseVintage>> {
        let read = |BaseFolder { folder, seen_until }: &BaseFolder| {
            let encoder = folder.read(heads_of(folder, TextGoal::Classes(2), self.words)?, seed)?;
            Ok(BaseVintage { encoder, seen_until: *seen_until })
        };
        self.folders.iter().map(read).collect()
    }
}

/// The folds of a feature over a corpus.
struct FeatureWalk<'a> {
    reader: CorpusReader<'a>,
    base: Base,
    sampled: SampledCorpus,
    texts: TokenizedTexts,
}

impl<'a> FeatureWalk<'a> {
    fn read(
        feature: &'a Feature,
        inputs: &'a Inputs<'a>,
        report: &mut Report,
        ctx: &'a Ctx,
    ) -> Result<FeatureWalk<'a>> {
        let named = || format!("feature {:?}", feature.name);
        feature.check().with_context(named)?;
        let reader = CorpusReader::new(feature, inputs, ctx)?;
        let base = Base::open(feature, inputs).with_context(named)?;
        let (sampled, texts) = read(&reader, &base, report)?;
        Ok(FeatureWalk { reader, base, sampled, texts })
    }

    /// The set of the feature's rows.
    fn spec(&self) -> Result<SetSpec> {
        let CorpusReader { feature, inputs, ctx, .. } = &self.reader;
        // Later vintages are read by folds alone that begin behind their text.
        let seen = self.base.folders[0].seen_until;
        let params = SetParams::of_returns(&self.reader).with("seed", ctx.seed()).with("encoders", VERSION);
        let params = params.with("base", feature.finetune.files_key(inputs.base)?);
        Ok(params.dense(feature, Some(seen)))
    }

    fn folds(&self, spec: &SetSpec) -> Result<NetWalk> {
        with_folds(&self.reader, &self.base, &self.sampled, &self.texts, |folds| {
            walk_networks(&self.reader, spec, &self.sampled, folds)
        })
    }
}

/// The samples of a corpus, with their tokens.
fn read(reader: &CorpusReader<'_>, base: &Base, report: &mut Report) -> Result<(SampledCorpus, TokenizedTexts)> {
    // A scratch file lies in the folder of the corpus.
    let mut writer = TextWriter::new(&reader.inputs.clean.folder().join("tokens"))?;
    let tokens = |document: &ReadDocument| base.tokens(document);
    let sampled = SampledCorpus::read(reader, tokens, |tokens| writer.push(&tokens?), report)?;
    Ok((sampled, writer.finish()?))
}

/// Gives `work` the encoders of the folds. What lies below the trained blocks is computed once for all folds.
fn with_folds<T>(
    reader: &CorpusReader<'_>,
    base: &Base,
    sampled: &SampledCorpus,
    texts: &TokenizedTexts,
    work: impl FnOnce(&FinetunedFolds<'_>) -> Result<T>,
) -> Result<T> {
    let CorpusReader { feature, inputs, ctx, .. } = reader;
    let (bases, params) = (base.encoders(ctx.seed())?, &feature.finetune.training);
    let (tokens, places): (&[u32], &[Range<usize>]) = (texts.tokens(), &texts.places);
    let frozen = match &bases[..] {
        [only] if !inputs.fits.lists() && base.words.is_none_or(|words| words.masking.is_none()) => {
            FrozenStates::compute(&only.encoder, params, tokens, places, inputs.clean.folder(), ctx)?
        }
        _ => None,
    };
    let times: Vec<NaiveDateTime> = sampled.samples.iter().map(|sample| sample.known_at).collect();
    let last = times.iter().max();
    ensure!(
        bases.len() == 1 || last.is_none_or(|last| bases[0].seen_until <= *last),
        "特征 {:?}：finetune.base 的第一期知道截至 {} 的文本，而所有文档都更早：没有一折能用任何一期",
        "feature {:?}: the first vintage of finetune.base knows text until {}, and all documents are older: no fold can take a vintage",
        feature.name,
        bases[0].seen_until
    );
    work(&FinetunedFolds {
        bases: &bases,
        texts: TokenTexts { tokens, frozen: frozen.as_ref() },
        places,
        times: &times,
        specials: base.subword.specials(),
        params,
        words: base.words,
    })
}

/// The encoder of the fold that scored the document in this part and row. Reads the corpus once.
fn open(reader: &CorpusReader<'_>, place: (usize, usize)) -> Result<Option<Box<dyn TextRows>>> {
    let CorpusReader { feature, ref inputs, .. } = *reader;
    let base = Base::open(feature, inputs)?;
    let (sampled, texts) = read(reader, &base, &mut Report::new(&feature.name))?;
    let found = with_folds(reader, &base, &sampled, &texts, |folds| network_of(reader, &sampled, folds, place))?;
    let classes = feature.classes.with_probabilities().to_vec();
    Ok(found.map(|(encoder, names)| {
        Box::new(FoldRows { encoder: encoder.encoder, names, base, classes }) as Box<dyn TextRows>
    }))
}

/// The encoder of a fold as a model of rows.
struct FoldRows {
    encoder: Transformer,
    /// The classes of its training window.
    names: Vec<String>,
    base: Base,
    /// The classes whose probabilities are columns.
    classes: Vec<String>,
}

impl TextRows for FoldRows {
    fn document_rows(&mut self, documents: &[ReadDocument], reader: &CorpusReader<'_>) -> Result<Vec<f32>> {
        let FoldRows { encoder, names, base, classes } = self;
        let row = |document: &ReadDocument| {
            let tokens = base.tokens(document)?;
            let texts = TokenTexts { tokens: &tokens, frozen: None };
            let found = softmax(&encoder.scores(texts, &[0..tokens.len()], reader.ctx)?);
            let place = |class: &String| names.iter().position(|name| name == class);
            let known = classes.iter().map(|class| place(class).map_or(f32::NAN, |place| found[place] as f32));
            Ok(std::iter::once(lead(&found, names.len() - 1) as f32).chain(known).collect())
        };
        let rows = reader.ctx.install(|| documents.par_iter().map(row).collect::<Result<Vec<Vec<f32>>>>())?;
        Ok(rows.concat())
    }
}

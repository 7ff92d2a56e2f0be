//! A score for each document by a small network walked forward: words in their order in, the target out.

use std::ops::Range;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use memmap2::Mmap;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::given_vectors::Embeddings;
use crate::extract::documents::WordNumbers;
use crate::extract::entry::{Explainer, ModelEntry, RowModel};
use crate::extract::feature::name_keys;
use crate::extract::network_walk::{network_of, walk_networks, write_walk};
use crate::extract::reading::{CorpusReader, ReadDocument};
use crate::extract::samples::SampledCorpus;
use crate::extract::set::SetParams;
use crate::extract::text_rows::TextRows;
use crate::extract::{Feature, Inputs, Model};
use inkstone_base::data::{Key, Report, TooLittle};
use inkstone_base::disk::{self, Scratch};
use inkstone_base::job::Ctx;
use inkstone_base::{ensure, message};
use inkstone_models::textnet::{
    Channels, NumberedTexts, TextNet, TextNetKind, TextNetParams, TextNets, VectorsOfFold, net_out_of_fold,
};
use inkstone_models::{CalibrationForm, Goal, NetWalk, Split, lead};
use inkstone_store::{SetSpec, Store};

/// Version of the arithmetic of networks; rows of another version are not taken up.
const VERSION: u32 = 2;

/// Fails where the settings of a feature do not suit a network.
fn check(feature: &Feature) -> Result<()> {
    let (kind, params) = (feature.model, &feature.textnet);
    network(feature).check().map_err(|error| name_keys("textnet", &error))?;
    ensure!(
        params.kind == TextNetKind::default() || kind == Model::TextRnn,
        "textnet.kind 为 {}，与特征的模型不同；请去掉",
        "textnet.kind is {}, and the feature's model another; leave it out",
        params.kind.name()
    );
    feature.embeddings.check()?;
    ensure!(
        params.channels == Channels::Tuned || feature.embeddings.are_given(),
        "textnet.channels = static 和 both 保留给定的词向量：请用 embeddings.feature 或 embeddings.file 给出",
        "textnet.channels = static and both keep given word vectors: give them with embeddings.feature or embeddings.file"
    );
    ensure!(
        feature.classes.calibrate == CalibrationForm::None,
        "classes.calibrate 用于 logistic、bayes、svm、boosted 和 mlp；请去掉",
        "classes.calibrate is for logistic, bayes, svm, boosted and mlp; leave it out"
    );
    Ok(())
}

/// The network's settings; its kind is the model's.
fn network(feature: &Feature) -> TextNetParams {
    let kind = if feature.model == Model::TextRnn { TextNetKind::TextRnn } else { TextNetKind::TextCnn };
    TextNetParams { kind, ..feature.textnet.clone() }
}

pub(crate) const ENTRY: ModelEntry = ModelEntry {
    explained_by: Explainer::Rows,
    opened: RowModel::Refit(open),
    walk_fits: Some(walk_fits),
    settings: &["words", "walk_forward", "target", "classes", "textnet", "embeddings"],
    check,
    ..ModelEntry::of_target(run)
};

fn run(feature: &Feature, inputs: &Inputs<'_>, store: &Store, ctx: &Ctx) -> Result<(Key, Report)> {
    let mut report = Report::new(&feature.name);
    let walk = FeatureWalk::read(feature, inputs, &mut report, ctx)?;
    let embeddings = walk.embeddings()?;
    let spec = walk.spec(&embeddings)?;
    let walked = walk.folds(&embeddings, &spec)?;
    if let Some(enough) = walked.folds.iter().find(|fold| fold.train_rows >= feature.walk_forward.min_train_rows) {
        ensure!(
            !feature.embeddings.has_feature() || walked.folds.iter().any(|fold| fold.fitted_until.is_some()),
            TooLittle(message!(
                "特征 {:?} 学不到任何东西：它的任何一个训练窗口（首个文档足够的窗口止于 {}）之前，特征 {:?} 都没有词向量：请降低后者的 vintages.min_train_documents 或 words.min_count，或延长 train_days",
                "feature {:?} learns nothing: before none of its training windows (the first with enough documents ends on {}) feature {:?} has a vintage of word vectors: lower its vintages.min_train_documents or words.min_count, or lengthen train_days",
                feature.name,
                enough.train.1,
                feature.embeddings.feature
            ))
        );
    }
    report.fact("words", walk.read.tokens.words.len());
    write_walk(&walk.reader, &spec, &walk.read.sampled, walked, store, report)
}

/// Walks over the folds of a feature without making rows of the corpus.
fn walk_fits(
    feature: &Feature,
    inputs: &Inputs<'_>,
    ctx: &Ctx,
    check: &mut dyn FnMut(&[Key], &SetSpec) -> Result<()>,
) -> Result<()> {
    let walk = FeatureWalk::read(feature, inputs, &mut Report::new(&feature.name), ctx)?;
    let embeddings = walk.embeddings()?;
    let spec = walk.spec(&embeddings)?;
    check(&walk.read.sampled.batches(), &spec)?;
    walk.folds(&embeddings, &spec)?;
    Ok(())
}

/// The networks of a feature over a corpus.
struct FeatureWalk<'a> {
    reader: CorpusReader<'a>,
    read: NumberedSamples,
}

impl<'a> FeatureWalk<'a> {
    fn read(
        feature: &'a Feature,
        inputs: &'a Inputs<'a>,
        report: &mut Report,
        ctx: &'a Ctx,
    ) -> Result<FeatureWalk<'a>> {
        feature.check().with_context(|| message!("特征 {:?}", "feature {:?}", feature.name))?;
        let reader = CorpusReader::new(feature, inputs, ctx)?;
        let read = NumberedSamples::read(&reader, report)?;
        Ok(FeatureWalk { reader, read })
    }

    fn embeddings(&self) -> Result<Embeddings<'_>> {
        let CorpusReader { feature, inputs, segmenter, ctx, .. } = &self.reader;
        Embeddings::new(feature, inputs, segmenter, ctx)
            .with_context(|| message!("特征 {:?}", "feature {:?}", feature.name))
    }

    /// The set of the feature's rows.
    fn spec(&self, embeddings: &Embeddings<'_>) -> Result<SetSpec> {
        let CorpusReader { feature, inputs, ctx, .. } = &self.reader;
        let mut params = SetParams::of_returns(&self.reader).with("seed", ctx.seed()).with("networks", VERSION);
        if feature.embeddings.are_given() {
            params = params.with("embeddings", feature.embeddings.key(inputs.features, inputs.base)?);
        }
        Ok(params.dense(feature, embeddings.seen_until()))
    }

    fn folds(&self, embeddings: &Embeddings<'_>, spec: &SetSpec) -> Result<NetWalk> {
        with_networks(self.reader.feature, &self.read, embeddings, |networks| {
            walk_networks(&self.reader, spec, &self.read.sampled, networks)
        })
    }
}

/// Gives `work` the networks of a feature.
fn with_networks<T>(
    feature: &Feature,
    read: &NumberedSamples,
    embeddings: &Embeddings<'_>,
    work: impl FnOnce(&TextNets<'_>) -> Result<T>,
) -> Result<T> {
    let mut params = network(feature);
    // The vectors say how many values they have.
    params.dim = embeddings.dim().unwrap_or(params.dim);
    params.check()?;
    let of_fold = |day| embeddings.of_fold(day);
    let given = embeddings.dim().map(|_| &of_fold as VectorsOfFold<'_>);
    work(&TextNets { texts: read.tokens.texts(), limits: &feature.words, params: &params, given })
}

/// The tokens of documents as numbers, on the disk.
struct NumberedTokens {
    /// The numbers of all tokens; none when there are none.
    map: Option<Mmap>,
    /// The places of each document's tokens among them.
    places: Vec<Range<usize>>,
    /// The word of each number.
    words: Vec<String>,
}

impl NumberedTokens {
    fn texts(&self) -> NumberedTexts<'_> {
        NumberedTexts { numbers: disk::numbers(self.map.as_ref()), places: &self.places, words: &self.words }
    }
}

/// Takes the tokens of one document after the other.
struct TokenWriter {
    scratch: Scratch,
    words: WordNumbers,
    places: Vec<Range<usize>>,
    written: usize,
}

impl TokenWriter {
    fn new(reader: &CorpusReader<'_>) -> Result<TokenWriter> {
        let scratch = Scratch::within(reader.inputs.clean.folder())?;
        Ok(TokenWriter { scratch, words: WordNumbers::default(), places: Vec::new(), written: 0 })
    }

    fn push(&mut self, tokens: Vec<String>) -> Result<()> {
        let numbers = self.words.number(tokens);
        self.places.push(self.written..self.written + numbers.len());
        self.written += numbers.len();
        self.scratch.write(bytemuck::cast_slice(&numbers))
    }

    fn finish(self) -> Result<NumberedTokens> {
        Ok(NumberedTokens { map: self.scratch.map()?, places: self.places, words: self.words.into_words() })
    }
}

/// Samples and their tokens.
struct NumberedSamples {
    sampled: SampledCorpus,
    tokens: NumberedTokens,
}

impl NumberedSamples {
    fn read(reader: &CorpusReader<'_>, report: &mut Report) -> Result<NumberedSamples> {
        let mut writer = TokenWriter::new(reader)?;
        let sampled =
            SampledCorpus::read(reader, |document| tokens(document, reader), |tokens| writer.push(tokens), report)?;
        Ok(NumberedSamples { sampled, tokens: writer.finish()? })
    }
}

/// Documents with classes, and the folds in which a network is judged on them.
#[derive(Clone, Copy)]
pub struct FoldedClasses<'a> {
    /// Part and row of each document in the corpus.
    pub places: &'a [(usize, usize)],
    pub times: &'a [NaiveDateTime],
    pub goal: &'a Goal,
    pub splits: &'a [Split],
}

/// Scores of documents by networks that did not see their fold: see [`net_out_of_fold`]. Word vectors of a feature are those of the vintage
/// before the last training document of all folds: they have read texts that are tested, and no class. Reads the corpus once; progress is
/// counted in documents.
pub fn scores_in_folds(
    feature: &Feature,
    inputs: &Inputs<'_>,
    folded: FoldedClasses<'_>,
    ctx: &Ctx,
) -> Result<Vec<f64>> {
    let reader = CorpusReader::new(feature, inputs, ctx)?;
    let mut writer = TokenWriter::new(&reader)?;
    let number_of: FxHashMap<(usize, usize), usize> = folded.places.iter().copied().zip(0..).collect();
    let (mut part, mut found) = (0, Vec::new());
    reader.for_each_part(|documents| {
        let with_class = |(row, document)| Some((*number_of.get(&(part, row))?, document));
        let (numbers, documents): (Vec<usize>, Vec<&ReadDocument>) =
            documents.iter().enumerate().filter_map(with_class).unzip();
        let read: Vec<Vec<String>> =
            ctx.install(|| documents.par_iter().map(|document| tokens(document, &reader)).collect());
        read.into_iter().try_for_each(|tokens| writer.push(tokens))?;
        found.extend(numbers);
        part += 1;
        Ok(ctx.advance(documents.len() as u64)?)
    })?;
    let tokens = writer.finish()?;
    // Documents with a class stand in the order of time, and their tokens in that of the corpus.
    let mut places = vec![0..0; folded.places.len()];
    found.iter().zip(&tokens.places).for_each(|(&number, place)| places[number] = place.clone());
    let texts = NumberedTexts { places: &places, ..tokens.texts() };
    let embeddings = Embeddings::new(feature, inputs, &reader.segmenter, ctx)?;
    let mut params = network(feature);
    params.dim = embeddings.dim().unwrap_or(params.dim);
    let last_day = folded.splits.iter().flat_map(|split| &split.train).map(|&i| folded.times[i].date()).max();
    let given = last_day.map(|day| embeddings.of_fold(day)).transpose()?.flatten();
    ensure!(
        !feature.embeddings.has_feature() || given.is_some(),
        TooLittle(message!(
            "最后一篇训练文档之前，特征 {:?} 没有词向量：请降低它的 vintages.min_train_documents",
            "feature {:?} has no vintage of word vectors before the last training document: lower its vintages.min_train_documents",
            feature.embeddings.feature
        ))
    );
    let vectors = given.as_ref().map(|given| &*given.vectors);
    net_out_of_fold(&texts, folded.goal, folded.splits, &feature.words, &params, vectors, ctx)
}

/// The tokens of a document, those of the title first.
fn tokens(document: &ReadDocument, reader: &CorpusReader<'_>) -> Vec<String> {
    let fields = document.fields().unwrap_or_default();
    let tokens = [fields.title, fields.body].map(|text| reader.segmenter.tokens(text));
    tokens.iter().flatten().map(|token| token.text.to_owned()).collect()
}

/// The network of the fold that scored the document in this part and row. Reads the corpus once.
fn open(reader: &CorpusReader<'_>, place: (usize, usize)) -> Result<Option<Box<dyn TextRows>>> {
    let CorpusReader { feature, ref inputs, ctx, .. } = *reader;
    let read = NumberedSamples::read(reader, &mut Report::new(&feature.name))?;
    let embeddings = Embeddings::new(feature, inputs, &reader.segmenter, ctx)?;
    let found =
        with_networks(feature, &read, &embeddings, |networks| network_of(reader, &read.sampled, networks, place))?;
    let classes = feature.classes.with_probabilities().to_vec();
    Ok(found.map(|(network, _)| Box::new(FoldRows { net: network.net, classes }) as Box<dyn TextRows>))
}

/// The network of a fold as a model of rows.
struct FoldRows {
    net: TextNet,
    /// The classes whose probabilities are columns.
    classes: Vec<String>,
}

impl TextRows for FoldRows {
    fn document_rows(&mut self, documents: &[ReadDocument], reader: &CorpusReader<'_>) -> Result<Vec<f32>> {
        let FoldRows { net, classes } = self;
        let row = |document: &ReadDocument| {
            reader.ctx.check()?;
            let tokens = tokens(document, reader);
            let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
            let found = net.probabilities(&[net.document(&tokens)])?;
            let place = |class: &String| net.names().iter().position(|name| name == class);
            let known = classes.iter().map(|class| place(class).map_or(f32::NAN, |place| found[place] as f32));
            Ok(std::iter::once(lead(&found, net.names().len() - 1) as f32).chain(known).collect())
        };
        let rows = reader.ctx.install(|| documents.par_iter().map(row).collect::<Result<Vec<Vec<f32>>>>())?;
        Ok(rows.concat())
    }
}

#[cfg(test)]
mod tests {
    use chrono::{Days, NaiveDate, NaiveDateTime};

    use super::*;
    use crate::extract::SetMeta;
    use crate::extract::tests::Corpus;
    use crate::extract::{Model, Target, VintageParams};
    use crate::models::textnet::EmbeddingParams;
    use inkstone_base::data::Kind;
    use inkstone_market::{LazyMarket, Market};
    use inkstone_models::neural::FitParams;
    use inkstone_models::{ClassParams, WalkForward, Word2vecParams, WordLimits};

    type Text = (NaiveDateTime, Kind, &'static str, &'static str);

    const DAYS: u64 = 90;
    const BODIES: [&str; 4] =
        ["订单没有减少，增加了。", "订单没有增加，减少了。", "本月订单增加，没有减少。", "本月订单减少，没有增加。"];

    fn day(t: u64) -> NaiveDate {
        NaiveDate::from_ymd_opt(2024, 1, 1).unwrap() + Days::new(t)
    }

    /// The text of a day. The same words say two things by their order.
    fn body_of(t: u64) -> usize {
        (t as usize * 7 + t as usize / 5) % BODIES.len()
    }

    fn texts() -> Vec<Text> {
        (0..DAYS).map(|t| (day(t).and_hms_opt(10, 0, 0).unwrap(), Kind::News, "远山", BODIES[body_of(t)])).collect()
    }

    /// Texts foretell the return of two days later; from day `torn` on, prices are random.
    fn market(torn: u64) -> Market {
        let mut prices = "date,code,open,close,vwap\n".to_owned();
        let mut price = 100.0;
        for t in 0..DAYS {
            let up = t >= 2 && if t < torn { body_of(t - 2).is_multiple_of(2) } else { t.is_multiple_of(3) };
            price *= if up { 1.02 } else { 0.98 } + 0.0001 * (t % 7) as f64;
            for (code, price) in [("600001.SH", price), ("000001.SZ", 10.0)] {
                prices += &format!("{},{code},{price},{price},{price}\n", day(t));
            }
        }
        Market::of_text(&prices, &[]).unwrap()
    }

    fn feature(model: Model) -> Feature {
        let fit = FitParams { epochs: 30, batch: 10, lr: 0.02, held_out_share: 0.0, ..FitParams::default() };
        Feature {
            name: "read".into(),
            model,
            target: Target { horizon: 1, ..Target::default() },
            walk_forward: WalkForward { train_days: 40, test_days: 10, min_train_rows: 20, ..WalkForward::default() },
            classes: ClassParams { tail: 0.4, ..ClassParams::default() },
            words: WordLimits { min_count: 2, max_words: 0 },
            textnet: TextNetParams { dim: 4, maps: 4, hidden: 4, dropout: 0.0, fit, ..TextNetParams::default() },
            ..Feature::default()
        }
    }

    fn scores(texts: &[Text], torn: u64, model: Model, threads: usize) -> (Vec<f32>, Report) {
        scores_of(&feature(model), texts, torn, threads)
    }

    fn scores_of(feature: &Feature, texts: &[Text], torn: u64, threads: usize) -> (Vec<f32>, Report) {
        let mut corpus = Corpus::new(0);
        (corpus.ctx, corpus.market) = (Ctx::new(threads, 1).unwrap(), Some(LazyMarket::given(market(torn))));
        corpus.features = vec![vectors()];
        corpus.put(texts, 20);
        let (set, report) = corpus.run(feature);
        (corpus.rows(set).into_iter().map(|row| row[0]).collect(), report)
    }

    /// Vintages of word vectors for networks to begin with.
    fn vectors() -> Feature {
        Feature {
            name: "w2v".into(),
            model: Model::Word2vec,
            words: WordLimits { min_count: 2, max_words: 0 },
            vintages: VintageParams { refit_days: 7, min_train_documents: 20, ..VintageParams::default() },
            word2vec: Word2vecParams { dim: 3, epochs: 2, ..Word2vecParams::default() },
            ..Feature::default()
        }
    }

    /// A network that begins with these vectors beside tuned ones.
    fn begun(model: Model) -> Feature {
        let base = feature(model);
        Feature {
            embeddings: EmbeddingParams { feature: "w2v".into(), ..EmbeddingParams::default() },
            textnet: TextNetParams { channels: Channels::Both, ..base.textnet.clone() },
            ..base
        }
    }

    fn bits(scores: &[f32]) -> Vec<u32> {
        scores.iter().map(|score| score.to_bits()).collect()
    }

    #[test]
    fn what_words_in_their_order_foretold_is_foreseen() {
        for model in [Model::TextCnn, Model::TextRnn] {
            let (all_scores, report) = scores(&texts(), DAYS, model, 2);
            assert!(all_scores[..40].iter().all(|score| score.is_nan()), "the first window has nothing before it");
            assert_eq!((report.rows_out, report.dropped["before the first test window"]), (50, 40));
            let right = (40..DAYS).filter(|&t| (all_scores[t as usize] > 0.0) == body_of(t).is_multiple_of(2)).count();
            assert!(right >= 48, "{model:?}: {right} of 50, {all_scores:?}");
            for threads in [1, 8] {
                assert_eq!(bits(&scores(&texts(), DAYS, model, threads).0), bits(&all_scores), "{model:?}, {threads}");
            }
        }
    }

    #[test]
    fn later_texts_and_prices_change_no_score() {
        for model in [Model::TextCnn, Model::TextRnn] {
            let all_scores = scores(&texts(), DAYS, model, 2).0;
            for kept in [55u64, 70] {
                let mut other = texts();
                other[kept as usize..].iter_mut().for_each(|text| text.3 = "海外火灾停产，保险赔付核定，停产。");
                let torn = scores(&other, kept, model, 2).0;
                assert_eq!(bits(&torn[..kept as usize]), bits(&all_scores[..kept as usize]), "{model:?}, {kept}");
                assert_ne!(bits(&torn[kept as usize..]), bits(&all_scores[kept as usize..]));
            }
        }
    }

    #[test]
    fn networks_begin_with_the_vintage_before_each_fold() {
        for model in [Model::TextCnn, Model::TextRnn] {
            let (all_scores, report) = scores_of(&begun(model), &texts(), DAYS, 2);
            assert_eq!(report.rows_out, 50);
            assert_ne!(bits(&all_scores), bits(&scores(&texts(), DAYS, model, 2).0), "the vectors are used");
            for threads in [1, 8] {
                assert_eq!(bits(&scores_of(&begun(model), &texts(), DAYS, threads).0), bits(&all_scores), "{threads}");
            }
            for kept in [55u64, 70] {
                let mut other = texts();
                other[kept as usize..].iter_mut().for_each(|text| text.3 = "海外火灾停产，保险赔付核定，停产。");
                let torn = scores_of(&begun(model), &other, kept, 2).0;
                assert_eq!(bits(&torn[..kept as usize]), bits(&all_scores[..kept as usize]), "{model:?}, {kept}");
            }
            let networks: Vec<serde_json::Value> = {
                let mut corpus = Corpus::new(0);
                (corpus.market, corpus.features) = (Some(LazyMarket::given(market(DAYS))), vec![vectors()]);
                corpus.put(&texts(), 20);
                let (set, _) = corpus.run(&begun(model));
                let meta = SetMeta::read(corpus.store.set(&set).unwrap().unwrap().header()).unwrap();
                let folds = meta.folds.unwrap().into_iter().map(|fold| fold.test.0.to_string());
                let networks = meta.networks.unwrap();
                for (first, network) in folds.zip(networks.as_array().unwrap()) {
                    let until = network["vectors_until"].as_str().unwrap();
                    assert!(until < first.as_str(), "vectors until {until} in a fold that tests from {first} on");
                    assert!(network["given_words"].as_u64().unwrap() >= 3, "{network}");
                }
                networks.as_array().unwrap().clone()
            };
            assert_eq!(networks.len(), 5);
            assert!(
                networks.windows(2).all(|two| two[0]["vectors_until"].as_str() <= two[1]["vectors_until"].as_str())
            );
            assert_ne!(networks[0]["vectors_until"], networks[4]["vectors_until"], "later folds have later vintages");
        }
    }

    #[test]
    fn vectors_of_a_file_are_known_from_the_end_of_their_text_on() {
        let mut corpus = Corpus::new(0);
        corpus.market = Some(LazyMarket::given(market(DAYS)));
        corpus.put(&texts(), 20);
        std::fs::write(corpus.dir.path().join("v.vec"), "2 3\n增加 1 0 0.5\n减少 -1 0.5 0\n").unwrap();
        let mut feature = feature(Model::TextCnn);
        feature.embeddings.file = "v.vec".into();
        let error = format!("{:#}", corpus.try_run(&feature).unwrap_err());
        assert!(error.contains("v.vec does not say how far") && error.contains("embeddings.fitted_until"), "{error}");
        feature.embeddings.fitted_until = Some(day(44));
        let (set, _) = corpus.run(&feature);
        let header = corpus.store.set(&set).unwrap().unwrap().header().clone();
        assert_eq!(header.spec.fitted_until, day(44).and_hms_opt(23, 59, 59));
        let networks = SetMeta::read(&header).unwrap().networks.unwrap();
        assert_eq!(networks[0]["given_words"], 2);
        std::fs::write(corpus.dir.path().join("v.vec"), "2 3\n增加 1 0 0\n减少 -1 0.5 0\n").unwrap();
        assert_ne!(corpus.run(&feature).0, set, "other vectors make another set");
    }

    #[test]
    fn embeddings_that_cannot_be_had_are_told() {
        let mut corpus = Corpus::new(0);
        corpus.market = Some(LazyMarket::given(market(DAYS)));
        corpus.put(&texts(), 20);
        corpus.features = vec![Feature { name: "tone".into(), ..Feature::default() }];
        let error = |corpus: &Corpus, feature: &Feature| format!("{:#}", corpus.try_run(feature).unwrap_err());
        let begun = begun(Model::TextRnn);
        let message = error(&corpus, &begun);
        assert!(
            message.contains("embeddings.feature = \"w2v\" names no feature") && message.contains("there is none"),
            "{message}"
        );
        let mut late = vectors();
        late.vintages.min_train_documents = 500;
        corpus.features.push(late);
        let message = error(&corpus, &begun);
        assert!(
            message.contains("feature \"w2v\" has a vintage") && message.contains("vintages.min_train_documents"),
            "{message}"
        );
        let mut both = begun.clone();
        both.embeddings.file = "v.vec".into();
        assert!(error(&corpus, &both).contains("names both a feature (\"w2v\") and a file (v.vec)"));
        let mut none = begun.clone();
        none.embeddings = EmbeddingParams::default();
        assert!(error(&corpus, &none).contains("give them with embeddings.feature or embeddings.file"));
        none.embeddings.fitted_until = Some(day(3));
        assert!(error(&corpus, &none).contains("no embeddings.file is named"));
    }

    #[test]
    fn windows_without_enough_to_learn_from_say_so() {
        let mut corpus = Corpus::new(0);
        corpus.market = Some(LazyMarket::given(market(DAYS)));
        corpus.put(&texts(), 20);
        let error_after = |change: fn(&mut Feature)| {
            let mut feature = feature(Model::TextCnn);
            change(&mut feature);
            format!("{:#}", corpus.try_run(&feature).unwrap_err())
        };
        assert!(error_after(|f| f.walk_forward.min_train_rows = 60).contains("min_train_rows = 60"));
        let error = error_after(|f| f.words.min_count = 500);
        assert!(error.contains("occur at least 500 times") && error.contains("lower words.min_count"), "{error}");
        assert!(error_after(|f| f.classes.calibrate = CalibrationForm::Sigmoid).contains("classes.calibrate is for"));
        assert!(error_after(|f| f.classes.tail = 0.7).contains("tail = 0.7"));
        corpus.market = None;
        let error = format!("{:#}", corpus.try_run(&feature(Model::TextRnn)).unwrap_err());
        assert!(error.contains("there is no price table"), "{error}");
    }
}

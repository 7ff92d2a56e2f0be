//! The functions of the text page: the tokenisers of a project, sections and boilerplate of documents, and scores.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;

use super::dictionary::Dictionary;
use super::lazy::{LastFile, Lazy};
use crate::command::opened::OpenProject;
use crate::pipeline;
use inkstone_base::data::Key;
use inkstone_base::shell::quoted;
use inkstone_corpus::structure::{Boilerplate, Salience, Sentence, ids_of, outline, read_list, sentences_of_part};
use inkstone_corpus::truncate::Strategy;
use inkstone_features::experiment::{LengthUnit, TRUNCATE};
use inkstone_features::extract::{Feature, Model, draw_of};
use inkstone_market::{Calendar, dates_of};
use inkstone_onnx::{OnnxParams, Output};
use inkstone_store::Reader;
use inkstone_tables::frames;
use inkstone_tables::project::Project;
use inkstone_text::subword::Subword;
use inkstone_text::{Cut, Mode, Segmenter};
use inkstone_tui::{About, Described, Score, TextBench, TextCut, TextStrategy, TextSubject, Tokens, Tradable};

/// Bytes of the longest word whose part of speech is looked up.
const LONGEST_WORD: usize = 64;

/// The functions of the page, made of the configuration of a project.
pub(super) fn bench(opened: &OpenProject, dictionary: Arc<Dictionary>) -> TextBench {
    let [about_of, scores_of] = [opened.clone(), opened.clone()];
    let kept = KeptTables::default();
    TextBench {
        tokenisers: tokenisers(opened, dictionary),
        strategies: strategies(opened),
        about: Arc::new(move |subject| about(&about_of, &kept, subject)),
        scores: Arc::new(move |place, strategies| scores(&scores_of, place, strategies)),
    }
}

/// Tables that one document after the other is looked up in.
#[derive(Default)]
struct KeptTables {
    sentences: LastFile<Vec<Vec<Sentence>>>,
    calendar: LastFile<Calendar>,
    boilerplate: LastFile<Vec<Boilerplate>>,
}

/// Characters, jieba with and without unknown words, a labeller's words where the project has one, and the pieces of each contextual model.
fn tokenisers(opened: &OpenProject, dictionary: Arc<Dictionary>) -> Vec<TextCut> {
    let config = &opened.config;
    let mut flags = String::from("--mode jieba");
    for file in &config.tokenizer.dictionaries {
        flags += &format!(" --dict {}", quoted(&opened.base.join(file).display().to_string()));
    }
    let mut tokenisers = vec![
        word_cut("char", "--mode char", dictionary.clone(), |all| all.recut(Mode::Char, Cut::Precise)),
        word_cut("jieba", &flags, dictionary.clone(), |all| all.recut(Mode::Jieba, Cut::Precise).with_hmm(true)),
        word_cut("jieba no-hmm", &format!("{flags} --no-hmm"), dictionary.clone(), |all| {
            all.recut(Mode::Jieba, Cut::Precise).with_hmm(false)
        }),
    ];
    if let (Mode::Crf, Some(labeller)) = (config.tokenizer.mode, &config.tokenizer.labeller) {
        let flags = format!("--labeller {}", quoted(&opened.base.join(labeller).display().to_string()));
        tokenisers.push(word_cut("crf", &flags, dictionary.clone(), |all| all.recut(Mode::Crf, Cut::Precise)));
    }
    let mut seen: Vec<[&Path; 2]> = Vec::new();
    for feature in config.feature.iter().filter(|feature| feature.model == Model::Onnx) {
        let named = [feature.onnx.tokenizer.as_path(), feature.onnx.model.as_path()];
        if !seen.contains(&named) {
            tokenisers.push(piece_cut(&feature.name, &feature.onnx, &opened.base));
            seen.push(named);
        }
    }
    tokenisers
}

/// The dictionary, recut in one way.
fn word_cut(name: &str, flags: &str, dictionary: Arc<Dictionary>, way: fn(&Segmenter) -> Segmenter) -> TextCut {
    let known = dictionary.clone();
    TextCut {
        name: name.to_owned(),
        flags: flags.to_owned(),
        cut: Arc::new(move |text, _| {
            let ranges =
                way(dictionary.segmenter()?).tokens(text).into_iter().map(|token| token.start..token.end).collect();
            // Limits of models that count words have no special tokens in them.
            Ok(Tokens { ranges, ids: Vec::new(), specials: 0 })
        }),
        describe: Arc::new(move |token, _| {
            let Ok(words) = known.segmenter().map(way) else { return Described::default() };
            if words.mode() == Mode::Char || token.len() > LONGEST_WORD {
                return Described::default();
            }
            let tagged = words.tagged(token);
            let tag = tagged.first().filter(|word| word.token.text == token).map(|word| word.tag.to_owned());
            Described { tag, known: Some(words.knows(token)), written: None }
        }),
    }
}

/// The tokenizer of a model, looked for and opened when the first text is cut: a run may bring it.
fn piece_cut(name: &str, onnx: &OnnxParams, base: &Path) -> TextCut {
    let opened: Arc<Lazy<Subword>> = Arc::default();
    let named = if onnx.tokenizer.as_os_str().is_empty() { &onnx.model } else { &onnx.tokenizer };
    let flags = format!("--mode wordpiece --pieces {}", quoted(&base.join(named).display().to_string()));
    let (onnx, base) = (onnx.clone(), base.to_owned());
    let known = opened.clone();
    TextCut {
        name: name.to_owned(),
        flags,
        cut: Arc::new(move |text, _| {
            let subword = opened.get_or_load(|| Subword::open(&onnx.tokenizer_path(&base)))?;
            let pieces = subword.encode(text)?;
            let ranges = pieces.offsets.into_iter().map(|place| place.start as usize..place.end as usize).collect();
            Ok(Tokens { ranges, ids: pieces.ids, specials: subword.specials() })
        }),
        describe: Arc::new(move |token, id| {
            let written = known.get().zip(id).and_then(|(subword, id)| subword.token(id));
            Described { written: written.filter(|written| written != token), ..Described::default() }
        }),
    }
}

/// The strategies of all features and experiments, each once.
fn strategies(opened: &OpenProject) -> Vec<TextStrategy> {
    let config = &opened.config;
    let of_features =
        config.feature.iter().map(|feature| TextStrategy { text: feature.truncate.to_string(), characters: false });
    let of_experiments = config.experiment.iter().flat_map(|experiment| {
        let characters = experiment.unit == LengthUnit::Characters;
        let varied = experiment.vary.get(TRUNCATE).into_iter().flatten();
        varied.filter_map(move |value| Some(TextStrategy { text: value.as_str()?.to_owned(), characters }))
    });
    let mut strategies: Vec<TextStrategy> = Vec::new();
    for strategy in of_features.chain(of_experiments) {
        if !strategies.contains(&strategy) {
            strategies.push(strategy);
        }
    }
    strategies
}

/// Sections and boilerplate as the project found them, or else sections by their headings alone; and the first day of trading.
fn about(opened: &OpenProject, kept: &KeptTables, subject: &TextSubject) -> Result<About> {
    let config = &opened.config;
    let project = opened.project();
    let document = &subject.document;
    let sentences = match project_sentences(&project, kept, subject)? {
        Some(sentences) => sentences,
        None => sections_by_headings(subject)?,
    };
    let mut boilerplate = Vec::new();
    if sentences.iter().any(|sentence| sentence.boilerplate) && project.boilerplate().exists() {
        let list = kept.boilerplate.get(&project.boilerplate(), read_list)?.unwrap_or_default();
        for sentence in sentences.iter().filter(|sentence| sentence.boilerplate) {
            let range = sentence.range.start as usize..sentence.range.end as usize;
            let ids = ids_of(document, &subject.text[range.clone()], sentence.section, &config.structure);
            let has = |row: &&Boilerplate| ids.contains(&row.id);
            boilerplate.extend(list.iter().find(has).map(|row| (range, row.documents)));
        }
    }
    Ok(About {
        sentences,
        boilerplate,
        draw: draw_of(config.project.seed, &document.doc_id),
        tradable: if document.doc_id.is_empty() {
            Tradable::Unknown
        } else {
            tradable(opened, &project, kept, subject)?
        },
    })
}

/// The sentences that the project found in a document; none before its structure stage, or if they are those of another text.
fn project_sentences(project: &Project, kept: &KeptTables, subject: &TextSubject) -> Result<Option<Vec<Sentence>>> {
    let Some((part, row)) = subject.place else { return Ok(None) };
    let part = kept.sentences.get(&project.structure().path(part), sentences_of_part)?;
    let sentences = part.and_then(|part| part.get(row).cloned());
    let inside = |sentence: &Sentence| {
        let range = sentence.range.start as usize..sentence.range.end as usize;
        subject.text.get(range).is_some()
    };
    Ok(sentences.filter(|sentences| sentences.iter().all(inside)))
}

fn sections_by_headings(subject: &TextSubject) -> Result<Vec<Sentence>> {
    let stretches = outline(&subject.text, subject.title).into_iter().map(|(range, section)| {
        let range = u32::try_from(range.start)?..u32::try_from(range.end)?;
        Ok(Sentence { range, section, boilerplate: false, salience: Salience::NONE })
    });
    stretches.collect()
}

/// The trading days of a table of prices.
fn calendar_of(prices: &Path) -> Result<Calendar> {
    let frame = frames::read_parquet(prices, Some(&["date"]))?;
    Calendar::new(dates_of(&frame, "date")?.into_iter().flatten().collect())
}

fn tradable(opened: &OpenProject, project: &Project, kept: &KeptTables, subject: &TextSubject) -> Result<Tradable> {
    let Some(calendar) = kept.calendar.get(&project.prices(), calendar_of)? else { return Ok(Tradable::Unknown) };
    Ok(match calendar.tradable_from(subject.document.published_at, opened.config.market.cutoff) {
        Ok(day) => Tradable::From(day),
        Err(off) => Tradable::Never(off),
    })
}

/// True if the first column of a feature is a score.
fn gives_a_score(feature: &Feature) -> bool {
    match feature.model {
        Model::Onnx => feature.onnx.output == Output::Scores,
        _ => feature.columns().first().is_some_and(|name| matches!(name.as_str(), "tone" | "score" | "surprise")),
    }
}

/// Scores of a document by models that read it truncated by these strategies: by the first such feature of the project, else by the
/// first such cell of an experiment.
fn scores(opened: &OpenProject, (part, row): (usize, usize), strategies: &[Strategy]) -> Result<Vec<Option<Score>>> {
    let config = &opened.config;
    let project = opened.project();
    let features = config.feature.iter().filter(|feature| gives_a_score(feature));
    let of_features = features.filter_map(|feature| {
        Some((feature.truncate.clone(), pipeline::feature_set(&project, &feature.name)?, feature.name.clone()))
    });
    let cells = pipeline::findings(config, &project)?.into_iter().flat_map(|findings| findings.cells);
    let of_cells = cells.filter_map(|cell| Some((cell.strategy, cell.set?, cell.feature)));
    let sets: Vec<(Strategy, Key, String)> = of_features.chain(of_cells).collect();
    if !strategies.iter().any(|strategy| sets.iter().any(|set| set.0 == *strategy)) {
        return Ok(vec![None; strategies.len()]);
    }
    let store = Reader::open(&project.store())?;
    let score = |strategy: &Strategy| {
        for (_, set, feature) in sets.iter().filter(|set| set.0 == *strategy) {
            if let Some(value) = pipeline::score_of(&store, *set, part, row)? {
                return Ok(Some(Score { value, feature: feature.clone() }));
            }
        }
        Ok(None)
    };
    strategies.iter().map(score).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use inkstone_base::data::Document;
    use inkstone_base::job::Ctx;
    use inkstone_corpus::structure::Section;

    fn opened(base: &Path) -> OpenProject {
        let mut config = Config::default();
        config.tokenizer.dictionaries = vec!["my words.txt".into()];
        let mut feature = Feature { name: "bert".to_owned(), model: Model::Onnx, ..Feature::default() };
        feature.onnx.model = "model".into();
        let again = Feature { name: "again".to_owned(), ..feature.clone() };
        config.feature = vec![feature, again];
        let head = |unit| inkstone_features::experiment::Params {
            vary: [(TRUNCATE.to_owned(), vec!["head".into(), "tail:64".into()])].into(),
            unit,
            ..inkstone_features::experiment::Params::default()
        };
        config.experiment = vec![head(LengthUnit::Tokens), head(LengthUnit::Tokens), head(LengthUnit::Characters)];
        std::fs::write(base.join("my words.txt"), "启澜生物 9 nt\n").unwrap();
        OpenProject::from_config(config, base)
    }

    #[test]
    fn every_tokeniser_cuts_as_its_flags_say_and_a_broken_one_says_why() {
        let dir = tempfile::tempdir().unwrap();
        let opened = opened(dir.path());
        let bench = bench(&opened, Arc::new(Dictionary::new(&opened)));
        let names: Vec<&str> = bench.tokenisers.iter().map(|tokeniser| tokeniser.name.as_str()).collect();
        assert_eq!(names, ["char", "jieba", "jieba no-hmm", "bert"], "one tokenizer of two features stands once");
        assert_eq!(bench.tokenisers[0].flags, "--mode char");
        let flags = &bench.tokenisers[2].flags;
        assert!(flags.starts_with("--mode jieba --dict '") && flags.ends_with("my words.txt' --no-hmm"), "{flags}");
        let ctx = Ctx::new(1, 1).unwrap();
        let text = "启澜生物拟回购";
        let cut = |of: &TextCut| -> Vec<String> {
            let tokens = (of.cut)(text, &ctx).unwrap();
            tokens.ranges.into_iter().map(|range| text[range].to_owned()).collect()
        };
        assert_eq!(cut(&bench.tokenisers[0]).len(), 7);
        assert_eq!(cut(&bench.tokenisers[1])[0], "启澜生物");
        let described = (bench.tokenisers[1].describe)("启澜生物", None);
        assert_eq!(described, Described { tag: Some("nt".to_owned()), known: Some(true), written: None });
        assert_eq!((bench.tokenisers[0].describe)("启", None), Described::default());
        let error = format!("{:#}", (bench.tokenisers[3].cut)(text, &ctx).unwrap_err());
        assert!(error.contains("model"), "{error}");
        let strategies: Vec<(&str, bool)> =
            bench.strategies.iter().map(|strategy| (strategy.text.as_str(), strategy.characters)).collect();
        assert_eq!(
            strategies,
            [("none", false), ("head", false), ("tail:64", false), ("head", true), ("tail:64", true)]
        );
    }

    #[test]
    fn a_text_has_sections_before_the_project_has_looked_and_no_day_without_prices() {
        let dir = tempfile::tempdir().unwrap();
        let opened = opened(dir.path());
        let text = "瑞禾电气年报点评\n订单饱满。\n风险提示：需求不及预期。".to_owned();
        let document = Document { doc_id: "a/1".to_owned(), ..Document::default() };
        let subject = TextSubject { place: Some((0, 0)), document, title: 24, text };
        let about = about(&opened, &KeptTables::default(), &subject).unwrap();
        let sections: Vec<Section> = about.sentences.iter().map(|sentence| sentence.section).collect();
        assert_eq!(sections, [Section::Title, Section::Body, Section::Risk]);
        assert_eq!((about.tradable, about.boilerplate.len()), (Tradable::Unknown, 0));
        assert_eq!(scores(&opened, (0, 0), &["head:64".parse().unwrap()]).unwrap(), [None]);
    }
}

use std::path::{Path, PathBuf};

use chrono::{NaiveDate, NaiveDateTime};

use super::*;
use crate::extract::tests::Corpus;
use crate::extract::{Feature, Inputs};
use inkstone_base::code::Code;
use inkstone_base::data::Kind;
use inkstone_onnx::testing::{graph, has_library, section};

/// The corpus of a test, rewritten by the small model bart.
struct Rewritten {
    corpus: Corpus,
    rewrite: Rewrite,
}

type Text = (NaiveDateTime, Kind, &'static str, &'static str);

fn texts() -> Vec<Text> {
    let at = |day| NaiveDate::from_ymd_opt(2024, 1, day).unwrap().and_hms_opt(10, 0, 0).unwrap();
    vec![
        (at(1), Kind::News, "", "远山公司订单增长。"),
        (at(2), Kind::Post, "", "公司订单增长。"),
        (at(3), Kind::News, "点评", "公司净利润同比下降。"),
        (at(4), Kind::News, "", ""),
        (at(5), Kind::News, "", "远山公司订单增长。"),
    ]
}

impl Rewritten {
    fn new(texts: &[Text]) -> Rewritten {
        let corpus = Corpus::new(0);
        corpus.put(texts, 2);
        let rewrite = Rewrite {
            name: "summary".into(),
            model: graph("bart"),
            fitted_until: NaiveDate::from_ymd_opt(2024, 1, 2),
            max_new_tokens: 6,
            min_new_tokens: 4,
            ..Rewrite::default()
        };
        Rewritten { corpus, rewrite }
    }

    fn out(&self) -> RewrittenCorpus {
        let folder = self.corpus.dir.path().join("rewritten").join(&self.rewrite.name);
        RewrittenCorpus {
            clean: Parts::new(folder.join("clean")),
            links: Parts::new(folder.join("links")),
            corpus: Key::of(b"corpus"),
            identity: self.rewrite.identity(self.corpus.dir.path()).unwrap(),
            fitted_until: self.rewrite.last_seen(Path::new("")).unwrap(),
        }
    }

    fn written(&self) -> PathBuf {
        self.corpus.dir.path().join("written")
    }

    fn try_run(&self) -> Result<Report> {
        let corpus = &self.corpus;
        let securities = vec![Security::unnamed(Code::canonical("600001.SH"))];
        let sources = RewriteSources {
            clean: &corpus.parts("clean"),
            links: &corpus.parts("links"),
            learned: &[],
            written: &self.written(),
            securities: &securities,
            link: &link::Params::default(),
            normal_form: &clean::Params::default(),
            onnx: &section(),
            base: corpus.dir.path(),
        };
        run(&self.rewrite, &sources, &self.out(), &corpus.ctx)
    }

    fn run(&self) -> Report {
        self.try_run().unwrap()
    }

    fn documents(&self) -> Vec<CleanDocument> {
        let files = self.out().clean.files().unwrap();
        files.iter().flat_map(|file| clean_of_part(file).unwrap()).collect()
    }
}

#[test]
fn texts_stand_in_place_of_documents_and_keep_times_and_codes() {
    if !has_library() {
        return;
    }
    let rewritten = Rewritten::new(&texts());
    let report = rewritten.run();
    assert_eq!((report.rows_in, report.rows_out), (5, 4));
    assert_eq!(report.dropped["of a kind that is not rewritten, or without text"], 1);
    assert_eq!(report.facts["ran"]["device"], "cpu");
    let documents = rewritten.documents();
    let source = texts();
    for (document, (time, kind, ..)) in documents.iter().zip(&source) {
        assert_eq!((document.document.published_at, document.document.kind), (*time, *kind));
        assert_eq!(document.document.title, "");
    }
    assert!(documents[3].document.body.is_empty());
    assert_eq!(documents[0].document.body, documents[4].document.body, "the same document has the same text");
    // What the model itself writes of the document, in normal form.
    let (onnx, ctx) = (section(), &rewritten.corpus.ctx);
    let opening = Opening {
        runtime: inkstone_onnx::testing::runtime(),
        device: onnx.device,
        threads: 1,
        base: std::path::Path::new(""),
    };
    let mut model = rewritten.rewrite.open(&opening).unwrap();
    let own = model.write("点评\n公司净利润同比下降。", ctx).unwrap().remove(0).text;
    assert_eq!(documents[2].document.body, normalise(&own, &clean::Params::default()));
    let links = links_of_part(&rewritten.out().links.path(0)).unwrap();
    assert_eq!(codes_of(&links, 0), [Code::canonical("600001.SH")], "a text keeps the codes of its document");
    assert!(codes_of(&links, 1).is_empty());
}

#[test]
fn what_was_written_is_written_once() {
    if !has_library() {
        return;
    }
    let rewritten = Rewritten::new(&texts()[..3]);
    let report = rewritten.run();
    assert_eq!((report.rows_out, &report.facts["newly_written"]), (3, &3.into()));
    // The corpus grows, and one text comes again under another name.
    let mut grown = Rewritten::new(&texts());
    grown.corpus = {
        let Rewritten { corpus, .. } = rewritten;
        corpus.put(&texts(), 2);
        corpus
    };
    let report = grown.run();
    assert_eq!((report.rows_out, &report.facts["newly_written"]), (4, &0.into()));
    assert!(report.facts.get("ran").is_none(), "no model was opened");
    let before = grown.documents();
    grown.rewrite.name = "another".into();
    assert_eq!(grown.run().facts["newly_written"], 0);
    assert_eq!(grown.documents(), before);
    // Whatever determines a text is part of what it is kept by.
    grown.rewrite.max_new_tokens = 5;
    assert_eq!(grown.run().facts["newly_written"], 3);
    grown.rewrite.max_new_tokens = 6;
    std::fs::remove_dir_all(grown.written()).unwrap();
    assert_eq!(grown.run().facts["newly_written"], 3);
    assert_eq!(grown.documents(), before);
}

#[test]
fn features_read_texts_and_their_values_are_known_with_the_model() {
    if !has_library() {
        return;
    }
    let mut rewritten = Rewritten::new(&texts());
    rewritten.run();
    let out = rewritten.out();
    rewritten.corpus.rewritten.insert("summary".into(), out.clone());
    let tone = Feature { name: "tone".into(), ..Feature::default() };
    let of_summary = Feature { text: "summary".into(), ..tone.clone() };
    let (own, _) = rewritten.corpus.run(&tone);
    let (set, report) = rewritten.corpus.run(&of_summary);
    assert_ne!(own, set);
    assert_eq!((report.rows_in, report.dropped["without a rewritten text"]), (5, 1));
    assert!(rewritten.corpus.rows(set)[3][0].is_nan());
    let header = |set: Key| rewritten.corpus.store.set(&set).unwrap().unwrap().header().clone();
    assert_eq!(header(own).spec.fitted_until, None);
    assert_eq!(header(set).spec.fitted_until, Some(out.fitted_until));
    // Another model of the same name makes another set.
    let mut other = rewritten.corpus.rewritten.clone();
    other.get_mut("summary").unwrap().identity = Key::of(b"other");
    let inputs = |inputs: &Inputs<'_>| {
        let inputs = Inputs { rewritten: &other, ..*inputs };
        crate::extract::run(&of_summary, &inputs, &rewritten.corpus.store, &rewritten.corpus.ctx).unwrap().0
    };
    assert_ne!(rewritten.corpus.with(None, inputs), set);
    let unknown = Feature { text: "views".into(), ..tone };
    assert!(rewritten.corpus.try_run(&unknown).unwrap_err().to_string().contains("views"));
}

#[test]
fn a_text_with_numbers_of_its_own_is_not_read() {
    if !has_library() {
        return;
    }
    let mut rewritten = Rewritten::new(&texts()[..2]);
    let rewrite = &rewritten.rewrite;
    // A text that names a number which its document lacks.
    let files = rewrite.files_key(rewritten.corpus.dir.path()).unwrap();
    let text = |body: &str, text: &str| WrittenText { source: rewrite.source_key(files, "", body), text: text.into() };
    let written = [text(texts()[0].3, "订单增长30%。"), text(texts()[1].3, "订单增长。")];
    WrittenTexts::open(&rewritten.written()).unwrap().write(&written).unwrap();
    let report = rewritten.run();
    assert_eq!((report.rows_out, &report.facts[NUMBERS_KEPT]), (2, &0.0.into()));
    rewritten.rewrite.min_numbers_kept = 0.5;
    let report = rewritten.run();
    assert_eq!(report.dropped["with numbers that are not in the document (min_numbers_kept)"], 1);
    let bodies: Vec<String> = rewritten.documents().into_iter().map(|document| document.document.body).collect();
    assert_eq!(bodies, ["", "订单增长。"]);
}

#[test]
fn names_are_hidden_from_a_model_that_must_not_see_them() {
    if !has_library() {
        return;
    }
    let mut rewritten = Rewritten::new(&texts()[..2]);
    rewritten.rewrite.mask_names = true;
    let rewrite = &rewritten.rewrite;
    let files = rewrite.files_key(rewritten.corpus.dir.path()).unwrap();
    let masked = format!("{MASKED}公司订单增长。");
    rewritten.run();
    let texts_there = WrittenTexts::open(&rewritten.written()).unwrap();
    assert!(texts_there.has(rewrite.source_key(files, "", &masked)));
    assert!(!texts_there.has(rewrite.source_key(files, "", texts()[0].3)));
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let sound = Rewrite {
        name: "summary".into(),
        model: "models/qwen".into(),
        fitted_until: NaiveDate::from_ymd_opt(2023, 12, 31),
        ..Rewrite::default()
    };
    sound.check().unwrap();
    for (rewrite, words) in [
        (Rewrite { model: PathBuf::new(), ..sound.clone() }, "model is missing"),
        (Rewrite { system: "你是分析师。".into(), ..sound.clone() }, "chat = true"),
        (Rewrite { prompt: "概括".into(), ..sound.clone() }, "no field"),
        (Rewrite { min_new_tokens: 200, ..sound.clone() }, "more than max_new_tokens"),
        (Rewrite { beams: 0, ..sound.clone() }, "beams"),
    ] {
        let error = format!("{:#}", rewrite.check().unwrap_err());
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn texts_are_known_no_earlier_than_the_models_folder_says() {
    let folder = tempfile::tempdir().unwrap();
    let until = |day| NaiveDate::from_ymd_opt(2024, 3, day);
    let seen = |config: &str, stated| {
        std::fs::write(folder.path().join("config.json"), config).unwrap();
        let rewrite = Rewrite { name: "summary".into(), fitted_until: stated, ..Rewrite::default() };
        rewrite.last_seen(folder.path()).map_err(|error| format!("{error:#}"))
    };
    let end = |day: Option<NaiveDate>| day.unwrap().and_hms_opt(23, 59, 59).unwrap();
    assert_eq!(seen("{}", until(1)), Ok(end(until(1))));
    let says = r#"{"fitted_until": "2024-03-02T23:59:59"}"#;
    assert_eq!(seen(says, None), Ok(end(until(2))));
    assert_eq!(seen(says, until(3)), Ok(end(until(3))));
    let error = seen(says, until(1)).unwrap_err();
    assert!(error.contains("\"summary\"") && error.contains("trained on text until 2024-03-02 23:59:59"), "{error}");
    assert!(seen("{}", None).unwrap_err().contains("last day of the text"));
}

#[test]
fn a_document_that_does_not_fit_into_the_prompt_is_left_out_alone() {
    if !has_library() {
        return;
    }
    let long = "净利润".repeat(100);
    let long: &'static str = Box::leak(long.into_boxed_str());
    let mut two = texts()[..2].to_vec();
    two[0].2 = long;
    let mut rewritten = Rewritten::new(&two);
    rewritten.rewrite.prompt = "{title}：{body}".into();
    let report = rewritten.run();
    assert_eq!((report.rows_out, report.dropped["that do not fit into the prompt"]), (1, 1));
    assert_eq!(report.facts["newly_written"], 1);
    assert!(rewritten.documents()[0].document.body.is_empty());
    rewritten.rewrite.prompt = format!("{long}：{{body}}");
    let error = format!("{:#}", rewritten.try_run().unwrap_err());
    assert!(error.contains("summary") && error.contains("the prompt has"), "{error}");
}

//! Models trained from the workbench on documents of invented text, and what they answer.

use std::path::Path;
use std::sync::Arc;

use super::{answers, cards, shown, training};
use inkstone_base::data::Document;
use inkstone_base::job::Ctx;
use inkstone_models::Lexicon;
use inkstone_tables::corpus::documents_to_frame;
use inkstone_tables::project::Project;
use inkstone_tui::{Answer, FlagTakes, ModelCard, PlaneMethod, Question, Tool};

fn ctx() -> Ctx {
    Ctx::new(2, 1).unwrap()
}

/// A project of 60 documents, one a day from 2024-01-01 on.
fn project(dir: &Path) -> Project {
    let project = Project::new(dir.join(".inkstone"));
    let bodies = ["瑞禾电气 订单 增长 超出 预期", "启澜生物 订单 下降 低于 预期", "辰光股份 拟 回购 股份"];
    let document = |i: usize| Document {
        doc_id: format!("news/{i}"),
        title: "公告".to_owned(),
        body: bodies[i % 3].repeat(2),
        published_at: chrono::NaiveDate::from_ymd_opt(2024, 1, 1)
            .and_then(|day| day.checked_add_days(chrono::Days::new(i as u64)))
            .and_then(|day| day.and_hms_opt(20, 0, 0))
            .unwrap(),
        ..Document::default()
    };
    let documents: Vec<Document> = (0..60).map(document).collect();
    project.clean().write(0, &mut documents_to_frame(&documents).unwrap()).unwrap();
    project
}

/// Trains on the project's documents with these further arguments, and gives the card of what came of it.
fn trained(dir: &Path, kind: &str, more: &[&str]) -> ModelCard {
    let project = project(dir);
    let output = dir.join("models/sub").join(format!("{kind}.model"));
    let paths = [shown(project.clean().folder()), shown(&output)];
    let args = [kind, "--input", &paths[0], "--output", &paths[1]].into_iter().chain(more.iter().copied());
    let args: Vec<String> = args.map(str::to_owned).collect();
    assert_eq!(training::check(&args), [], "{args:?}");
    let reports = training::train(args.clone())(&ctx()).unwrap();
    assert_eq!(reports[0].stage, "train");
    assert_eq!(training::check(&args)[0].flag, "output", "a model is not written over");
    let mut cards = cards::list(dir, project.dir(), &ctx()).unwrap();
    assert_eq!(cards.len(), 1, "{cards:?}");
    cards.remove(0)
}

/// The lexicon of the program.
fn tones() -> Arc<Lexicon> {
    Arc::new(Lexicon::new(&Default::default(), Path::new("")).unwrap())
}

#[test]
fn word_vectors_know_their_time_and_answer_for_their_words() {
    let dir = tempfile::tempdir().unwrap();
    let card = trained(dir.path(), "word2vec", &["--dim", "8", "--min-count", "1", "--until", "2024-02-09"]);
    assert_eq!((&*card.kind, card.dim, card.documents, card.fault), ("word2vec", Some(8), Some(40), None));
    assert_eq!(card.fitted_until.unwrap().to_string(), "2024-02-09 20:00:00", "nothing later was read");
    assert_eq!(card.losses.len(), 5);
    assert!(card.name.ends_with("models/sub/word2vec.model") && card.words.unwrap() > 5 && card.tokens.unwrap() > 100);
    let model = answers::open(&card.path, tones(), &ctx()).unwrap();
    let ask = |question: Question| model(&question, &ctx()).unwrap();
    let Answer::Near { words, made } = ask(Question::Nearest("订单".into(), 3)) else { panic!("words") };
    assert!(words.len() == 3 && made.is_empty() && words[0].1 >= words[1].1);
    let Answer::Unknown(word, alike) = ask(Question::Nearest("订金".into(), 3)) else { panic!("unknown") };
    assert!(word == "订金" && alike.contains(&"订单".to_owned()));
    let three = ["增长", "下降", "超出"].map(str::to_owned);
    assert!(matches!(ask(Question::Analogy(three, 2)), Answer::Near { words, .. } if words.len() == 2));
    let Answer::Plane(plane) = ask(Question::MostFrequent(6, PlaneMethod::Tsne)) else { panic!("a plane") };
    assert!(
        plane.points.len() == 6
            && plane.clusters.iter().all(|cluster| (1..=6).contains(cluster))
            && plane.svg.starts_with("<svg")
    );
    let Answer::Plane(plane) = ask(Question::Around("订单".into(), 4, PlaneMethod::Pca)) else { panic!("a plane") };
    assert!(plane.points.len() == 5 && plane.points[0].0 == "订单");
    let Answer::Plane(plane) = ask(Question::Around("增长".into(), 4, PlaneMethod::Pca)) else { panic!("a plane") };
    assert!(plane.tones.len() == 5 && plane.tones[0] > 0.0, "{:?}", plane.tones);
    assert!(model(&Question::Following("订单".into(), 3), &ctx()).is_err());
}

#[test]
fn fasttext_makes_vectors_of_words_that_it_never_met() {
    let dir = tempfile::tempdir().unwrap();
    let more = ["--dim", "8", "--min-count", "1", "--minn", "1", "--maxn", "2", "--bucket", "1000", "--epochs", "2"];
    let card = trained(dir.path(), "fasttext", &more);
    assert_eq!((&*card.kind, card.dim, card.losses.len()), ("fasttext", Some(8), 2));
    assert!(card.words.unwrap() > 5 && card.tokens.unwrap() > 100, "{card:?}");
    let model = answers::open(&card.path, tones(), &ctx()).unwrap();
    let Answer::Near { made, .. } = model(&Question::Nearest("订金".into(), 3), &ctx()).unwrap() else { panic!() };
    assert_eq!(made, ["订金"]);
}

#[test]
fn n_grams_foretell_words_and_are_surprised() {
    let dir = tempfile::tempdir().unwrap();
    let card = trained(dir.path(), "ngram", &["--order", "2", "--smoothing", "add-k", "--k", "0.01"]);
    assert_eq!((card.dim, &card.tools[..]), (Some(2), &[Tool::Following, Tool::Surprise][..]));
    let model = answers::open(&card.path, tones(), &ctx()).unwrap();
    let ask = |question: Question| model(&question, &ctx()).unwrap();
    let Answer::Following { after, unknown, next } = ask(Question::Following("拟 未见过".into(), 2)) else {
        panic!()
    };
    assert!(after.len() > 1 && !unknown.is_empty() && next.len() == 2);
    let Answer::Following { next, .. } = ask(Question::Following("公告拟".into(), 1)) else { panic!() };
    assert!(next[0].0 == "回购" && next[0].1 > 0.9, "{next:?}");
    let Answer::Surprise(tokens) = ask(Question::Surprise("拟回购".into())) else { panic!() };
    assert_eq!(tokens.iter().map(|token| &*token.token).collect::<Vec<_>>(), ["拟", "回购", "</s>"]);
    // The bits are those of the same probability.
    assert!((tokens[1].bits + next[0].1.log2()).abs() < 1e-6 && tokens[1].order == Some(2), "{tokens:?}");
}

#[test]
fn vectorizers_whose_threads_share_the_reader_come_to_an_end() {
    let dir = tempfile::tempdir().unwrap();
    let card = trained(dir.path(), "tfidf", &["--min-df", "1"]);
    assert_eq!((&*card.kind, card.documents, card.tools.len()), ("tfidf", Some(60), 0));
    assert!(card.words.unwrap() > 5 && card.fitted_until.is_some());
}

#[test]
fn arguments_are_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let clean = shown(project(dir.path()).clean().folder());
    let file = dir.path().join("text.txt");
    std::fs::write(&file, "订单 增长\n").unwrap();
    let faults = |args: &[&str]| {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        training::check(&args).into_iter().map(|fault| fault.flag).collect::<Vec<_>>()
    };
    assert_eq!(faults(&["glove", "--input", &clean, "--output", "nowhere/m.model", "--dim", "x"]), ["dim"]);
    let two = ["glove", "--input", &clean, "--output", "nowhere/m.model", "--dim", "x", "--window", "y"];
    assert_eq!(faults(&two), ["dim", "window"], "all faults at once");
    assert_eq!(faults(&["glove", "--input", &clean, "--output", "nowhere/m.model", "--until", "soon"]), ["until"]);
    assert_eq!(faults(&["tfidf", "--input", "nowhere.jsonl", "--output", "nowhere/m.model"]), ["input"]);
    let file = shown(&file);
    let timed = ["tfidf", "--input", &file, "--output", "nowhere/m.model", "--until", "2024-01-01"];
    assert_eq!(faults(&timed), ["until"]);
    assert!(!faults(&["wordtovec"]).is_empty());
}

#[test]
fn files_that_are_no_models_are_passed_over_and_broken_ones_told() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("models")).unwrap();
    let write = |name: &str, text: &[u8]| std::fs::write(dir.path().join(name), text).unwrap();
    write("workbench.toml", b"[project]\n");
    write("models/cut.model", b"INKSTONE\x01\0\0\0");
    write("models/w.vec", "2 3\n订单 1 0 0\n增长 0 1 0\n".as_bytes());
    write("models/photo.bin", &[0xff; 64]);
    write("l.arpa", b"\\data\\\nngram 1=7\nngram 2=9\n\n\\1-grams:\n");
    let cards = cards::list(dir.path(), &dir.path().join(".inkstone"), &ctx()).unwrap();
    let names: Vec<&str> = cards.iter().map(|card| card.name.as_str()).collect();
    assert_eq!(names, ["l.arpa", "models/cut.model", "models/w.vec"]);
    assert_eq!((cards[0].dim, cards[0].words, cards[0].says_text), (Some(2), Some(7), true));
    assert!(cards[1].fault.as_ref().unwrap().contains("cut short") && cards[1].tools.is_empty());
    assert_eq!((cards[2].words, cards[2].dim, cards[2].fitted_until), (Some(2), Some(3), None));
}

#[test]
fn the_form_has_every_kind_with_the_flags_and_defaults_of_the_command_line() {
    let dir = tempfile::tempdir().unwrap();
    let clean = shown(project(dir.path()).clean().folder());
    let kinds = training::kinds();
    assert!(kinds.len() > 40 && kinds[0].name == "word2vec", "{} kinds", kinds.len());
    for kind in &kinds {
        let texts = kind.flags.iter().map(|flag| (&flag.about, &*flag.name)).chain([(&kind.about, "")]);
        for (about, flag) in texts {
            assert!(about.zh.chars().any(|c| ('一'..='龥').contains(&c)), "{} --{flag}: {about:?}", kind.name);
            assert!(about.en.chars().any(|c| c.is_ascii_alphabetic()), "{} --{flag}: {about:?}", kind.name);
        }
        // The command line takes the command of the form as it is proposed, once the required flags are given.
        let output = shown(&dir.path().join(&kind.name));
        let mut args = vec![kind.name.clone(), "--input".to_owned(), clean.clone(), "--output".to_owned(), output];
        for flag in kind.flags.iter().filter(|flag| flag.proposed != flag.default && flag.takes == FlagTakes::Text) {
            args.extend([format!("--{}", flag.name), flag.proposed.clone()]);
        }
        let needed: Vec<String> =
            kind.flags.iter().filter(|flag| flag.is_required).map(|flag| flag.name.clone()).collect();
        let faults: Vec<String> = training::check(&args).into_iter().map(|fault| fault.flag).collect();
        assert!(faults.iter().all(|fault| needed.contains(fault)), "{}: {faults:?}", kind.name);
        assert_eq!(faults.is_empty(), needed.is_empty(), "{}: {faults:?}, {needed:?}", kind.name);
    }
    for (kind, flag, default) in [
        ("word2vec", "dim", "100"),
        ("word2vec", "sample", "0.001"),
        ("word2vec", "sg", "off"),
        ("fasttext", "maxn", "6"),
        ("glove", "window", "15"),
        ("glove", "x-max", "100"),
        ("ngram", "order", "3"),
        ("ngram", "smoothing", "kneser-ney"),
        ("ngram", "prune", ""),
        ("tfidf", "ngram-range", "1,1"),
        ("tfidf", "max-features", "0"),
        ("lsa", "dim", "100"),
        ("lsa", "min-df", "2"),
        ("lsa", "max-df", "1.0"),
    ] {
        let flags = &kinds.iter().find(|trained| trained.name == kind).unwrap().flags;
        assert_eq!(flags.iter().find(|known| known.name == flag).unwrap().default, default, "{kind} --{flag}");
    }
}

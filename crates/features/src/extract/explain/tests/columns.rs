//! Probabilities of labels, networks, features that a factor reads directly, and inputs that are learned themselves.

use super::*;
use crate::extract::TargetOf;
use inkstone_models::ClassParams;
use inkstone_models::neural::FitParams;
use inkstone_models::textnet::TextNetParams;

const LABELS: [&str; 3] = ["利好", "利空", "中性"];

/// The news of each label, in one sentence of three; the other sentences are in all texts.
const LABELLED: [&str; 3] = [
    "股东大会召开。公司中标，订单增长。会议地点北京。",
    "股东大会召开。公司亏损，业绩下滑。会议地点北京。",
    "股东大会召开。公司搬迁，地址变更。会议地点北京。",
];

/// A model that learns three labels, of which day 45, part 2, row 5, is good news.
fn labelled(model: Model) -> (Corpus, Feature, Key) {
    let (base, feature, _) = learned(Model::Logistic);
    let mut corpus = Corpus::new(0);
    corpus.market = base.market;
    let text = |t: u64| (day(t).and_hms_opt(10, 0, 0).unwrap(), Kind::News, "远山", LABELLED[t as usize % 3]);
    let labels: Vec<Option<String>> = (0..DAYS).map(|t| Some(LABELS[t as usize % 3].to_owned())).collect();
    corpus.put_labelled(&(0..DAYS).map(text).collect::<Vec<Text>>(), &labels, 20);
    let fit = FitParams { epochs: 30, batch: 10, lr: 0.02, held_out_share: 0.0, ..FitParams::default() };
    let feature = Feature {
        model,
        target: Target { of: TargetOf::Label, ..Target::default() },
        classes: ClassParams {
            labels: ["利空", "中性", "利好"].map(str::to_owned).to_vec(), ..ClassParams::default()
        },
        words: WordLimits { min_count: 2, max_words: 0 },
        textnet: TextNetParams { dim: 4, maps: 4, hidden: 4, dropout: 0.0, fit, ..TextNetParams::default() },
        ..feature
    };
    let set = corpus.run(&feature).0;
    (corpus, feature, set)
}

/// The sentence that moves the value most, and its words, the largest first.
fn strongest(found: &ExplainedText) -> (usize, Vec<&str>) {
    let sizes = found.sentences.iter().map(|sentence| sentence.value.abs()).enumerate();
    let (at, _) = sizes.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    (at, found.sentences[at].words.iter().map(|word| word.word.as_str()).collect())
}

#[test]
fn words_of_a_probability_sum_to_it() {
    for model in [Model::Logistic, Model::Bayes, Model::Boosted, Model::Mlp] {
        let (corpus, feature, set) = labelled(model);
        for column in ["score", "利好", "利空", "中性"] {
            let found = explained(&corpus, &feature, set, Some(column), (2, 5));
            assert_eq!((found.by, found.column.as_str()), (ExplainedBy::Words, column), "{model:?} {found:?}");
            assert!((found.score - found.kept).abs() < 1e-6 * found.kept.abs().max(1.0), "{model:?} {found:?}");
            // Trees ask for words that the text lacks, too; a perceptron keeps its weights in single precision.
            let near = if model == Model::Mlp { 1e-5 } else { 1e-6 };
            assert!(found.rest.abs() < near || model == Model::Boosted, "{model:?} {column}: {found:?}");
            assert!(column == "score" || found.formula.starts_with("probability = "), "{}", found.formula);
            if column == "利好" {
                let (at, words) = strongest(&found);
                assert!(at == 2 && found.sentences[2].value > 0.0, "{model:?}: {found:?}");
                assert!(["中标", "订单", "增长"].contains(&words[0]), "{model:?}: {words:?}");
            }
        }
    }
}

#[test]
fn a_label_that_a_window_lacks_has_no_probability_to_take_apart() {
    let (corpus, mut feature, _) = labelled(Model::Logistic);
    feature.classes.labels = ["利空", "传闻", "利好"].map(str::to_owned).to_vec();
    let set = corpus.run(&feature).0;
    let found = explained(&corpus, &feature, set, Some("传闻"), (2, 5));
    assert!(found.by == ExplainedBy::Nothing && found.note.1.contains("lacks this class"), "{found:?}");
}

#[test]
fn a_probability_is_followed_to_the_words_of_inputs() {
    for (model, inputs) in [(Model::Logistic, [Model::Lsa, Model::Tfidf]), (Model::Boosted, [Model::Lsa, Model::Tfidf])]
    {
        let (mut corpus, feature, _) = labelled(model);
        corpus.features = inputs.map(input).to_vec();
        for input in &corpus.features {
            let set = corpus.run(input).0;
            corpus.sets.insert(input.name.clone(), set);
        }
        let feature = Feature { inputs: corpus.features.iter().map(|input| input.name.clone()).collect(), ..feature };
        let set = corpus.run(&feature).0;
        let kept = KeptRow::read(&corpus.store.set(&set).unwrap().unwrap(), (2, 5)).unwrap();
        let explain = |inputs: &Inputs<'_>| explain(&feature, Some("利好"), inputs, Some(&kept), (2, 5), &corpus.ctx);
        let texts = corpus.with(None, explain).unwrap();
        let [head, lsa, words] = &texts[..] else { panic!("{texts:?}") };
        assert!((head.score - head.kept).abs() < 1e-6 && head.rest.abs() < 1e-6, "{head:?}");
        assert_eq!((lsa.of.as_str(), lsa.score), ("read.利好", head.score));
        let exact = if model == Model::Logistic { ExplainedBy::Words } else { ExplainedBy::Omission };
        assert_eq!(lsa.by, exact, "{lsa:?}");
        assert!(exact == ExplainedBy::Omission || lsa.rest.abs() < 1e-6, "{lsa:?}");
        let given: f64 = words.sentences.iter().map(|sentence| sentence.value).sum();
        let part: f64 = head.inputs.iter().filter(|input| input.input == "tfidf").map(|input| input.value).sum();
        assert!(words.by == ExplainedBy::Words && (given + words.rest - part).abs() < 1e-6, "{words:?} {head:?}");
    }
}

#[test]
fn networks_lose_what_is_left_out_down_to_words() {
    for model in [Model::TextCnn, Model::TextRnn] {
        let (corpus, feature, set) = labelled(model);
        for column in ["score", "利好"] {
            let found = explained(&corpus, &feature, set, Some(column), (2, 5));
            assert_eq!(found.by, ExplainedBy::Omission, "{found:?}");
            assert_eq!(found.score, found.kept, "the network of the fold is trained to the same bits");
            let (at, words) = strongest(&found);
            assert!(!words.is_empty() && found.sentences.iter().all(|s| s.value.is_finite()), "{found:?}");
            assert_eq!(found.sentences.iter().filter(|s| !s.words.is_empty()).count(), 1, "{found:?}");
            // A recurrent network is moved by whatever shifts its state, such as a title that all texts have.
            if model == Model::TextCnn {
                assert!(at == 2 && found.sentences[2].value > 0.0, "{found:?}");
                assert!(["中标", "订单", "增长"].contains(&words[0]), "{words:?}");
            }
        }
        let before = explained(&corpus, &feature, set, None, (0, 3));
        assert!(before.by == ExplainedBy::Nothing && before.note.1.contains("No model scored"), "{before:?}");
    }
}

#[test]
fn points_and_surprise_are_taken_apart_by_words() {
    let (corpus, ..) = learned(Model::Ridge);
    for (model, columns) in [(Model::Lsa, ["c1", "c2"]), (Model::Word2vec, ["c1", "c4"])] {
        let feature = input(model);
        let set = corpus.run(&feature).0;
        for column in columns {
            let found = explained(&corpus, &feature, set, Some(column), (2, 5));
            assert!(found.by == ExplainedBy::Words && found.kept != 0.0, "{model:?} {found:?}");
            assert!((found.score - found.kept).abs() < 1e-6 && found.rest.abs() < 1e-6, "{model:?} {found:?}");
        }
    }
    let counts =
        explained(&corpus, &input(Model::Word2vec), corpus.run(&input(Model::Word2vec)).0, Some("words"), (2, 5));
    assert_eq!(counts.by, ExplainedBy::Nothing);

    // One text has a sentence that nothing before it had.
    let mut texts: Vec<Text> =
        (0..DAYS).map(|t| (day(t).and_hms_opt(10, 0, 0).unwrap(), Kind::News, "", BODIES[t as usize % 2])).collect();
    texts[45].3 = "公司中标，订单增长。海外工厂火灾停产。股东大会召开。";
    let corpus = Corpus::new(0);
    corpus.put(&texts, 20);
    let surprise = SurpriseParams { window_days: 20, min_train_documents: 5, ..SurpriseParams::default() };
    let feature = Feature { surprise, ..input(Model::Surprise) };
    let set = corpus.run(&feature).0;
    for column in ["surprise", "oov"] {
        let found = explained(&corpus, &feature, set, Some(column), (2, 5));
        assert!(found.by == ExplainedBy::Words && (found.score - found.kept).abs() < 1e-6, "{found:?}");
        assert!(found.rest.abs() < 1e-6 && (found.intercept > 0.0) == (column == "surprise"), "{found:?}");
        let (at, words) = strongest(&found);
        assert!(at == 1 && ["海外", "工厂", "火灾", "停产"].contains(&words[0]), "{column}: {found:?}");
    }
    assert_eq!(explained(&corpus, &feature, set, Some("tokens"), (2, 5)).by, ExplainedBy::Nothing);
}

#[test]
fn an_input_that_is_learned_is_taken_apart_on_its_own_scale() {
    let walk = WalkForward { train_days: 15, test_days: 5, min_train_rows: 5, ..WalkForward::default() };
    let (_, inner, _) = learned(Model::Logistic);
    let inner = Feature { name: "inner".into(), walk_forward: walk, ..inner };
    let texts = head_on(Model::Ridge, &[inner]);
    let [head, below] = &texts[..] else { panic!("{texts:?}") };
    assert_eq!((below.feature.as_str(), below.column.as_str(), below.by), ("inner", "score", ExplainedBy::Words));
    assert!((below.score - below.kept).abs() < 1e-5 && below.rest.abs() < 1e-6, "{below:?}");
    assert!(below.note.1.contains("its part of the score above is") && head.inputs.len() == 1, "{below:?}");
}

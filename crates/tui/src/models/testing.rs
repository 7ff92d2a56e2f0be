//! A stand-in for models: files that are not there, and answers that are made up.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};

use super::{
    Answer, ArgumentFault, AskModel, FlagTakes, ModelBench, ModelCard, Plane, Question, Surprised, Tool,
    TrainableModel, TrainingFlag,
};
use crate::Runner;
use inkstone_base::data::Report;
use inkstone_base::language::Message;
use inkstone_base::message;

const OF_WORDS: [Tool; 3] = [Tool::Nearest, Tool::Analogy, Tool::Plane];
/// Words near to any other.
const NEAR: [&str; 12] =
    ["增持", "减持", "股份回购", "回购注销", "员工持股", "要约", "𠮷野家", "📈", "定增", "解禁", "质押", "分红"];

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// A model of each sort: word vectors, n-grams, one that cannot be asked, and a broken file.
pub(super) fn cards() -> Vec<ModelCard> {
    let until = "2023-12-29T23:59:59".parse().ok();
    let card = |name: &str, kind: &str| ModelCard {
        path: format!("models/{name}").into(),
        name: format!("models/{name}"),
        kind: kind.to_owned(),
        bytes: 8_452_310,
        ..ModelCard::default()
    };
    vec![
        ModelCard {
            bytes: 912_000,
            fault: Some(message!(
                "models/cut.model 不完整或已损坏；请重新训练",
                "models/cut.model is cut short or damaged; train it again"
            )),
            ..card("cut.model", "tfidf")
        },
        ModelCard {
            dim: Some(3),
            words: Some(41_207),
            tools: vec![Tool::Following, Tool::Surprise],
            says_text: true,
            ..card("news.arpa", "ngram")
        },
        ModelCard { words: Some(20_000), documents: Some(7_421), fitted_until: until, ..card("tfidf.model", "tfidf") },
        ModelCard {
            dim: Some(100),
            words: Some(18_331),
            documents: Some(7_421),
            tokens: Some(2_904_118),
            fitted_until: until,
            params: pairs(&[
                ("format", "jsonl"),
                ("mode", "jieba"),
                ("method", "word2vec"),
                ("dim", "100"),
                ("min_count", "5"),
                ("architecture", "cbow"),
                ("window", "5"),
                ("negative", "5"),
                ("seed", "1"),
            ]),
            losses: vec![2.41, 2.03, 1.88, 1.79, 1.74],
            tools: OF_WORDS.to_vec(),
            ..card("word2vec.model", "word2vec")
        },
    ]
}

fn words(count: usize) -> Vec<(String, f32)> {
    let word = |at: usize| (NEAR[at % NEAR.len()].to_owned(), 0.8731 - 0.041 * at as f32);
    (0..count.min(NEAR.len())).map(word).collect()
}

fn answer(question: &Question) -> Result<Answer> {
    Ok(match question {
        Question::Nearest(word, _) if word == "回沟" => {
            Answer::Unknown(word.clone(), vec!["回购".to_owned(), "回落".to_owned()])
        }
        Question::Nearest(word, _) if word.starts_with('\u{1f5ff}') => Answer::Unknown(word.clone(), Vec::new()),
        Question::Nearest(word, k) => {
            let made = if word == "生造词" { vec![word.clone()] } else { Vec::new() };
            Answer::Near { words: words(*k), made }
        }
        Question::Analogy(_, k) => Answer::Near { words: words(*k), made: Vec::new() },
        Question::MostFrequent(n, _) => {
            let point = |at: usize| {
                let (angle, far) = (at as f64 * 2.399, (at as f64 + 0.5).sqrt());
                (NEAR[at % NEAR.len()].to_owned(), [far * angle.cos(), far * angle.sin()])
            };
            let points: Vec<(String, [f64; 2])> = (0..(*n).min(60)).map(point).collect();
            let tones = (0..points.len()).map(|at| (at % 3) as f32 - 1.0).collect();
            let clusters = (0..points.len()).map(|at| at % 4).collect();
            let (explained, svg) = (Some([0.214, 0.087]), "<svg/>".to_owned());
            Answer::Plane(Plane { points, clusters, tones, explained, kept: 0.41, svg })
        }
        Question::Around(word, _, _) => {
            let points =
                vec![(word.clone(), [0.0, 0.0]), ("增持".to_owned(), [1.0, 0.4]), ("减持".to_owned(), [-1.0, 1.0])];
            let (clusters, tones) = (vec![1, 1, 2], vec![0.0, 1.0, -1.0]);
            let (explained, svg) = (Some([0.5, 0.25]), "<svg/>".to_owned());
            Answer::Plane(Plane { points, clusters, tones, explained, kept: 1.0, svg })
        }
        Question::Following(text, _) => {
            let next = [("股份", 0.412), ("计划", 0.221), ("公司", 0.1), ("</s>", 0.05), ("的", 0.0004)];
            let unknown = if text.contains("辰光") { vec!["辰光".to_owned()] } else { Vec::new() };
            Answer::Following {
                after: vec![text.clone()],
                unknown,
                next: next.map(|(word, p)| (word.to_owned(), p)).to_vec(),
            }
        }
        Question::Surprise(text) if text.is_empty() => bail!("nothing to read"),
        Question::Surprise(text) => {
            let tokens: Vec<&str> = text.split(' ').collect();
            let bits = |at: usize| [3.1, 5.4, 9.2, 13.8, 7.7, 1.2, 11.6][at % 7];
            let surprise = |(at, token): (usize, &str)| Surprised {
                token: token.to_owned(),
                bits: bits(at),
                order: Some(3),
                unknown: bits(at) > 13.0,
            };
            Answer::Surprise(tokens.into_iter().chain(["</s>"]).enumerate().map(surprise).collect())
        }
    })
}

fn open(path: &Path) -> Result<AskModel> {
    if path.ends_with("gone.model") {
        bail!("cannot open {}", path.display());
    }
    Ok(Arc::new(|question, _| answer(question)))
}

/// The faults the command line would find: an input that is missing, an output that exists.
fn check(args: &[String]) -> Vec<ArgumentFault> {
    let after = |flag: &str| args.iter().position(|arg| arg == flag).map(|at| args[at + 1].as_str());
    let mut faults = Vec::new();
    if after("--input").is_some_and(|input| input.contains("nowhere")) {
        faults.push(ArgumentFault {
            flag: "input".to_owned(),
            why: message!("没有 nowhere.jsonl", "there is no nowhere.jsonl"),
        });
    }
    if after("--output").is_some_and(|output| output.contains("word2vec.model")) {
        let why = message!("models/word2vec.model 已存在", "models/word2vec.model is there already");
        faults.push(ArgumentFault { flag: "output".to_owned(), why });
    }
    faults
}

/// Two kinds of models with some of their flags.
pub(super) fn kinds() -> Vec<TrainableModel> {
    let flag = |name: &str, zh: &str, en: &str, default: &str, proposed: &str, takes: FlagTakes| TrainingFlag {
        name: name.to_owned(),
        about: Message { zh: zh.to_owned(), en: en.to_owned() },
        takes,
        default: default.to_owned(),
        proposed: proposed.to_owned(),
        is_required: false,
    };
    let dim = || flag("dim", "向量的维数", "Values of a vector", "100", "100", FlagTakes::Text);
    let kind = |name: &str, about: Message, flags: Vec<TrainingFlag>| TrainableModel {
        name: name.to_owned(),
        about,
        flags,
        is_folder: false,
        cuts: true,
    };
    vec![
        kind(
            "word2vec",
            message!("预测邻词的词向量", "Word vectors that predict their neighbours"),
            vec![
                flag("sg", "skip-gram 而非 CBOW", "Skip-gram, not CBOW", "off", "off", FlagTakes::Switch),
                dim(),
                flag("window", "两侧各看几个词", "Words on each side", "5", "5", FlagTakes::Text),
            ],
        ),
        kind(
            "fasttext",
            message!("带字串的词向量", "Word vectors with character n-grams"),
            vec![
                dim(),
                flag("minn", "最短的字串", "The shortest character n-gram", "3", "1", FlagTakes::Text),
                flag("maxn", "最长的字串", "The longest character n-gram", "6", "3", FlagTakes::Text),
            ],
        ),
        kind(
            "ngram",
            message!("n 元语言模型", "An n-gram language model"),
            vec![
                flag("order", "最长几个词", "Words of the longest n-gram", "3", "3", FlagTakes::Text),
                flag(
                    "smoothing",
                    "平滑方法",
                    "The smoothing",
                    "kneser-ney",
                    "kneser-ney",
                    FlagTakes::One(["kneser-ney", "katz"].map(str::to_owned).to_vec()),
                ),
            ],
        ),
    ]
}

/// Works with these files, and trains by `work`.
pub(super) fn bench(cards: Vec<ModelCard>, work: Runner) -> ModelBench {
    ModelBench {
        list: Arc::new(move |_| Ok(cards.clone())),
        open: Arc::new(|path, _| open(path)),
        check: Arc::new(check),
        train: Arc::new(move |_| work.clone()),
        kinds,
        corpus: ".inkstone/clean".to_owned(),
        cutting: vec!["--dict".to_owned(), "words.txt".to_owned()],
        folder: "models".to_owned(),
    }
}

/// A training of one stage that says nothing of a loss.
pub(super) fn counts() -> Runner {
    Arc::new(|ctx| {
        let report = ctx.stage("train", "docs", None, || {
            ctx.advance(3)?;
            Ok(Report::new("train"))
        })?;
        Ok(vec![report])
    })
}

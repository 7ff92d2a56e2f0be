//! ARPA files of other tools, of our own, and broken ones.

use serde::Deserialize;

use super::*;
use crate::ngram::model::Ngram;
use crate::ngram::params::NgramParams;
use crate::ngram::smoothing::tests::trained;
use crate::ngram::{LanguageModel, Smoothing};
use crate::{ModelFile, ngram};
use inkstone_base::job::Ctx;

/// Documents, and by model for each token log10 probability, order of the n-gram, and whether the word is unknown.
#[derive(Deserialize)]
struct Reference {
    documents: Vec<String>,
    models: std::collections::BTreeMap<String, Vec<Vec<(f32, u32, bool)>>>,
}

fn ctx() -> Ctx {
    Ctx::new(2, 1).unwrap()
}

fn load(text: &str) -> anyhow::Result<LanguageModel> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("m.arpa");
    std::fs::write(&path, text)?;
    assert!(is_arpa(&path)?);
    read_arpa(&path, &ctx())
}

/// The tokens of a document: log10 probability, order, and whether the word is unknown.
fn tokens(model: &LanguageModel, text: &str) -> Vec<(f32, u32, bool)> {
    let mut scores = model.scores();
    scores.push(text.split_ascii_whitespace());
    scores.score();
    let (words, scored) = scores.documents().next().unwrap();
    words.iter().zip(scored).map(|(&word, s)| (s.log10, s.order, word == ngram::words::UNKNOWN)).collect()
}

const GAPS: &str = include_str!("../../../../../tests/reference/kenlm/gaps.arpa");

#[test]
fn models_of_kenlm_give_kenlms_probabilities_token_by_token() {
    let reference: Reference =
        serde_json::from_str(include_str!("../../../../../tests/reference/kenlm/query.json")).unwrap();
    let files = [
        ("order3", include_str!("../../../../../tests/reference/kenlm/order3.arpa")),
        ("order4-pruned", include_str!("../../../../../tests/reference/kenlm/order4-pruned.arpa")),
        ("gaps", GAPS),
    ];
    assert_eq!(reference.models.len(), files.len());
    for (name, file) in files {
        let model = load(file).unwrap();
        for (text, expected) in reference.documents.iter().zip(&reference.models[name]) {
            let found = tokens(&model, text);
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(expected) {
                assert!((found.0 - expected.0).abs() < 2e-6, "{name}, {text}: {found:?}, KenLM {expected:?}");
                assert_eq!((found.1, found.2), (expected.1, expected.2), "{name}, {text}");
            }
        }
    }
}

#[test]
fn what_is_written_reads_back_with_the_same_numbers_whatever_the_threads() {
    let texts = ["订单 增长 超出 预期", "订单 下降", "增长 超出 预期 。", "订单 增长 。"];
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.arpa");
    for smoothing in [Smoothing::KneserNey, Smoothing::Katz, Smoothing::Mle, Smoothing::AddK] {
        let model = trained(&texts, &NgramParams { order: 4, smoothing, ..NgramParams::default() });
        let written = [1, 2, 8].map(|threads| {
            model.write_arpa(&path, &Ctx::new(threads, 1).unwrap()).unwrap();
            std::fs::read(&path).unwrap()
        });
        assert!(written[0] == written[1] && written[1] == written[2]);
        let text = String::from_utf8(written[0].clone()).unwrap();
        assert!(text.starts_with("\\data\\\nngram 1="), "{text}");
        assert!(text.contains("\n\n\\4-grams:\n") && text.ends_with("\n\n\\end\\\n"));
        let (ours, again) = (LanguageModel::new(&model, &ctx()).unwrap(), load(&text).unwrap());
        for text in texts.iter().chain(&["未见 订单", "预期 超出 增长 下降 。"]) {
            assert_eq!(tokens(&ours, text), tokens(&again, text), "{smoothing:?}");
        }
    }
}

#[test]
fn lines_stand_in_the_order_of_their_words_and_the_highest_order_has_no_weights() {
    let model: Ngram = trained(&["甲 乙", "甲 丙"], &NgramParams { order: 2, ..NgramParams::default() });
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.arpa");
    model.write_arpa(&path, &ctx()).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let words = |line: &&str| line.split('\t').nth(1).map(str::to_owned);
    let lines: Vec<String> = text.lines().collect::<Vec<_>>().iter().filter_map(words).collect();
    let expected = ["<unk>", "<s>", "</s>", "甲", "乙", "丙", "<s> 甲", "甲 乙", "甲 丙", "乙 </s>", "丙 </s>"];
    assert_eq!(lines, expected);
    let fields = |line: &str| line.split('\t').count();
    let grams: Vec<&str> = text.lines().filter(|line| line.contains('\t')).collect();
    assert!(grams[..6].iter().all(|line| fields(line) == 3) && grams[6..].iter().all(|line| fields(line) == 2));
}

#[test]
fn a_model_without_an_unknown_word_gives_it_what_kenlm_gives_it() {
    let text = GAPS.replace("-2.5\t<unk>\n", "").replace("ngram 1=8", "ngram 1=7");
    // After <s>, whose back-off weight is -0.30103.
    assert_eq!(tokens(&load(&text).unwrap(), "未见")[0], (-100.30103, 1, true));
    let upper = GAPS.replace("<unk>", "<UNK>");
    assert_eq!(tokens(&load(&upper).unwrap(), "未见")[0].0, -2.80103);
}

#[test]
fn a_damaged_file_is_refused_with_its_line_and_what_was_expected() {
    let cases = [
        ("ngram 2=5", "ngram 2=x", 5, "\"ngram 2=\" and a number was expected, not \"ngram 2=x\""),
        ("ngram 3=2\n", "ngram 4=2\n", 6, "\"ngram 3=\" and a number was expected"),
        ("\\2-grams:", "\\3-grams:", 18, "\\2-grams: was expected, not \"\\\\3-grams:\""),
        ("-1.1\t增长", "增长", 13, "a log10 probability was expected at the start of"),
        ("-1.1\t增长", "0.5\t增长", 13, "the log10 probability 0.5 is above 0"),
        ("-1.1\t增长", "NaN\t增长", 13, "a log10 probability was expected"),
        (
            "-0.7\t增长 </s>",
            "-0.7\t增长",
            22,
            "2 words and at the most a back-off weight were expected after the probability, not 1",
        ),
        ("-0.6\t公司 净利润\t-0.1", "-0.6\t公司 净利润\t-0.1x", 19, "a back-off weight was expected, not \"-0.1x\""),
        ("-0.6\t公司 净利润\t-0.1", "-0.6\t公司 净利润\tinf", 19, "a back-off weight was expected"),
        ("-0.2\t净利润 同比 下降", "-0.2\t净利润 同比 下降\t-0.3", 26, "the highest order has no back-off weights"),
        ("-0.7\t增长 </s>", "-0.7\t增幅 </s>", 22, "the word \"增幅\" is not among the 1-grams"),
        ("-0.2\t净利润 同比 下降", "-0.2\t同比 下降 增长", 26, "not among the 2-grams: \"同比 下降\""),
        ("-0.45\t同比 增长\t0", "-0.45\t增长 </s>\t0", 23, "this 2-gram stands twice"),
        ("ngram 3=2", "ngram 3=3", 29, "there are 2 3-grams, \\data\\ says 3"),
        ("ngram 1=8", "ngram 1=9", 18, "there are 8 1-grams, \\data\\ says 9"),
        ("-99\t<s>\t-0.30103\n", "-99\t<t>\t-0.30103\n", 18, "the 1-grams lack <s>"),
        ("-1.2\t</s>\n", "-1.2\t</s>\n-1.2\t</s>\n", 10, "</s> stands twice"),
        ("\n\\end\\\n", "\n", 29, "the file ends without \\end\\: it is cut short"),
        ("\\end\\", "\\5-grams:", 29, "\\end\\ was expected after the 3-grams, not \"\\\\5-grams:\""),
        ("\\data\\", "\\date\\", 30, "\\data\\ was expected, but the file ends: it is no ARPA file"),
    ];
    for (right, wrong, line, expected) in cases {
        assert!(GAPS.contains(right), "{right}");
        let Err(error) = load(&GAPS.replacen(right, wrong, 1)) else { panic!("{wrong} was read") };
        let error = format!("{error:#}");
        assert!(error.contains(&format!("m.arpa, line {line}: ")) && error.contains(expected), "{wrong}: {error}");
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.arpa");
    std::fs::write(&path, [0x1f, 0x8b, 8, 0]).unwrap();
    assert!(read_arpa(&path, &ctx()).err().unwrap().to_string().contains("decompress it first"));
    // A word that stands twice is told by its name.
    let twice = GAPS.replace("-1.0\t公司", "-1.0\t下降");
    assert!(format!("{:#}", load(&twice).err().unwrap()).contains("\"下降\" stands twice"));
}

#[test]
fn a_file_cut_short_anywhere_is_refused() {
    for length in (1..GAPS.len() - "\\end\\\n".len()).filter(|&at| GAPS.is_char_boundary(at)) {
        assert!(load_any(&GAPS[..length]).is_err(), "{length}");
    }
}

fn load_any(text: &str) -> anyhow::Result<LanguageModel> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("m.arpa");
    std::fs::write(&path, text)?;
    read_arpa(&path, &ctx())
}

#[test]
fn a_mapped_model_gives_the_same_as_the_one_it_was_made_of() {
    let params = NgramParams { order: 4, ..NgramParams::default() };
    let texts = ["订单 增长 超出 预期", "订单 下降", "增长 超出 预期 。"];
    let model = LanguageModel::new(&trained(&texts, &params), &ctx()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let paths = [1, 2, 8].map(|threads| {
        let path = dir.path().join(format!("{threads}.bin"));
        let model = LanguageModel::new(&trained(&texts, &params), &Ctx::new(threads, 1).unwrap()).unwrap();
        model.save(&path, &"tokens", &params).unwrap();
        path
    });
    let bytes = paths.each_ref().map(|path| std::fs::read(path).unwrap());
    assert!(bytes[0] == bytes[1] && bytes[1] == bytes[2]);
    let file = ModelFile::open(&paths[0]).unwrap();
    file.verify().unwrap();
    let mapped = LanguageModel::open(file).unwrap();
    assert_eq!((mapped.header().documents, mapped.header().params["ngram"]["order"].as_u64()), (3, Some(4)));
    for text in texts.iter().chain(&["未见 订单 增长", ""]) {
        assert_eq!(tokens(&mapped, text), tokens(&model, text));
        assert_eq!(mapped.score(text.split(' ')), model.score(text.split(' ')));
    }
    // Damage anywhere in the n-grams gives an error or numbers, never a crash or an endless search.
    let places = (bytes[0].len() / 2..bytes[0].len()).step_by(3);
    for at in places {
        let mut damaged = bytes[0].clone();
        damaged[at] ^= 0x55;
        let path = dir.path().join("damaged.bin");
        std::fs::write(&path, damaged).unwrap();
        if let Ok(model) = ModelFile::open(&path).and_then(LanguageModel::open) {
            texts.iter().for_each(|text| _ = tokens(&model, text));
        }
    }
}

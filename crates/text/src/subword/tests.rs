//! Against the crate itself and against what the libraries of the models say (`tests/reference/onnx`).

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

fn reference(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/onnx").join(name)
}

/// A vocabulary of word pieces with what the texts below need.
fn vocabulary() -> String {
    let mut lines =
        vec!["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "中", "文", "股", "票", "涨", "，", "。", "！", "（", "）"];
    lines.extend([
        "roe", "r", "##oe", "##o", "##e", "e", "a", "##a", "##b", "cafe", "a股", "ａ", "１", "1", "##2", "##3", "12",
        ".",
    ]);
    lines.extend(["%", "“", "”", "—", "…", "é", "Ａ", "A", "İ", "i", "한", "±", "①", "##①"]);
    lines.join("\n")
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn bert() -> Subword {
    let folder = folder(&[("vocab.txt", &vocabulary())]);
    Subword::open(folder.path()).unwrap()
}

/// GPT-2's vocabulary behind the expression of later models.
fn qwen() -> Subword {
    let mut json: Value = serde_json::from_slice(&fs::read(reference("gpt2").join("tokenizer.json")).unwrap()).unwrap();
    let split = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
    json["pre_tokenizer"] = json!({"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": split}, "behavior": "Isolated", "invert": false},
        {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false},
    ]});
    let folder = folder(&[("tokenizer.json", &json.to_string())]);
    let subword = Subword::open(folder.path()).unwrap();
    assert!(subword.seams.tails());
    subword
}

fn by_crate(subword: &Subword, text: &str) -> Pieces {
    let mut pieces = Pieces::default();
    subword.encode_slow(text, 0, &mut pieces).unwrap();
    pieces
}

fn written<'t>(subword: &Subword, text: &'t str) -> Vec<(String, &'t str)> {
    let pieces = subword.encode(text).unwrap();
    let place = |range: &Range<u32>| &text[range.start as usize..range.end as usize];
    pieces.ids.iter().zip(&pieces.offsets).map(|(id, range)| (subword.token(*id).unwrap(), place(range))).collect()
}

fn message(result: Result<Subword>) -> String {
    format!("{:#}", result.err().expect("it must not open"))
}

#[test]
fn every_family_is_cut_as_by_its_library() {
    for family in [
        "albert",
        "bart",
        "bert",
        "deberta",
        "electra",
        "gpt2",
        "mass",
        "openai-gpt",
        "roberta",
        "t5",
        "ulmfit",
        "unilm",
        "xlnet",
        "elmo-words",
    ] {
        let folder = reference(family);
        let words = family == "elmo-words";
        let subword =
            if words { Subword::words(&folder.join("vocab.txt")).unwrap() } else { Subword::open(&folder).unwrap() };
        let expected: Value = serde_json::from_slice(&fs::read(folder.join("expected.json")).unwrap()).unwrap();
        for case in expected["cases"].as_array().unwrap() {
            let text = expected["texts"][case["text"].as_u64().unwrap() as usize].as_str().unwrap();
            let ids: Vec<u32> = serde_json::from_value(case["ids"].clone()).unwrap();
            let offsets: Vec<(u32, u32)> = serde_json::from_value(case["offsets"].clone()).unwrap();
            let pieces = subword.encode_head(text, ids.len() - subword.specials()).unwrap();
            let wrapped = subword.wrap(&pieces.ids);
            assert_eq!(wrapped.ids, ids, "{family}: {text}");
            if let Some(types) = case.get("types") {
                assert_eq!(json!(wrapped.types), *types, "{family}: {text}");
            }
            let found: Vec<(u32, u32)> = pieces.offsets.iter().map(|place| (place.start, place.end)).collect();
            assert_eq!(found, offsets[wrapped.text], "{family}: {text}");
        }
    }
}

#[test]
fn a_model_of_sentencepiece_says_the_same_as_its_tokenizer_json() {
    for family in ["t5", "xlnet"] {
        let folder = reference(family);
        let json = Subword::open(&folder.join("tokenizer.json")).unwrap();
        let model = Subword::open(&folder.join("spiece.model")).unwrap();
        for text in ["净利润同比增长，ROE升至8%", " 公司  拟回购 股份", "囧 unknown 囧囧。", ""] {
            let (one, other) = (json.encode(text).unwrap(), model.encode(text).unwrap());
            assert_eq!(one.ids, other.ids, "{family}: {text:?}");
            assert_eq!(json.wrap(&one.ids), model.wrap(&other.ids), "{family}");
        }
    }
}

#[test]
fn offsets_are_bytes_of_the_text_given() {
    let bert = bert();
    let pairs =
        |text| written(&bert, text).into_iter().map(|(piece, part)| format!("{piece}={part}")).collect::<Vec<_>>();
    assert_eq!(pairs("涨ROE 12.3%"), ["涨=涨", "roe=ROE", "12=12", ".=.", "[UNK]=3", "%=%"]);
    assert_eq!(pairs("CAFÉ\u{3000}Ａ中"), ["cafe=CAFÉ", "ａ=Ａ", "中=中"]);
    assert_eq!(pairs("a\u{200b}b，\u{feff}"), ["a=a", "##b=b", "，=，"]);
    assert_eq!(pairs("e\u{301}e 한"), ["e=e", "##e=e", "[UNK]=한"]);
    let t5 = Subword::open(&reference("t5")).unwrap();
    for (piece, part) in written(&t5, "ＲＯＥ升至８％，净利润") {
        let piece = piece.trim_start_matches('▁');
        let wide: String = part
            .chars()
            .map(|c| if ('！'..='～').contains(&c) { char::from_u32(c as u32 - 0xFEE0).unwrap() } else { c })
            .collect();
        assert!(piece == wide || piece == "<unk>" || piece.is_empty(), "{piece} is not {part}");
    }
}

#[test]
fn a_byte_covers_its_whole_character() {
    let gpt = Subword::open(&reference("gpt2")).unwrap();
    let text = "囧a";
    let pieces = gpt.encode(text).unwrap();
    assert_eq!(pieces.offsets, [0..3, 0..3, 0..3, 3..4]);
    assert_eq!(gpt.decode(&pieces.ids), text);
    assert_eq!(gpt.unk_id(), None);
}

#[test]
fn what_stands_around_a_text() {
    let xlnet = Subword::open(&reference("xlnet")).unwrap();
    let (sep, cls) = (xlnet.id("<sep>").unwrap(), xlnet.id("<cls>").unwrap());
    let wrapped = xlnet.wrap(&[9, 8]);
    assert_eq!(wrapped, Wrapped { ids: vec![9, 8, sep, cls], types: vec![0, 0, 0, 2], text: 0..2 });
    let bert = bert();
    assert_eq!(bert.wrap(&[7]), Wrapped { ids: vec![2, 7, 3], types: vec![0; 3], text: 1..2 });
    assert_eq!(bert.wrap(&[]), Wrapped { ids: vec![2, 3], types: vec![0; 2], text: 1..1 });
    assert_eq!(bert.specials(), 2);
    assert_eq!((bert.pad_id(), bert.unk_id(), bert.mask_id(), bert.end_id()), (Some(0), Some(1), Some(4), Some(3)));
    assert_eq!(bert.size(), vocabulary().lines().count());
}

#[test]
fn what_stands_around_two_texts() {
    let bert = bert();
    let both = bert.wrap_pair(&[7], &[8, 9]).unwrap();
    let expected = WrappedPair { ids: vec![2, 7, 3, 8, 9, 3], types: vec![0, 0, 0, 1, 1, 1], texts: [1..2, 3..5] };
    assert_eq!((both, bert.pair_specials()), (expected, Some(3)));
    let open = |file: &str| Subword::open(&reference(file)).unwrap();
    let xlnet = open("xlnet/spiece.model");
    let (sep, cls) = (xlnet.id("<sep>").unwrap(), xlnet.id("<cls>").unwrap());
    let both = xlnet.wrap_pair(&[9], &[8]).unwrap();
    assert_eq!((both.ids, both.types), (vec![9, sep, 8, sep, cls], vec![0, 0, 1, 1, 2]));
    let t5 = open("t5/spiece.model");
    let end = t5.id("</s>").unwrap();
    let both = t5.wrap_pair(&[9], &[8]).unwrap();
    assert_eq!((both.ids, both.types, both.texts), (vec![9, end, 8, end], vec![0; 4], [0..1, 2..3]));
    // Words have a template for one text.
    let words = folder(&[("vocab.txt", "<unk>\n<S>\n</S>\n中")]);
    let words = Subword::words(&words.path().join("vocab.txt")).unwrap();
    assert_eq!((words.wrap_pair(&[3], &[3]), words.pair_specials()), (None, None));
}

#[test]
fn files_beside_a_vocabulary_decide() {
    let settings = r#"{"do_lower_case": false, "tokenize_chinese_chars": false, "cls_token": {"content": "中"}, "sep_token": "文"}"#;
    let folder = folder(&[("vocab.txt", &vocabulary()), ("tokenizer_config.json", settings)]);
    let subword = Subword::open(folder.path()).unwrap();
    assert_eq!(written(&subword, "A")[0].0, "A");
    assert_eq!(written(&subword, "a股")[0], ("a股".to_owned(), "a股"));
    assert_eq!(subword.wrap(&[]).ids, [5, 6]);
    assert_ne!(subword.key(), bert().key());
    assert_eq!(bert().key(), bert().key());
}

#[test]
fn marks_in_a_text_are_tokens() {
    let bert = bert();
    let pieces = bert.encode("股票[MASK]。").unwrap();
    assert_eq!(pieces.ids, [7, 8, 4, 11]);
    assert_eq!(pieces.offsets[2], 6..12);
    let long = format!("{}[MASK]{}", "股票，".repeat(300), "涨。".repeat(300));
    let all = bert.encode(&long).unwrap();
    assert_eq!(bert.encode_head(&long, 5).unwrap().ids, all.ids[..5]);
}

#[test]
fn truncation_and_padding_in_the_file_are_left_out() {
    let mut json: Value = serde_json::from_slice(&fs::read(reference("bert").join("tokenizer.json")).unwrap()).unwrap();
    json["truncation"] = json!({"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0});
    json["padding"] = json!({"strategy": {"Fixed": 64}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0,
        "pad_type_id": 0, "pad_token": "[PAD]"});
    let folder = folder(&[("tokenizer.json", &json.to_string())]);
    let subword = Subword::open(folder.path()).unwrap();
    assert_eq!(subword.encode("公司净利润增长").unwrap().ids.len(), 7);
    assert_eq!(subword.key(), Subword::open(&reference("bert").join("tokenizer.json")).unwrap().key());
}

#[test]
fn decoding_closes_the_gaps_of_chinese() {
    let bert = bert();
    let ids = bert.encode("股票涨12%，roe a（中文）").unwrap().ids;
    assert_eq!(bert.decode(&bert.wrap(&ids).ids), "股票涨12 %，roe a（中文）");
    assert_eq!(vocabulary::close_gaps("AI 芯 片 on  time ， x"), "AI芯片on  time，x");
}

#[test]
fn words_are_cut_at_white_space() {
    let folder = folder(&[("words.txt", "<unk>\n净利润\n增长\n")]);
    let words = Subword::words(&folder.path().join("words.txt")).unwrap();
    let pieces = words.encode("净利润 \u{3000}同比  增长\n").unwrap();
    assert_eq!(pieces.ids, [1, 0, 2]);
    assert_eq!(pieces.offsets, [0..9, 13..19, 21..27]);
    assert_eq!((words.specials(), words.unk_id()), (0, Some(0)));
}

/// A model of SentencePiece: kind, then pieces with score and type.
fn sentencepiece(kind: u8, pieces: &[(&str, f32, u8)]) -> Vec<u8> {
    let mut model = Vec::new();
    for (text, score, sort) in pieces {
        let mut piece = vec![0x0A, text.len() as u8];
        piece.extend(text.as_bytes());
        piece.push(0x15);
        piece.extend(score.to_le_bytes());
        piece.extend([0x18, *sort]);
        model.extend([0x0A, piece.len() as u8]);
        model.extend(piece);
    }
    model.extend([0x12, 2, 0x18, kind]);
    model
}

const PIECES: [(&str, f32, u8); 9] = [
    ("<unk>", 0.0, 2),
    ("<s>", 0.0, 3),
    ("▁", -3.0, 1),
    ("股", -2.0, 1),
    ("票", -2.0, 1),
    ("股票", -3.5, 1),
    ("票涨", -3.0, 1),
    ("涨", -1.5, 1),
    ("▁股", -4.0, 1),
];

#[test]
fn unigrams_take_the_best_path_and_pairs_the_best_pair() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.model");
    let names =
        |subword: &Subword, text| written(subword, text).into_iter().map(|(piece, _)| piece).collect::<Vec<_>>();
    fs::write(&file, sentencepiece(1, &PIECES)).unwrap();
    let unigram = Subword::open(folder.path()).unwrap();
    // -4 - 3 is more than -3 - 3.5 - 1.5 and than -3 - 2 - 3.
    assert_eq!(names(&unigram, "股票涨"), ["▁股", "票涨"]);
    assert_eq!(names(&unigram, "  票 囧囧 "), ["▁", "票", "▁", "<unk>"]);
    assert_eq!(unigram.decode(&unigram.encode(" 股票  涨").unwrap().ids), "股票 涨");
    fs::write(&file, sentencepiece(2, &PIECES)).unwrap();
    let pairs = Subword::open(&file).unwrap();
    // 票涨 has the best score of all that two neighbours make, then ▁股.
    assert_eq!(names(&pairs, "股票涨"), ["▁股", "票涨"]);
    assert_eq!(names(&pairs, "票股票"), ["▁", "票", "股票"]);
    assert_ne!(unigram.key(), pairs.key());
}

#[test]
fn long_texts_are_read_in_part() {
    let text = "公司净利润同比增长，管理层称订单充足。".repeat(200);
    for family in ["bert", "gpt2", "t5", "xlnet"] {
        let subword = Subword::open(&reference(family)).unwrap();
        assert!(!subword.reads_all(&text, 400), "{family}");
        assert!(subword.seam_from(&text, 400) < 500, "{family}");
        let all = subword.encode(&text).unwrap();
        for max in [0, 1, 64, 700, usize::MAX] {
            let kept = max.min(all.ids.len());
            assert_eq!(subword.encode_head(&text, max).unwrap().offsets, all.offsets[..kept], "{family} {max}");
            let tail = subword.encode_tail(&text, max).unwrap();
            assert_eq!(tail.offsets, all.offsets[all.offsets.len() - kept..], "{family} {max}");
            assert_eq!(tail.ids, all.ids[all.ids.len() - kept..], "{family} {max}");
        }
    }
}

/// Texts of what is usual, what is rare and what normalisers change, joined at random.
fn texts() -> impl Strategy<Value = String> {
    let usual = prop::sample::select(vec![
        "中", "文", "股票", "涨", "，", "。", "！", "（", "）", "”", "12", "1", "23", "%", ".", " ", "a", "b", "A",
        "roe", "ROE", "r", "oe", "囧",
    ]);
    let rare = prop::sample::select(vec![
        "é",
        "e\u{301}",
        "\u{301}",
        "\u{200b}",
        "\u{200d}",
        "\u{feff}",
        "\u{3000}",
        "\u{a0}",
        "\n",
        "\r\n",
        "\t",
        "\u{85}",
        "\0",
        "\u{fffd}",
        "Ａ",
        "１",
        "ﬁ",
        "①",
        "㈱",
        "½",
        "İ",
        "Σ",
        "ß",
        "한",
        "カ",
        "ｶﾞ",
        "😂",
        "👍🏽",
        "豈",
        "\u{2f81a}",
        "𠮷",
        "〇",
        "々",
        "…",
        "—",
        "·",
        "±",
        "℃",
        "[MASK]",
        "[",
        "##",
        "</s>",
        "<",
        "_",
        "▁",
        "\u{2028}",
        "\u{ad}",
        "\u{600}",
        "\u{302a}",
        "'s",
        "''",
    ]);
    let part = prop_oneof![6 => usual, 2 => rare, 1 => prop::sample::select(vec!["公司净利润同比增长，", "订单充足。", "aaaaaaaaaaaaaaaaaaaa"])];
    prop::collection::vec(part, 0..60).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_fast_way_is_the_crates(text in texts(), cased in any::<bool>(), chinese in any::<bool>()) {
        thread_local! {
            static ALL: Vec<Subword> = [(false, false), (false, true), (true, false), (true, true)].map(|(cased, chinese)| {
                let settings = json!({"do_lower_case": !cased, "tokenize_chinese_chars": chinese}).to_string();
                let folder = folder(&[("vocab.txt", &vocabulary()), ("tokenizer_config.json", &settings)]);
                Subword::open(folder.path()).unwrap()
            }).into();
        }
        ALL.with(|all| {
            let subword = &all[2 * usize::from(cased) + usize::from(chinese)];
            prop_assert!(subword.fast.is_some());
            prop_assert_eq!(subword.encode(&text).unwrap(), by_crate(subword, &text));
            Ok(())
        })?;
    }

    #[test]
    fn heads_and_tails_are_those_of_the_whole(text in texts(), max in 0usize..12) {
        thread_local! {
            static ALL: Vec<Subword> = ["bert", "gpt2", "roberta", "t5", "xlnet"]
                .map(|family| Subword::open(&reference(family)).unwrap())
                .into_iter()
                .chain([bert(), qwen()])
                .collect();
        }
        ALL.with(|all| {
            for subword in all {
                let pieces = subword.encode(&text).unwrap();
                let kept = max.min(pieces.ids.len());
                let from = pieces.ids.len() - kept;
                let head = subword.encode_head(&text, max).unwrap();
                prop_assert_eq!(&head.ids, &pieces.ids[..kept]);
                prop_assert_eq!(&head.offsets, &pieces.offsets[..kept]);
                let tail = subword.encode_tail(&text, max).unwrap();
                prop_assert_eq!(&tail.ids, &pieces.ids[from..]);
                prop_assert_eq!(&tail.offsets, &pieces.offsets[from..]);
                for place in &pieces.offsets {
                    prop_assert!(text.get(place.start as usize..place.end as usize).is_some());
                }
            }
            Ok(())
        })?;
    }
}

#[test]
fn what_cannot_be_opened_says_why() {
    let empty = folder(&[("vocab.json", "{}")]);
    let text = message(Subword::open(empty.path()));
    assert!(
        text.contains("there is no tokenizer in") && text.contains("merges.txt") && text.contains("save_pretrained"),
        "{text}"
    );
    let gone = message(Subword::open(Path::new("/nowhere/tokenizer.json")));
    assert!(gone.contains("cannot read the tokenizer /nowhere/tokenizer.json"), "{gone}");

    for (name, content, wanted) in [
        ("tokenizer.json", "{\"version\": \"1.0\", \"mod", "it is not JSON"),
        ("tokenizer.json", "{}", "it has no `model`"),
        ("tokenizer.json", "[1]", "an object with a `model` is wanted"),
        ("tokenizer.json", r#"{"model": {"type": "Riddle"}}"#, "not in the form of tokenizer.json"),
        (
            "tokenizer.json",
            r###"{"version": "1.0", "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {}}}"###,
            "its vocabulary is empty",
        ),
        (
            "tokenizer.json",
            r#"{"version": "1.0", "model": {"type": "Unigram", "unk_id": null, "vocab": [["a", -1.0]]}}"#,
            "it has no unknown token: `unk_id`",
        ),
        ("vocab.txt", "", "its vocabulary is empty"),
        ("vocab.txt", "a\nb\n", "it has no unknown token: [UNK] is on no line"),
        ("spiece.model", "version https://example.org/spec", "it is not a SentencePiece model"),
        ("spiece.model", "", "its vocabulary is empty"),
        ("vocab.bin", "", "there is no tokenizer in"),
    ] {
        let folder = folder(&[(name, content)]);
        let text = message(Subword::open(folder.path()));
        assert!(text.contains(wanted), "{name} {content:?}: {text}");
        assert!(text.contains(&folder.path().display().to_string()), "{text}");
    }

    let beside = folder(&[("vocab.txt", &vocabulary()), ("config.json", "{")]);
    let text = message(Subword::open(beside.path()));
    assert!(text.contains("config.json is not JSON"), "{text}");
    let words = folder(&[("words.txt", "a\nb")]);
    let text = message(Subword::words(&words.path().join("words.txt")));
    assert!(text.contains("has no unknown token: add a line <unk>"), "{text}");
    let file = words.path().join("words.bin");
    fs::write(&file, "x").unwrap();
    assert!(message(Subword::open(&file)).contains("is not a tokenizer by its name"));
}

#[test]
fn models_of_sentencepiece_that_are_not_read_say_so() {
    let file = |pieces: &[(&str, f32, u8)], kind, config: &str| {
        let folder = folder(&[("config.json", config)]);
        fs::write(folder.path().join("spiece.model"), sentencepiece(kind, pieces)).unwrap();
        message(Subword::open(folder.path()))
    };
    assert!(file(&PIECES, 3, "{}").contains("only unigram and BPE are, this one cuts into words"));
    assert!(file(&PIECES[1..], 1, "{}").contains("it has no unknown token"));
    assert!(file(&PIECES, 1, r#"{"model_type": "pegasus"}"#).contains("models of the kind pegasus number the pieces"));
    let text = file(&PIECES, 1, r#"{"model_type": "xlnet"}"#);
    assert!(text.contains("it has no piece <sep>"), "{text}");
}

#[test]
fn sides_are_those_of_the_settings_else_of_the_definition() {
    let definition = |padding: Value| {
        let mut json: Value =
            serde_json::from_slice(&fs::read(reference("bert").join("tokenizer.json")).unwrap()).unwrap();
        json["padding"] = padding;
        json.to_string()
    };
    let left =
        json!({"direction": "Left", "strategy": "BatchLongest", "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"});
    for (padding, settings, sides) in [
        (Value::Null, r#"{}"#, (false, false)),
        (left.clone(), r#"{}"#, (true, false)),
        (left, r#"{"padding_side": "right", "truncation_side": "left"}"#, (false, true)),
    ] {
        let folder = folder(&[("tokenizer.json", &definition(padding)), ("tokenizer_config.json", settings)]);
        let subword = Subword::open(folder.path()).unwrap();
        assert_eq!((subword.pads_left(), subword.cuts_left()), sides, "{settings}");
    }
}

#[test]
fn lower_case_is_read_where_it_is_asked_for() {
    let cased = r#"{"do_lower_case": false}"#;
    let folder = folder(&[("vocab.txt", &vocabulary()), ("tokenizer_config.json", cased)]);
    let [plain, lower] = [false, true].map(|lower| Subword::open_cased(folder.path(), lower).unwrap());
    let names = |subword: &Subword, text: &str| -> Vec<String> {
        subword.encode(text).unwrap().ids.iter().map(|&id| subword.token(id).unwrap()).collect()
    };
    assert_eq!(names(&plain, "A中ROE café"), ["A", "中", "[UNK]", "[UNK]"]);
    // Accents stay where the definition leaves them.
    assert_eq!(names(&lower, "A中ROE café"), ["a", "中", "roe", "[UNK]"]);
    assert!(lower.fast.is_some());
    assert_eq!(lower.encode("A中ROE").unwrap(), by_crate(&lower, "A中ROE"));
    assert_ne!(plain.key(), lower.key());
}

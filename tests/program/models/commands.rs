//! Commands beside training: ARPA files, sampling, neighbours, keywords, new words, and lists of tone words.

use std::fs;
use std::path::Path;

use super::{TFIDF, case, corpus, folder, train, trained, without_time};
use crate::{assert_says, run, run_on};

fn figure(json: &serde_json::Value, name: &str) -> f64 {
    json[name].as_f64().unwrap_or_else(|| panic!("no {name} in {json:#}"))
}

#[test]
fn a_language_model_is_the_same_as_a_file_of_its_own_and_as_arpa() {
    let folder = folder();
    let ngram = case("ngram", &[], "rows.csv");
    for name in ["lm.bin", "lm.arpa"] {
        train(folder.path(), &ngram, name, &[]).finished();
    }
    // An ARPA file does not know how its text was cut: it is given tokens.
    let tokens = run_on(folder.path(), &["tokenize"], corpus::text(96).as_bytes()).text();
    fs::write(folder.path().join("cut.tok"), tokens).unwrap();
    let eval = |model: &str| {
        let args = ["eval", "ngram", "--model", model, "--input", "cut.tok", "--format", "tokens"];
        run(folder.path(), &args).finished()
    };
    let (own, arpa) = (eval("lm.bin"), eval("lm.arpa"));
    assert_eq!((&own["tokens"], &own["oov"]), (&arpa["tokens"], &arpa["oov"]));
    for name in ["perplexity", "perplexity_no_oov", "log10_prob"] {
        let (own, arpa) = (figure(&own, name), figure(&arpa, name));
        assert!((own - arpa).abs() < 1e-4 * own.abs(), "{name}: {own} and {arpa}");
    }
    for per in ["document", "token"] {
        let args = ["eval", "--model", "lm.bin", "--input", "news.jsonl", "--per", per, "--output", "per.csv"];
        run(folder.path(), &args).finished();
        let rows = fs::read_to_string(folder.path().join("per.csv")).unwrap().lines().count() - 1;
        assert!(if per == "document" { rows == 96 } else { rows > 960 }, "{per}: {rows}");
    }
}

#[test]
fn a_damaged_arpa_file_names_the_line() {
    let folder = folder();
    let ngram = case("ngram", &["--order", "2"], "rows.csv");
    train(folder.path(), &ngram, "lm.arpa", &[]).finished();
    let text = fs::read_to_string(folder.path().join("lm.arpa")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let damaged = lines.iter().position(|line| *line == "\\2-grams:").unwrap() + 1;
    let refusal = |lines: &[&str]| {
        fs::write(folder.path().join("lm.arpa"), lines.join("\n")).unwrap();
        run(folder.path(), &["eval", "--model", "lm.arpa", "--input", "news.tok"]).refusal()
    };
    let mut wrong = lines.clone();
    wrong[damaged] = "half\ta line";
    assert_says(&refusal(&wrong), &["lm.arpa", &format!("line {}", damaged + 1), "was expected"]);
    assert_says(&refusal(&lines[..damaged + 2]), &["lm.arpa", "line ", "the file ends"]);
}

#[test]
fn samples_follow_the_seed_alone() {
    let folder = folder();
    train(folder.path(), &case("ngram", &[], "rows.csv"), "model", &[]).finished();
    let sample = |seed: &str, threads: &str| {
        let args = ["sample", "--model", "model", "--n", "4", "--seed", seed, "--threads", threads];
        run(folder.path(), &args).finished()["samples"].clone()
    };
    let first = sample("1", "1");
    assert_eq!(first.as_array().unwrap().len(), 4);
    assert_eq!(first, sample("1", "8"));
    assert_ne!(first, sample("2", "1"));
    trained(folder.path(), &TFIDF);
    assert_says(&run(folder.path(), &["sample", "--model", "model"]).refusal(), &["tfidf", "ngram", "rnnlm"]);
}

#[test]
fn neighbours_of_words_and_documents() {
    let folder = folder();
    for model in [case("lsa", &["--dim", "5"], ""), case("ppmi", &["--dim", "5", "--min-count", "2"], "")] {
        trained(folder.path(), &model);
        let near = |args: &[&str]| run(folder.path(), &[&["nearest", "--model", "model", "-k", "3"], args].concat());
        let words = near(&["--words", "回购,减值"]).finished();
        assert_eq!(words["nearest"].as_array().unwrap().len(), 2, "{words:#}");
        let unknown = near(&["--words", "回够"]).refusal();
        assert_says(&unknown, &["knows no word \"回够\"", "did you mean"]);
        let documents = near(&["--input", "news.jsonl", "--ids", "n3"]);
        let other = near(&["--input", "news.jsonl", "--ids", "n3", "--threads", "8"]);
        assert_eq!(without_time(documents.finished()), without_time(other.finished()));
        assert_says(&near(&["--input", "news.jsonl", "--ids", "absent"]).refusal(), &["absent"]);
    }
}

#[test]
fn neighbours_by_weights_of_terms() {
    let folder = folder();
    for kind in ["tfidf", "bm25", "hashing", "shingles"] {
        trained(folder.path(), &case(kind, &[], ""));
        let near = |args: &[&str]| run(folder.path(), &[&["nearest", "--model", "model", "-k", "4"], args].concat());
        let json = near(&["--input", "news.jsonl", "--ids", "n3", "--threads", "1"]).finished();
        let others = json["nearest"][0]["neighbours"].as_array().unwrap();
        assert_eq!(others.len(), 4, "{json:#}");
        let similarity: Vec<f64> = others.iter().map(|other| other["similarity"].as_f64().unwrap()).collect();
        assert!(similarity.is_sorted_by(|a, b| a >= b) && similarity.iter().all(|s| *s > 0.0), "{similarity:?}");
        assert!(others.iter().all(|other| other["name"] != "n3"));
        let other = near(&["--input", "news.jsonl", "--ids", "n3", "--threads", "8"]).finished();
        assert_eq!(json["nearest"], other["nearest"]);
    }
    let args = ["nearest", "--model", "model", "--input", "news.jsonl", "--text", "龘龘龘龘龘龘"];
    assert_eq!(run(folder.path(), &args).finished()["nearest"][0]["neighbours"], serde_json::json!([]));
    // A model that gives scores has no vector to compare documents by.
    trained(folder.path(), &case("ngram", &[], ""));
    let error = run(folder.path(), &["nearest", "--model", "model", "--input", "news.jsonl", "--ids", "n3"]).refusal();
    assert_says(&error, &["gives scores", "train tfidf, bm25 or lsa"]);
}

#[test]
fn native_models_are_measured_on_pairs_of_texts() {
    let folder = folder();
    let news = fs::read_to_string(folder.path().join("news.jsonl")).unwrap();
    let texts: Vec<String> = news
        .lines()
        .take(12)
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["text"].as_str().unwrap().to_owned())
        .collect();
    // A text is nearest to itself, and nearer to its own first half than to another text.
    let half = |text: &str| text.chars().take(text.chars().count() / 2).collect::<String>();
    let pairs: Vec<(&String, String, f64)> = texts
        .iter()
        .zip(texts.iter().cycle().skip(5))
        .flat_map(|(text, other)| [(text, text.clone(), 5.0), (text, half(text), 3.0), (text, other.clone(), 0.0)])
        .collect();
    let tabs: String = pairs.iter().map(|(a, b, score)| format!("{a}\t{b}\t{score}\n")).collect();
    let json = pairs.iter().map(|(a, b, score)| serde_json::json!({"text": a, "pair": b, "value": score}));
    fs::write(folder.path().join("pairs.txt"), tabs).unwrap();
    fs::write(folder.path().join("pairs.jsonl"), json.map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    for model in [case("tfidf", &[], ""), case("lsa", &["--dim", "5"], "")] {
        trained(folder.path(), &model);
        let eval = |input: &str, more: &[&str]| {
            run(folder.path(), &[&["eval", "--model", "model", "--input", input], more].concat())
        };
        let task = ["--task", "similarity", "--format", "text"];
        let found = eval("pairs.txt", &task).finished();
        assert_eq!((&found["pairs"], found["cosines"].as_array().unwrap().len()), (&36.into(), 36), "{found:#}");
        assert!(found["spearman"].as_f64().unwrap() > 0.7, "{found:#}");
        assert!((found["cosines"][0].as_f64().unwrap() - 1.0).abs() < 1e-6, "{found:#}");
        let same = eval("pairs.jsonl", &["--task", "similarity"]).finished();
        assert_eq!((&same["cosines"], &same["pearson"]), (&found["cosines"], &found["pearson"]));
        assert_says(&eval("news.jsonl", &["--task", "similarity"]).refusal(), &["has no text in the field pair"]);
        assert_says(&eval("pairs.txt", &["--task", "pairs"]).refusal(), &["has no such --task", "--task similarity"]);
    }
}

#[test]
fn words_in_the_plane() {
    let folder = folder();
    trained(folder.path(), &case("ppmi", &["--dim", "5", "--min-count", "2"], ""));
    let show = |args: &[&str]| run(folder.path(), &[&["projection", "--model", "model"], args].concat());
    for method in ["pca", "tsne"] {
        for output in ["words.csv", "words.svg", "words.parquet"] {
            let mut first = None;
            for threads in ["1", "2", "8"] {
                let args = ["--method", method, "--top", "30", "--output", output, "--threads", threads];
                let json = show(&args).finished();
                assert_eq!((&json["words"], &json["method"]), (&30.into(), &method.into()), "{json:#}");
                assert_eq!(json["fitted_until"], "2024-04-12T14:30:00", "{json:#}");
                let kept = json["neighbours_kept"].as_f64().unwrap();
                assert!((0.3..=1.0).contains(&kept), "{json:#}");
                let bytes = fs::read(folder.path().join(output)).unwrap();
                assert!(
                    *first.get_or_insert_with(|| bytes.clone()) == bytes,
                    "{method}: others with {threads} threads"
                );
            }
        }
    }
    let table = fs::read_to_string(folder.path().join("words.csv")).unwrap();
    let words = table.lines().skip(1).take(4).filter_map(|row| row.split(',').next());
    let groups: String = words.map(|word| format!("{word} 组\n")).collect();
    fs::write(folder.path().join("groups.txt"), groups + "没有这个词 组\n").unwrap();
    let grouped = show(&["--groups", "groups.txt", "--output", "words.csv"]).text();
    assert_says(&grouped, &["partial", "does not know"]);
    let table = fs::read_to_string(folder.path().join("words.csv")).unwrap();
    assert_eq!((table.lines().count(), table.lines().next()), (5, Some("word,group,x,y")), "{table}");
    assert_says(&show(&["--output", "words.png"]).refusal(), &["words.png", ".svg"]);
    assert_says(&show(&["--words", "增长", "--output", "w.svg"]).refusal(), &["1 words", "--words"]);
    let many = ["--method", "tsne", "--top", "10", "--perplexity", "50", "--output", "w.svg"];
    assert_says(&show(&many).refusal(), &["--perplexity is from 1 to 3"]);
    assert!(!folder.path().join("w.svg").exists());
    trained(folder.path(), &TFIDF);
    assert_says(&show(&["--output", "w.svg"]).refusal(), &["has no word vectors", "word2vec", "lsa", "nnlm"]);
}

/// The bytes that a command writes to `output`, which must not depend on the threads nor on where its input comes from.
fn same_bytes(folder: &Path, args: &[&str], output: &str) -> String {
    let path = folder.join(output);
    let mut first = None;
    for threads in ["1", "2", "8"] {
        run(folder, &[args, &["--input", "news.jsonl", "--threads", threads]].concat()).finished();
        let bytes = fs::read(&path).unwrap();
        assert!(*first.get_or_insert_with(|| bytes.clone()) == bytes, "{args:?}: others with {threads} threads");
    }
    let text = fs::read(folder.join("news.jsonl")).unwrap();
    run_on(folder, &[args, &["--input", "-", "--format", "jsonl"]].concat(), &text).finished();
    let first = first.unwrap();
    assert!(first == fs::read(&path).unwrap(), "{args:?}: others from a pipe");
    String::from_utf8(first).unwrap()
}

#[test]
fn keywords_of_each_document() {
    let folder = folder();
    for method in ["textrank", "tfidf"] {
        for output in ["words.jsonl", "words.csv"] {
            let args = ["keywords", "--method", method, "--sentences", "1", "--output", output];
            let text = same_bytes(folder.path(), &args, output);
            if output == "words.jsonl" {
                assert_eq!(text.lines().count(), 96);
                assert_says(text.lines().next().unwrap(), &["\"n0\""]);
            }
        }
    }
    trained(folder.path(), &TFIDF);
    let args = ["keywords", "--input", "news.jsonl", "--method", "tfidf", "--model", "model", "--output", "k.jsonl"];
    run(folder.path(), &args).finished();
    let error = run(folder.path(), &["keywords", "-i", "news.jsonl", "-o", "words.xls"]).refusal();
    assert_says(&error, &["words.xls", ".jsonl", ".csv"]);
}

#[test]
fn new_words_are_a_dictionary_at_once() {
    let folder = folder();
    let (before, after) = (["近日", "公司", "据悉", "客户"], ["公告", "回购", "中标", "停牌"]);
    let line = |i: usize| {
        let text = format!("{}瀚海微{}。", before[i % 4], after[i / 4 % 4]);
        format!("{{\"text\":\"{text}\",\"time\":\"2024-03-01 10:00:00\"}}\n")
    };
    fs::write(folder.path().join("news.jsonl"), (0..96).map(line).collect::<String>()).unwrap();
    let limits = ["--min-pmi", "1.5"];
    let args = [&["train", "newwords", "--output", "words.txt", "--table", "words.csv"][..], &limits].concat();
    let dictionary = same_bytes(folder.path(), &args, "words.txt");
    let words: Vec<&str> = dictionary.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(!words.is_empty(), "no word in {dictionary}");
    let table = fs::read_to_string(folder.path().join("words.csv")).unwrap();
    assert_says(&table, &["first_seen", "fitted_until"]);
    let cut = run_on(folder.path(), &["tokenize", "--dict", "words.txt"], words.join("\n").as_bytes()).text();
    assert_eq!(cut.lines().collect::<Vec<_>>(), words);
}

#[test]
fn lists_of_tone_words_are_a_model() {
    let folder = folder();
    fs::write(folder.path().join("good.txt"), "回购\n中标\n").unwrap();
    fs::write(folder.path().join("bad.txt"), "减持\n亏损\n").unwrap();
    let lists = ["--positive", "good.txt", "--negative", "bad.txt", "--no-builtin"];
    run(folder.path(), &[&["train", "tone", "--output", "model"][..], &lists].concat()).finished();
    let json = run(folder.path(), &["eval", "tone", "--model", "model", "--input", "news.jsonl"]).finished();
    assert_eq!((&json["model"], &json["documents"]), (&"tone".into(), &96.into()));
    let json = run(folder.path(), &["explain", "--model", "model", "--text", "公司拟回购股份"]).finished();
    assert_eq!(
        (&json["explanations"][0]["score"], &json["explanations"][0]["terms"][0]["token"]),
        (&1.0.into(), &"回购".into())
    );
    run(folder.path(), &["embed", "--model", "model", "--input", "news.jsonl", "--output", "rows.csv"]).finished();
    assert_eq!(fs::read_to_string(folder.path().join("rows.csv")).unwrap().lines().count(), 97);
}

#[test]
fn neural_language_models_write_and_stand_beside_those_of_n_grams() {
    let folder = folder();
    train(folder.path(), &case("ngram", &[], ""), "ngram", &[]).finished();
    for (name, flags) in [
        ("nnlm", &["--dim", "5", "--hidden", "4"][..]),
        ("lbl", &["--dim", "5", "--tree", "words.vec"][..]),
        ("rnnlm", &["--hidden", "5"][..]),
    ] {
        let more = [flags, &["--min-count", "1", "--epochs", "3", "--lr", "0.01"]].concat();
        train(folder.path(), &case(name, &[], ""), name, &more).finished();
        let sample = |seed: &str, threads: &str| {
            let args = ["sample", "--model", name, "--n", "3", "--seed", seed, "--threads", threads];
            run(folder.path(), &args).finished()["samples"].clone()
        };
        assert!(sample("1", "1") == sample("1", "8") && sample("1", "1") != sample("2", "1"), "{name}");
        let following = run(folder.path(), &["sample", "--model", name, "--after", "公司", "--top-k", "4"]).finished();
        assert_eq!(following["following"]["next"].as_array().unwrap().len(), 4, "{name}: {following:#}");
    }
    let args = ["eval", "--model", "ngram", "--beside", "nnlm,lbl,rnnlm", "--input", "news.jsonl"];
    let json = run(folder.path(), &args).finished();
    let names: Vec<&str> =
        json["beside"].as_array().unwrap().iter().map(|one| one["model"].as_str().unwrap()).collect();
    assert_eq!(names, ["nnlm", "lbl", "rnnlm"]);
    for one in json["beside"].as_array().unwrap() {
        assert_eq!(one["tokens"], json["tokens"]);
        let alone = ["eval", "--model", one["model"].as_str().unwrap(), "--input", "news.jsonl"];
        assert_eq!(one["perplexity"], run(folder.path(), &alone).finished()["perplexity"]);
    }
    let piped = ["eval", "--model", "ngram", "--beside", "nnlm", "--input", "-"];
    assert_says(&run(folder.path(), &piped).refusal(), &["--beside", "give a file"]);
}

#[test]
fn sentences_are_learned_from_titles_and_from_labelled_pairs() {
    let folder = folder();
    let line = |i: usize| {
        let words = ["回购", "减持", "增持", "中标", "分红", "诉讼", "停产", "扩产"];
        let (a, b) = (words[i % 8], words[i / 8 % 8]);
        format!("{{\"id\":\"d{i}\",\"title\":\"{a} {b}\",\"text\":\"公司 今日 {a} 公告 ， {b}\"}}\n")
    };
    let titles: String = (0..128).map(line).collect();
    fs::write(folder.path().join("titles.jsonl"), titles).unwrap();
    let flags = ["--positives", "title", "--dim", "16", "--hidden", "16", "--min-count", "1", "--max-words", "0"];
    let fixed =
        ["train", "sentences", "--input", "titles.jsonl", "--output", "quick", "--epochs", "3", "--batch", "16"];
    let json = run(folder.path(), &[&fixed[..], &flags].concat()).finished();
    assert_eq!((&json["pairs"], &json["sentences"], &json["dim"]), (&128.into(), &256.into(), &64.into()));
    let args = ["eval", "--model", "quick", "--task", "retrieval", "--input", "titles.jsonl"];
    let json = run(folder.path(), &args).finished();
    let mrr = json["mrr"].as_f64().unwrap();
    assert!(json["documents"] == 128 && mrr > 0.0 && mrr <= 1.0, "{json:#}");
    assert!(json["hits_at_1"].as_f64() <= json["hits_at_10"].as_f64(), "{json:#}");
    // Without titles there is nothing to look for.
    fs::write(folder.path().join("bare.jsonl"), "{\"text\":\"公司 回购\"}\n{\"text\":\"公司 减持\"}\n").unwrap();
    let args = ["eval", "--model", "quick", "--task", "retrieval", "--input", "bare.jsonl"];
    assert_says(&run(folder.path(), &args).refusal(), &["0 documents have a title and a text"]);
    let bare = ["train", "sentences", "--input", "bare.jsonl", "--output", "none", "--positives", "title"];
    assert_says(&run(folder.path(), &bare).refusal(), &["no two texts stand beside each other in 2 documents"]);

    let pair = |i: usize| {
        let (a, b) = ("大幅 增长", ["明显 上升", "明显 下滑"][i % 2]);
        let label = ["同", "反"][i % 2];
        format!("{{\"text\":\"利润 {a}\",\"pair\":\"利润 {b}\",\"label\":\"{label}\"}}\n")
    };
    fs::write(folder.path().join("pairs.jsonl"), (0..80).map(pair).collect::<String>()).unwrap();
    let infersent = |input: &str| {
        let fixed = ["train", "sentences", "--method", "infersent", "--input", input, "--output", "pairs.model"];
        run(folder.path(), &[&fixed[..], &["--dim", "8", "--hidden", "4", "--min-count", "1"]].concat())
    };
    let json = infersent("pairs.jsonl").finished();
    assert_eq!((&json["classes"]["同"], &json["dim"]), (&40.into(), &8.into()));
    fs::write(folder.path().join("bad.jsonl"), "{\"text\":\"甲\",\"pair\":\"乙\"}\n").unwrap();
    assert_says(&infersent("bad.jsonl").refusal(), &["line 1", "label"]);
    fs::write(folder.path().join("bad.jsonl"), "{\"text\":\"甲\",\"label\":\"同\"}\n").unwrap();
    assert_says(&infersent("bad.jsonl").refusal(), &["line 1", "pair"]);
}

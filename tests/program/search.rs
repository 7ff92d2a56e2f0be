//! Search in a project, and clusters of its documents.

use std::fs;

use serde_json::Value;

use crate::desk::Desk;
use crate::{assert_says, run};

/// Vectors and themes of the documents.
const FEATURES: &str = r#"
[[feature]]
name = "weights"
model = "tfidf"
fit_until = "2024-03-06"

[[feature]]
name = "places"
model = "lsa"
lsa = { dim = 2 }
fit_until = "2024-03-06"

[[feature]]
name = "themes"
model = "clusters"
inputs = ["weights"]
clusters = { k = 2, min_train_documents = 8, refit_days = 1, share_days = 5 }

[[factor]]
name = "novelty"
expression = "themes.distance"
min_names = 2
"#;

fn desk() -> Desk {
    let desk = Desk::new();
    let config = fs::read_to_string(desk.folder().join("workbench.toml")).unwrap();
    desk.write("workbench.toml", config + FEATURES);
    desk
}

fn found(json: &Value) -> Vec<&str> {
    json["answer"]["found"].as_array().unwrap().iter().map(|found| found["doc_id"].as_str().unwrap()).collect()
}

#[test]
fn a_project_is_searched_by_words_by_vectors_and_by_both_as_of_a_time() {
    let desk = desk();
    let search = |flags: &[&str]| run(desk.folder(), &[&["search", "退市风险 亏损"], flags].concat());
    assert_says(&search(&[]).refusal(), &["no documents to search yet", "inkstone clean"]);
    desk.run().finished();
    let json = search(&["--top", "50"]).finished();
    assert_eq!((&json["index"]["parts_made"], &json["index"]["kept_on_disk"]), (&1.into(), &true.into()));
    let all = found(&json);
    assert_eq!(all.len(), 16, "half of the notes speak of a delisting: {json:#}");
    let first = &json["answer"]["found"][0];
    let sentence = &first["sentences"][0];
    let hit = sentence["hits"][0].as_array().unwrap();
    let [from, to] = [&hit[0], &hit[1]].map(|place| place.as_u64().unwrap() as usize);
    assert_eq!(&sentence["text"].as_str().unwrap()[from..to], "退市风险");
    assert!(first["codes"].as_str().unwrap().contains('.') && first["published_at"].is_string(), "{first:#}");
    // As of the third day nothing later is found or counted, and the index stays.
    let json = search(&["--top", "50", "--until", "2024-03-06"]).finished();
    assert_eq!((&json["index"]["parts_made"], &json["index"]["parts_kept"]), (&0.into(), &1.into()));
    assert_eq!((&json["answer"]["documents_known"], &json["answer"]["documents_later"]), (&12.into(), &20.into()));
    assert!(found(&json).iter().all(|id| ["news/0", "news/1", "news/2"].contains(&&id[..6])), "{json:#}");
    let terms = &json["answer"]["terms"][0];
    assert_eq!((&terms["term"], &terms["documents"]), (&"退市风险".into(), &6.into()));
    let threads = |n: &str| search(&["--top", "50", "--threads", n]).finished()["answer"].clone();
    assert_eq!(threads("1"), threads("8"));

    let dense = search(&["--by", "dense", "--top", "5"]).finished();
    assert_eq!((&dense["feature"], found(&dense).len()), (&"places".into(), 5));
    assert!(found(&dense).iter().all(|id| all.contains(id)), "they lie near: {dense:#}");
    let both = search(&["--by", "both", "--top", "5"]).finished();
    assert!(both["answer"]["found"][0]["rank_by_dense"].is_number(), "{both:#}");
    let early = search(&["--by", "dense", "--until", "2024-03-05"]).refusal();
    assert_says(&early, &["places", "fitted on documents until", "would look ahead"]);
    let other = search(&["--by", "dense", "--feature", "tone"]).refusal();
    assert_says(&other, &["no feature \"tone\" has vectors", "places"]);
    assert_says(&search(&["--feature", "places"]).refusal(), &["--by dense"]);
    assert_says(&run(desk.folder(), &["search", "，。"]).refusal(), &["has no words"]);

    // A damaged index is made again; the answer stays.
    let index = desk.folder().join(".inkstone/search/part-00000.index");
    let mut bytes = fs::read(&index).unwrap();
    let intact = bytes.clone();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&index, bytes).unwrap();
    let json = search(&["--top", "50"]).finished();
    assert_eq!((&json["index"]["parts_damaged"], found(&json)), (&1.into(), all));
    assert!(fs::read(&index).unwrap() == intact);
}

#[test]
fn themes_of_documents_are_a_feature_and_a_model_of_plain_files() {
    let desk = desk();
    let json = desk.run().finished();
    let stages = json["stages"].as_array().unwrap();
    let themes = stages.iter().find(|stage| stage["stage"] == "extract themes").expect("the themes are computed");
    let words = themes["facts"]["themes"].to_string();
    assert!(words.contains("下滑") && words.contains("增长"), "{words}");
    let train = |args: &[&str]| {
        let fixed = ["train", "clusters", "--input", ".inkstone/clean", "-o", "themes.model"];
        let k = if args.contains(&"-k") { &[][..] } else { &["-k", "2"] };
        run(desk.folder(), &[&fixed[..], k, args].concat())
    };
    run(desk.folder(), &["train", "tfidf", "-i", ".inkstone/clean", "-o", "tfidf.model"]).finished();
    run(desk.folder(), &["train", "lsa", "-i", ".inkstone/clean", "-o", "lsa.model", "--dim", "2"]).finished();
    for (model, method) in [("tfidf.model", "kmeans"), ("lsa.model", "kmeans"), ("lsa.model", "ward")] {
        let read = || fs::read(desk.folder().join("themes.model")).unwrap();
        let json = train(&["--model", model, "--method", method, "--threads", "1"]).finished();
        let bytes = read();
        train(&["--model", model, "--method", method, "--threads", "8"]).finished();
        assert!(read() == bytes, "{model} {method}");
        let themes = json["themes"].as_array().unwrap();
        assert_eq!(themes.iter().map(|theme| theme["documents"].as_u64().unwrap()).collect::<Vec<_>>(), [16, 16]);
        let evaluated =
            run(desk.folder(), &["eval", "--model", "themes.model", "--input", ".inkstone/clean"]).finished();
        assert_eq!(evaluated["themes"][0]["documents"], 16, "{evaluated:#}");
        let text = "净利润大幅下滑，由盈转亏";
        let why = run(desk.folder(), &["explain", "--model", "themes.model", "--text", text]).finished().to_string();
        assert!(why.contains("cosine with the centre of t") && why.contains("下滑"), "{why}");
    }
    let merges = train(&["--model", "lsa.model", "--method", "ward", "--merges", "merges.csv"]).finished();
    assert_eq!(merges["merges"], "merges.csv");
    let table = fs::read_to_string(desk.folder().join("merges.csv")).unwrap();
    assert!(table.starts_with("a,b,distance,documents\n") && table.lines().count() == 32, "{table}");
    assert_says(&train(&["--model", "tfidf.model", "--method", "ward"]).refusal(), &["dense rows", "train lsa"]);
    assert_says(&train(&["--model", "lsa.model", "--merges", "m.csv"]).refusal(), &["--method ward"]);
    assert_says(&train(&["--model", "lsa.model", "-k", "40"]).refusal(), &["do not make 40 clusters"]);
    run(desk.folder(), &["train", "ngram", "-i", ".inkstone/clean", "-o", "lm.bin"]).finished();
    assert_says(&train(&["--model", "lm.bin"]).refusal(), &["gives scores", "train lsa"]);
}

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use chrono::{NaiveDate, NaiveDateTime};
use serde::Deserialize;

use super::*;
use inkstone_base::data::{Document, Key};
use inkstone_models::{Analyzer, Fields, Preset, TermCounts, Vectorizer, VectorizerParams};
use inkstone_store::{RowKind, Rows, SetSpec, Store};
use inkstone_tables::corpus::documents_to_frame;
use inkstone_text::{DfLimit, Segmenter, Stopwords, TokenizerParams};

/// A corpus of parts of five documents, one a day from 1 March 2024 on at nine, and the tokenizer of its words.
struct Desk {
    dir: tempfile::TempDir,
    tokenizer: TokenizerParams,
}

fn day(n: usize) -> NaiveDateTime {
    let first = NaiveDate::from_ymd_opt(2024, 3, 1).unwrap().and_hms_opt(9, 0, 0).unwrap();
    first + chrono::Days::new(n as u64)
}

impl Desk {
    /// Words stand between spaces; the dictionary has them all.
    fn new(docs: &[String]) -> Desk {
        let dir = tempfile::tempdir().unwrap();
        let words: Vec<&str> = docs.iter().flat_map(|doc| doc.split(' ')).collect();
        let dictionary: Vec<String> = words.iter().map(|word| format!("{word} 100000000")).collect();
        fs::write(dir.path().join("words.txt"), dictionary.join("\n")).unwrap();
        let tokenizer = TokenizerParams {
            dictionaries: vec![PathBuf::from("words.txt")],
            stopwords: Stopwords::None,
            hmm: false,
            ..TokenizerParams::default()
        };
        let desk = Desk { dir, tokenizer };
        desk.project().own().unwrap();
        desk.write(docs);
        desk
    }

    fn write(&self, docs: &[String]) {
        for (part, texts) in docs.chunks(5).enumerate() {
            let document = |(i, text): (usize, &String)| Document {
                doc_id: format!("news/{}", part * 5 + i),
                title: if i == 1 {
                    text.split_once(' ').map_or("", |(title, _)| title).to_owned()
                } else {
                    String::new()
                },
                body: if i == 1 { text.split_once(' ').map_or("", |(_, body)| body).to_owned() } else { text.clone() },
                published_at: day(part * 5 + i),
                ..Document::default()
            };
            let documents: Vec<Document> = texts.iter().enumerate().map(document).collect();
            self.project().clean().write(part, &mut documents_to_frame(&documents).unwrap()).unwrap();
        }
    }

    fn project(&self) -> Project {
        Project::new(self.dir.path().join(".inkstone"))
    }

    fn open(&self, threads: usize) -> Result<SearchIndex> {
        SearchIndex::open(&self.project(), &self.tokenizer, self.dir.path(), &Ctx::new(threads, 1)?)
    }

    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let files = inkstone_base::disk::files_in(&self.project().search(), "index").unwrap();
        files.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
    }
}

#[derive(Deserialize)]
struct Reference {
    docs: Vec<String>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    params: VectorizerParams,
    terms: Vec<String>,
    rows: Vec<Vec<(usize, f64)>>,
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("../../../../tests/reference/bm25s/bm25.json")).unwrap()
}

const QUERIES: [&str; 5] = ["回购 减持", "净利润 增长", "公司 公司 订单", "产能 景气 上涨", "股份 超过"];

fn best(index: &SearchIndex, params: &VectorizerParams, query: &str, until: Option<NaiveDateTime>) -> Vec<(u32, f64)> {
    let ctx = Ctx::new(2, 1).unwrap();
    let ranked = index.by_terms_with(params, query, until, 4, &ctx).unwrap();
    ranked.best.into_iter().map(|ranked| (ranked.number, ranked.score)).collect()
}

#[test]
fn the_best_documents_and_their_scores_are_those_of_bm25s() {
    let Reference { docs, cases } = reference();
    let desk = Desk::new(&docs);
    let index = desk.open(2).unwrap();
    let segmenter = Segmenter::new(&desk.tokenizer, desk.dir.path()).unwrap();
    for doc in &docs {
        assert_eq!(segmenter.terms(doc), doc.split(' ').collect::<Vec<_>>(), "the dictionary has all words");
    }
    let Case { params, terms, rows } = &cases[0];
    for query in QUERIES {
        // bm25s gives a query the sum of the scores of its words.
        let score = |row: &Vec<(usize, f64)>| -> f64 {
            let of_word =
                |word: &str| row.iter().filter(|(term, _)| terms[*term] == word).map(|(_, score)| score).sum::<f64>();
            query.split(' ').map(of_word).sum()
        };
        let mut expected: Vec<(u32, f64)> =
            (0..).zip(rows.iter().map(score)).filter(|(_, score)| *score > 0.0).collect();
        expected.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        expected.truncate(4);
        let found = best(&index, params, query, None);
        assert_eq!(found.len(), expected.len(), "{query}");
        for (found, expected) in found.iter().zip(&expected) {
            assert!(found.0 == expected.0 && (found.1 - expected.1).abs() < 1e-9, "{query}: {found:?}, {expected:?}");
        }
    }
}

#[test]
fn a_search_of_the_past_is_that_of_a_corpus_that_ends_there_and_that_of_train_bm25() {
    let docs = reference().docs;
    let index = Desk::new(&docs).open(1).unwrap();
    let params = VectorizerParams { min_df: DfLimit::Count(1), ..VectorizerParams::preset(Preset::Bm25) };
    for known in [3, 6, 12] {
        let desk = Desk::new(&docs);
        fs::remove_dir_all(desk.project().clean().folder()).unwrap();
        desk.write(&docs[..known]);
        let past = desk.open(1).unwrap();
        let segmenter = Segmenter::new(&desk.tokenizer, desk.dir.path()).unwrap();
        let analyzer = Analyzer::new(&params, Some(segmenter)).unwrap();
        let mut counts = TermCounts::new(&params);
        docs[..known].iter().for_each(|doc| counts.add(&analyzer, Fields::body(doc), None).unwrap());
        let model = Vectorizer::fit(&counts, &params).unwrap();
        for query in QUERIES {
            let found = best(&index, &params, query, Some(day(known - 1)));
            assert_eq!(found, best(&past, &params, query, None), "{query} as of document {known}");
            for (number, score) in found {
                let row = model.transform(&analyzer, Fields::body(&docs[number as usize]));
                let weight = |word: &str| {
                    let column = model.terms().iter().position(|term| **term == *word);
                    row.iter()
                        .filter(|(j, _)| Some(*j as usize) == column)
                        .map(|(_, weight)| f64::from(*weight))
                        .sum::<f64>()
                };
                let expected: f64 = query.split(' ').map(weight).sum();
                assert!((score - expected).abs() < 1e-5, "{query}: {score}, {expected}");
            }
        }
        let just_before = Some(day(known - 1) - chrono::Duration::seconds(1));
        let ranked = index.by_terms("公司", just_before, 20, &Ctx::new(1, 1).unwrap()).unwrap();
        assert_eq!((ranked.known, ranked.later), (known as u64 - 1, docs.len() as u64 - known as u64 + 1));
        assert!(ranked.best.iter().all(|ranked| (ranked.number as usize) < known - 1));
    }
}

#[test]
fn an_index_is_brought_up_to_date_with_new_parts_alone_and_mends_damage() {
    let docs = reference().docs;
    let desk = Desk::new(&docs[..7]);
    let state = |index: SearchIndex| (index.state.parts_made, index.state.parts_kept, index.state.parts_damaged);
    assert_eq!(state(desk.open(2).unwrap()), (2, 0, 0));
    let first = desk.files();
    assert_eq!(state(desk.open(2).unwrap()), (0, 2, 0));
    // The second part grew, the third is new.
    desk.write(&docs);
    let index = desk.open(2).unwrap();
    assert_eq!((index.state.documents, index.state.kept_on_disk), (12, true));
    assert_eq!(state(index), (2, 1, 0));
    let whole = desk.files();
    assert!(whole.len() == 3 && whole[0] == first[0] && whole[1] != first[1]);
    for at in [3, 30, 70, whole[1].1.len() - 1] {
        let mut bytes = whole[1].1.clone();
        bytes[at] ^= 1;
        fs::write(&whole[1].0, bytes).unwrap();
        assert_eq!(state(desk.open(1).unwrap()), (1, 2, 1), "byte {at}");
        assert_eq!(desk.files(), whole);
    }
    fs::write(&whole[1].0, &whole[1].1[..20]).unwrap();
    assert_eq!(state(desk.open(8).unwrap()), (1, 2, 1));
    assert_eq!(desk.files(), whole, "the same bytes for any threads");
    // Another tokenizer makes another index; parts that are gone have none.
    let other = Desk { tokenizer: TokenizerParams { keep_numbers: true, ..desk.tokenizer.clone() }, ..desk };
    other.project().clean().truncate(1).unwrap();
    assert_eq!(state(other.open(1).unwrap()), (1, 0, 0));
    assert_eq!(other.files().len(), 1);
}

#[test]
fn an_index_that_another_process_writes_or_that_cannot_be_written_is_made_in_memory() {
    let docs = reference().docs;
    let desk = Desk::new(&docs);
    let lock = inkstone_base::lock::take(&desk.project().search().join("lock"), "search").unwrap();
    let index = desk.open(1).unwrap();
    assert_eq!((index.state.kept_on_disk, index.state.parts_made, desk.files().len()), (false, 3, 0));
    assert_eq!(best(&index, &VectorizerParams::preset(Preset::Bm25), "回购", None).len(), 1);
    drop(lock);
    assert!(desk.open(1).unwrap().state.kept_on_disk && desk.files().len() == 3);
}

#[test]
fn a_cancelled_index_goes_on_where_it_was_and_wrong_queries_say_why() {
    let desk = Desk::new(&reference().docs);
    let ctx = Ctx::new(1, 1).unwrap();
    ctx.cancel();
    assert!(SearchIndex::open(&desk.project(), &desk.tokenizer, desk.dir.path(), &ctx).is_err());
    assert!(desk.files().is_empty());
    let index = desk.open(1).unwrap();
    let error = index.by_terms("，。 123", None, 3, &Ctx::new(1, 1).unwrap()).unwrap_err().to_string();
    assert!(error.contains("has no words") && error.contains("[tokenizer]"), "{error}");
    let none = index.by_terms("没有的词", None, 3, &Ctx::new(1, 1).unwrap()).unwrap();
    assert!(none.best.is_empty() && none.known == 12 && none.terms[0].documents == 0);
    fs::remove_dir_all(desk.project().clean().folder()).unwrap();
    let error = desk.open(1).err().unwrap().to_string();
    assert!(error.contains("inkstone clean"), "{error}");
}

#[test]
fn sentences_are_marked_and_vectors_rank_beside_words() {
    let texts = ["公司 回购 股份 。 市场 平稳 。 回购 价格 不 高 ！", "减持 股份 计划", "订单 饱满 。 产能 扩张 。"];
    let docs: Vec<String> = texts.map(str::to_owned).into();
    let desk = Desk::new(&docs);
    let index = desk.open(1).unwrap();
    let store = Store::open(&desk.dir.path().join("store")).unwrap();
    let spec = SetSpec {
        name: "set".into(),
        kind: RowKind::Dense { dim: 2 },
        params: serde_json::json!({}),
        fitted_until: None,
    };
    let writer = store.writer(&spec).unwrap();
    let keys = (0..3).map(|i| Key::of(&[i])).collect();
    writer.put(Key::of(b"batch"), &Rows::dense(keys, 2, vec![0.0, 1.0, 1.0, 1.0, 1.0, 0.1])).unwrap();
    let id = writer.finish(&[Key::of(b"batch")], serde_json::json!({})).unwrap().id();
    let set = store.set(&id).unwrap().unwrap();
    let dense = DenseQuery { set: &set, vector: vec![1.0, 0.0] };
    let ctx = Ctx::new(2, 1).unwrap();
    let search = |by, text, until| {
        let query = SearchQuery { text, by, until, most: 5, sentences: 2 };
        index.search(&desk.project(), &query, Some(&dense), &ctx).unwrap()
    };
    let answer = search(RankedBy::Bm25, "回购 股份", None);
    let ids: Vec<&str> = answer.found.iter().map(|found| found.doc_id.as_str()).collect();
    assert_eq!(ids, ["news/0", "news/1"]);
    let sentences = &answer.found[0].sentences;
    let marked =
        |passage: &Passage| passage.hits.iter().map(|hit| passage.text[hit.clone()].to_owned()).collect::<Vec<_>>();
    assert_eq!(sentences.iter().map(marked).collect::<Vec<_>>(), [vec!["回购", "股份"], vec!["回购"]]);
    assert_eq!((answer.documents_with_words, answer.documents_known, answer.documents_later), (2, 3, 0));
    // The title of the second document is a sentence of its own, and marked.
    assert_eq!((answer.found[1].sentences[0].title, answer.found[1].title.as_str()), (false, "减持"));
    assert!(search(RankedBy::Bm25, "减持", None).found[0].sentences[0].title);
    let ids = |answer: SearchAnswer| answer.found.into_iter().map(|found| found.doc_id).collect::<Vec<_>>();
    assert_eq!(ids(search(RankedBy::Dense, "回购", None)), ["news/2", "news/1", "news/0"]);
    assert_eq!(ids(search(RankedBy::Dense, "。", Some(day(1)))), ["news/1", "news/0"], "the third came later");
    let both = search(RankedBy::Both, "回购", None);
    // 1/61 + 1/63, 1/61, 1/62.
    assert!((both.found[0].score - (1.0 / 61.0 + 1.0 / 63.0)).abs() < 1e-12);
    assert_eq!((both.found[0].rank_by_bm25, both.found[0].rank_by_dense), (Some(1), Some(3)));
    assert_eq!(ids(both), ["news/0", "news/2", "news/1"]);
}

use super::*;
use crate::standalone::LineFormat;

/// Sentences around 云启智联 and 瀚海微, in many surroundings each, and a fragment that never stands alone.
fn corpus() -> String {
    const BEFORE: [&str; 8] = ["近日", "公司", "据悉", "其中", "此前", "市场", "昨天", "客户"];
    const AFTER: [&str; 8] = ["公告", "表示", "上涨", "回购", "披露", "拟投资", "中标", "停牌"];
    const NAMES: [&str; 2] = ["云启智联", "瀚海微"];
    let mut text = String::new();
    for i in 0..240 {
        let (before, after) = (BEFORE[i % 8], AFTER[(i / 8 + i) % 8]);
        let time = format!("2024-0{}-{:02} 10:00:00", 1 + i / 80, 1 + i % 28);
        text += &format!(
            "{{\"text\":\"{before}{}{after}。第{i}条：{}秋季订单{}\",\"time\":\"{time}\"}}\n",
            NAMES[i % 2],
            BEFORE[i / 3 % 8],
            AFTER[i / 5 % 8]
        );
    }
    text
}

fn find_in(
    text: &str,
    format: LineFormat,
    params: &NewWordParams,
    until: Option<&str>,
    threads: usize,
) -> Result<(NewWords, Report)> {
    let text = text.to_owned();
    let open = || Ok(Lines::new(std::io::Cursor::new(text.clone()), format));
    let until = until.map(|until| inkstone_corpus::ingest::read_time(until).unwrap());
    let tokenizer = TokenizerParams::default();
    find(open, params, until, &tokenizer, Path::new(""), &Ctx::new(threads, 1)?)
}

fn found(params: &NewWordParams, until: Option<&str>) -> (NewWords, Report) {
    find_in(&corpus(), LineFormat::Jsonl, params, until, 2).unwrap()
}

fn words(found: &NewWords) -> Vec<&str> {
    found.words.iter().map(|word| word.word.as_str()).collect()
}

#[test]
fn planted_words_are_found_with_their_figures() {
    let (found, report) = found(&NewWordParams { min_pmi: 2.0, ..NewWordParams::default() }, None);
    let mut names = words(&found);
    names.sort_unstable();
    assert_eq!(names, ["云启智联", "瀚海微"]);
    let first = found.words.iter().find(|word| word.word == "云启智联").unwrap();
    assert_eq!((first.count, first.documents), (120, 120));
    assert_eq!(first.first_seen.unwrap().to_string(), "2024-01-01 10:00:00");
    assert_eq!(found.fitted_until.unwrap().to_string(), "2024-03-28 10:00:00");
    // Every part of the name occurs only within it, so each cut says the same.
    let places = report.facts["characters"].as_f64().unwrap();
    assert!((first.pmi - (places / 120.0).ln()).abs() < 1e-9);
    assert_eq!(first.counts_of_parts, [120, 120]);
    let entropy = 8f64.ln();
    assert!(first.left_entropy > 1.3 && first.left_entropy < entropy + 1e-6);
    let score = (first.pmi + 2.0 * first.left_entropy.min(first.right_entropy)) * 120f64.log10();
    assert!((first.score - score).abs() < 1e-9);
    assert_eq!(report.facts["cut_whole_after"], 1.0);
    assert!(report.facts["cut_whole_before"].as_f64().unwrap() < 1.0);
}

#[test]
fn the_dictionary_makes_the_tokenizer_see_the_words() {
    let dir = tempfile::tempdir().unwrap();
    let (found, _) = found(&NewWordParams { min_pmi: 2.0, ..NewWordParams::default() }, None);
    let (dictionary, table) = (dir.path().join("dict.txt"), dir.path().join("words.csv"));
    found.save_dictionary(&dictionary).unwrap();
    found.save_table(&table, Formulas::Keep).unwrap();
    let text = "昨日云启智联与瀚海微签约";
    let cut = |dictionaries: Vec<std::path::PathBuf>| {
        let segmenter = Segmenter::new(&TokenizerParams { dictionaries, ..TokenizerParams::default() }, dir.path());
        let segmenter = segmenter.unwrap();
        let tagged = segmenter.tagged(text);
        tagged.iter().map(|word| format!("{}/{}", word.token.text, word.tag)).collect::<Vec<_>>()
    };
    let after = cut(vec!["dict.txt".into()]);
    assert!(after.contains(&"云启智联/nz".to_owned()) && after.contains(&"瀚海微/nz".to_owned()), "{after:?}");
    assert!(!cut(Vec::new()).contains(&"瀚海微/nz".to_owned()));
    let table = std::fs::read_to_string(table).unwrap();
    let mut rows = csv::Reader::from_reader(table.as_bytes());
    assert_eq!(&rows.headers().unwrap()[13], "first_seen");
    let row = rows.records().map(Result::unwrap).find(|row| &row[0] == "云启智联").unwrap();
    assert_eq!(
        (&row[0], &row[2], &row[13], &row[14]),
        ("云启智联", "120", "2024-01-01 10:00:00", "2024-03-28 10:00:00")
    );
    // The words that are found are known from now on.
    let known = TokenizerParams { dictionaries: vec!["dict.txt".into()], ..TokenizerParams::default() };
    let open = || Ok(Lines::new(std::io::Cursor::new(corpus()), LineFormat::Jsonl));
    let params = NewWordParams { min_pmi: 2.0, ..NewWordParams::default() };
    let again = find(open, &params, None, &known, dir.path(), &Ctx::new(1, 1).unwrap());
    assert!(format!("{:#}", again.unwrap_err()).contains("× known"));
}

#[test]
fn a_word_that_a_spreadsheet_would_compute_is_quoted_on_demand() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("words.csv");
    let (mut found, _) = found(&NewWordParams { min_pmi: 2.0, ..NewWordParams::default() }, None);
    found.words[0].word = "=1+2".to_owned();
    for (formulas, begin) in [(Formulas::Keep, "=1+2,"), (Formulas::Quote, "'=1+2,")] {
        found.save_table(&path, formulas).unwrap();
        let table = std::fs::read_to_string(&path).unwrap();
        assert!(table.lines().nth(1).unwrap().starts_with(begin), "{table}");
    }
}

#[test]
fn compounds_of_known_words_are_kept_on_demand() {
    let params = NewWordParams { min_pmi: 2.0, compounds: true, ..NewWordParams::default() };
    let (found, report) = found(&params, None);
    assert!(words(&found).contains(&"秋季订单"), "{:?}", words(&found));
    assert!(report.facts["refused"].get("compound of known words").is_none());
}

#[test]
fn nothing_later_than_the_last_time_is_seen() {
    let params = NewWordParams { min_pmi: 2.0, ..NewWordParams::default() };
    let (found, report) = found(&params, Some("2024-01-31"));
    assert_eq!(found.fitted_until.unwrap().to_string(), "2024-01-28 10:00:00");
    assert_eq!(found.words[0].count, 40);
    assert_eq!((report.rows_in, report.rows_out), (240, 80));
    assert_eq!(report.dropped["later than --until"], 160);
    let untimed = find_in("一\n二\n", LineFormat::Text, &params, Some("2024-01-31"), 1).unwrap_err().to_string();
    assert!(untimed.contains("no documents up to --until"), "{untimed}");
}

#[test]
fn any_number_of_threads_and_any_memory_give_the_same_table() {
    let dir = tempfile::tempdir().unwrap();
    let text = corpus().repeat(40);
    let tables: Vec<String> = [(1, 1), (2, 1), (8, 512)]
        .iter()
        .enumerate()
        .map(|(i, &(threads, memory_mb))| {
            let params = NewWordParams { min_pmi: 2.0, compounds: true, memory_mb, ..NewWordParams::default() };
            let (found, report) = find_in(&text, LineFormat::Jsonl, &params, None, threads).unwrap();
            let spilled = report.facts["spilled_mb"].as_u64().unwrap();
            assert_eq!(spilled > 0, memory_mb == 1, "{spilled}");
            let path = dir.path().join(format!("{i}.csv"));
            found.save_table(&path, Formulas::Keep).unwrap();
            std::fs::read_to_string(path).unwrap()
        })
        .collect();
    assert_eq!(tables[0], tables[1]);
    assert_eq!(tables[0], tables[2]);
}

#[test]
fn what_has_no_new_words_is_told_with_the_way_out() {
    let error = |text: &str, params: &NewWordParams| {
        format!("{:#}", find_in(text, LineFormat::Text, params, None, 1).unwrap_err())
    };
    let usual = NewWordParams::default();
    assert!(error("", &usual).contains("the input is empty"));
    assert!(error("2024-03-01, 12.5%\n", &usual).contains("no Chinese text"));
    let rare = error("云启智联公告\n", &usual);
    assert!(rare.contains("no string of characters occurs 10 times") && rare.contains("--min-count"), "{rare}");
    // One document that says the same again and again.
    let one = error(&"云启智联，".repeat(30), &NewWordParams { min_pmi: 0.5, ..usual.clone() });
    assert!(one.contains("1 × in too few documents") && one.contains("--min-documents"), "{one}");
    assert!(error("一\n", &NewWordParams { max_len: 9, ..usual.clone() }).contains("--max-len is 2 to 6"));
    assert!(error("一\n", &NewWordParams { memory_mb: 0, ..usual }).contains("--memory"));
}

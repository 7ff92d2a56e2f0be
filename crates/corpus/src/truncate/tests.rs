use proptest::prelude::{Just, any, prop, prop_assert, prop_assert_eq, prop_assume, prop_oneof, proptest};
use proptest::strategy::Strategy as Generator;

use super::*;
use crate::structure::{Salience, Sentence};

/// Sentences of so many tokens each, a token a byte.
fn layout(sentences: &[(usize, Section, bool, f32)]) -> Layout {
    let mut start = 0;
    let sentences: Vec<Sentence> = sentences
        .iter()
        .map(|&(length, section, boilerplate, tfidf)| {
            let range = start..start + length as u32;
            start = range.end;
            let salience = Salience { tfidf, textrank: 1.0 - tfidf, novelty: f32::NAN };
            Sentence { range, section, boilerplate, salience }
        })
        .collect();
    Layout::new(0..start as usize, &sentences)
}

fn report() -> Layout {
    layout(&[
        (2, Section::Title, false, 0.5),
        (10, Section::Header, true, 0.1),
        (10, Section::Body, false, 0.2),
        (5, Section::Rating, false, 0.9),
        (10, Section::Risk, false, 0.3),
        (8, Section::Disclaimer, false, 0.0),
    ])
}

fn kept(strategy: &str, layout: &Layout, specials: usize) -> Vec<Vec<std::ops::Range<usize>>> {
    let strategy: Strategy = strategy.parse().unwrap();
    strategy.views(layout, specials, 7).into_iter().map(|view| view.tokens).collect()
}

#[test]
fn places_are_counted_in_what_is_left_without_boilerplate() {
    let report = report();
    assert_eq!(kept("head:8", &report, 2), [vec![0..6]]);
    assert_eq!(kept("tail:8", &report, 2), [vec![39..45]]);
    assert_eq!(kept("middle:7", &report, 2), [vec![20..25]]);
    assert_eq!(kept("head+tail:10@0.25", &report, 2), [vec![0..2, 39..45]]);
    // Without the header and the disclaimer: tokens 0..2 and 12..37.
    assert_eq!(kept("head:8 -boilerplate", &report, 2), [vec![0..2, 12..16]]);
    assert_eq!(kept("tail:8 -boilerplate", &report, 2), [vec![31..37]]);
    assert_eq!(kept("tail:8 -boilerplate +title", &report, 2), [vec![0..2, 33..37]]);
    assert_eq!(kept("head+tail:4+3 +title", &report, 2), [vec![0..4, 42..45]]);
    assert_eq!(kept("none -boilerplate", &report, 2), [vec![0..2, 12..37]]);
    assert_eq!(kept("none -boilerplate -title", &report, 2), [vec![12..37]]);
    assert_eq!(kept("head:8 -title", &report, 2), [vec![2..8]]);
}

#[test]
fn sentences_are_chosen_by_section_or_salience_and_the_last_is_cut() {
    let report = report();
    assert_eq!(kept("sections:11@rating,risk", &report, 2), [vec![22..31]]);
    assert_eq!(kept("sections:11@rating", &report, 0), [vec![0..6, 22..27]], "the others follow in their order");
    assert_eq!(kept("tfidf:9", &report, 2), [vec![0..2, 22..27]]);
    assert_eq!(kept("tfidf:4", &report, 2), [vec![22..24]], "a sentence longer than the limit is cut");
    assert_eq!(kept("textrank:6", &report, 2), [vec![37..41]]);
    // What has no salience comes in the order of the text.
    assert_eq!(kept("novelty:6", &report, 2), [vec![0..4]]);
}

#[test]
fn windows_hold_everything() {
    let report = report();
    assert_eq!(kept("windows:22/20", &report, 2), [vec![0..20], vec![20..40], vec![40..45]]);
    assert_eq!(kept("windows:22/10@max -boilerplate", &report, 2), [vec![0..2, 12..30], vec![20..37]]);
    assert_eq!(kept("sentences:17", &report, 2), [vec![0..12], vec![12..27], vec![27..37], vec![37..45]]);
    assert_eq!(kept("sentences:8@first +title", &report, 2).len(), 13);
    assert_eq!(kept("sentences:8@first +title", &report, 2)[1], [0..2, 6..10]);
    let strategy: Strategy = "sentences:17".parse().unwrap();
    let weights: Vec<f64> = strategy.views(&report, 2, 0).iter().map(|view| view.weight).collect();
    assert!((weights[0] - 2.0).abs() < 1e-6 && (weights[1] - 6.5).abs() < 1e-6, "{weights:?}");
}

#[test]
fn what_keeps_nothing_has_no_view() {
    let all = layout(&[(4, Section::Disclaimer, false, 0.0), (4, Section::Body, true, 0.0)]);
    for strategy in
        ["head:8 -boilerplate", "windows:8 -boilerplate", "sentences:8 -boilerplate", "tfidf:8 -boilerplate"]
    {
        assert!(kept(strategy, &all, 2).is_empty(), "{strategy}");
    }
    assert!(kept("head:8", &layout(&[]), 2).is_empty());
    assert!(
        kept("windows:2", &layout(&[(9, Section::Body, false, f32::NAN)]), 2).is_empty(),
        "special tokens fill the limit"
    );
}

#[test]
fn a_token_outside_all_sentences_belongs_to_the_one_before() {
    let sentence = |range| Sentence { range, section: Section::Rating, boilerplate: false, salience: Salience::NONE };
    let layout = Layout::new([0, 3, 6, 9, 12], &[sentence(3..6), sentence(9..15)]);
    let tokens: Vec<_> = layout.passages().iter().map(|p| (p.tokens.clone(), p.section)).collect();
    assert_eq!(tokens, [(0..1, Section::Body), (1..3, Section::Rating), (3..5, Section::Rating)]);
}

#[test]
fn a_word_without_a_limit_stands_for_one_a_length() {
    let texts = |text: &str| -> Vec<String> {
        Strategy::at_lengths(text, &[128, 512], false).unwrap().iter().map(Strategy::to_string).collect()
    };
    assert_eq!(texts("head"), ["head:128", "head:512"]);
    assert_eq!(texts("head+tail@0.25 +title"), ["head+tail:128@0.25 +title", "head+tail:512@0.25 +title"]);
    assert_eq!(texts("windows@max"), ["windows:128/64@max", "windows:512/256@max"]);
    assert_eq!(texts("windows:500/300@first"), ["windows:500/300@first"]);
    assert_eq!(texts("none -boilerplate"), ["none -boilerplate"]);
    assert_eq!("head+tail:128@0.25 +title".parse::<Strategy>().unwrap().family(), "head+tail@0.25 +title");
    assert_eq!("windows:128/64@max".parse::<Strategy>().unwrap().family(), "windows@max");
    let characters = Strategy::at_lengths("head+tail@0.25", &[128], true).unwrap();
    assert_eq!(
        (characters[0].to_string().as_str(), characters[0].family().as_str()),
        ("head+tail:128c@0.25", "head+tail@0.25")
    );
    assert!(Strategy::at_lengths("head", &[], false).unwrap_err().to_string().contains("no lengths"));
}

#[test]
fn what_cannot_be_read_is_refused_with_what_can() {
    for text in [
        "front:512",
        "head",
        "middle",
        "middle:0",
        "sections:512@conclusion",
        "windows:8/9",
        "windows:8@median",
        "head:8 +body",
        "head:8 +title -title",
    ] {
        let error = format!("{:#}", text.parse::<Strategy>().unwrap_err());
        assert!(error.contains(text) && error.contains("sentences:512@mean"), "{error}");
    }
}

fn strategies() -> impl Generator<Value = Strategy> {
    let over = || prop_oneof![Just("mean"), Just("max"), Just("first"), Just("salience")];
    let word = prop_oneof![
        Just("none".to_owned()),
        (
            prop_oneof![Just("head"), Just("tail"), Just("middle"), Just("random"), Just("tfidf"), Just("textrank")],
            1usize..80
        )
            .prop_map(|(name, limit)| format!("{name}:{limit}")),
        (1usize..80, 0.0..=1.0).prop_map(|(limit, share)| format!("head+tail:{limit}@{share}")),
        (1usize..40, 1usize..40).prop_map(|(head, tail)| format!("head+tail:{head}+{tail}")),
        (1usize..80).prop_map(|limit| format!("sections:{limit}@risk,rating")),
        (1usize..80, 1usize..80, over()).prop_map(|(a, b, over)| format!("windows:{}/{}@{over}", a.max(b), a.min(b))),
        (1usize..80, over()).prop_map(|(limit, over)| format!("sentences:{limit}@{over}")),
    ];
    (word, 0u8..3, any::<bool>(), any::<bool>()).prop_map(|(mut word, title, drop, characters)| {
        if characters && word != "none" {
            word.insert(word.find('@').unwrap_or(word.len()), 'c');
        }
        let text = word + if drop { " -boilerplate" } else { "" } + ["", " +title", " -title"][usize::from(title)];
        text.parse().unwrap()
    })
}

fn layouts() -> impl Generator<Value = Layout> {
    let sentence = (1usize..30, 0usize..Section::ALL.len(), any::<bool>(), 0.0f32..1.0);
    prop::collection::vec(sentence, 0..12).prop_map(|sentences| {
        let sentences: Vec<_> = sentences
            .into_iter()
            .map(|(n, section, boilerplate, s)| (n, Section::ALL[section], boilerplate, s))
            .collect();
        layout(&sentences)
    })
}

proptest! {
    #[test]
    fn views_keep_to_the_limit_and_to_the_order_of_the_text(
        strategy in strategies(), layout in layouts(), specials in 0usize..4, draw: u64
    ) {
        let views = strategy.views(&layout, specials, draw);
        for view in &views {
            prop_assert!(!view.is_empty());
            prop_assert!(view.tokens.windows(2).all(|pair| pair[0].end < pair[1].start));
            prop_assert!(view.tokens.iter().all(|range| range.start < range.end && range.end <= layout.tokens()));
            if let Some(limit) = strategy.limit(specials) {
                prop_assert!(view.len() + specials <= limit.max(specials), "{} {:?}", strategy, view);
            }
        }
        prop_assert!(strategy.over().is_some() || views.len() <= 1);
        if strategy.drop_boilerplate {
            let dropped = |p: &&Passage| p.boilerplate || p.section == Section::Disclaimer;
            for passage in layout.passages().iter().filter(dropped) {
                let meets = |r: &std::ops::Range<usize>| r.start < passage.tokens.end && passage.tokens.start < r.end;
                prop_assert!(!views.iter().any(|view| view.tokens.iter().any(meets)));
            }
        }
        prop_assert_eq!(strategy.views(&layout, specials, draw), views);
    }

    #[test]
    fn what_fits_is_kept_whole_and_limits_are_used_up(
        strategy in strategies(), layout in layouts(), specials in 0usize..4, draw: u64
    ) {
        prop_assume!(!strategy.drop_boilerplate && !strategy.drop_title);
        let views = strategy.views(&layout, specials, draw);
        let seen: usize = views.iter().map(TokenView::len).sum();
        match strategy.limit(specials) {
            None => prop_assert_eq!(seen, layout.tokens()),
            Some(limit) if strategy.over().is_none() => {
                let room = limit.saturating_sub(specials);
                // Head and tail by number may leave room where a title is longer than the head.
                let exact = !(strategy.title && matches!(strategy.pick, Pick::Place(Truncation::HeadTail { .. })));
                prop_assert!(seen == layout.tokens().min(room) || !exact, "{seen} of {} in {room}", layout.tokens());
            }
            Some(limit) if limit > specials && !strategy.title => {
                let mut all = vec![false; layout.tokens()];
                views.iter().flat_map(|view| view.tokens.clone()).flatten().for_each(|token| all[token] = true);
                prop_assert!(all.into_iter().all(|seen| seen), "windows hold every token");
            }
            Some(_) => {}
        }
    }

    #[test]
    fn a_strategy_reads_back_what_it_shows(strategy in strategies()) {
        prop_assert_eq!(strategy.to_string().parse::<Strategy>().unwrap(), strategy);
    }
}

#[test]
fn rows_of_windows_become_one() {
    let rows: [(&[f32], f64); 3] = [(&[1.0, 4.0], 3.0), (&[f32::NAN, f32::NAN], 5.0), (&[3.0, 0.0], 1.0)];
    let one = |over| {
        let mut row = [0.0; 2];
        combine(over, &rows, &mut row);
        row
    };
    assert_eq!(one(Over::Mean), [2.0, 2.0], "a window without a value does not count");
    assert_eq!(one(Over::Max), [3.0, 4.0]);
    assert_eq!(one(Over::First), [1.0, 4.0]);
    assert_eq!(one(Over::Salience), [1.5, 3.0]);
    let mut none = [0.0];
    combine(Over::Max, &[(&[f32::NAN], 1.0)], &mut none);
    assert!(none[0].is_nan());
    combine(Over::Salience, &[(&[1.0], 0.0), (&[2.0], 0.0)], &mut none);
    assert_eq!(none, [1.5], "where nothing is salient all count alike");
}

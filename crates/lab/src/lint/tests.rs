//! Planted leaks are named, and an honest factor passes.

use chrono::{NaiveDateTime, TimeDelta};
use polars_core::prelude::DataType;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use crate::backtest;
use crate::factor::{self, Factor, Signal};
use crate::lint::testing::{Plan, World};
use crate::lint::{
    Check, DocumentEvidence, Finding, Masked, Params, Standing, Subject, TextReading, Texts, Verdict, run,
};
use inkstone_base::data::Kind;
use inkstone_base::job::Ctx;
use inkstone_corpus::demo;
use inkstone_market::{Cutoff, Market};
use inkstone_tables::corpus::{column, times_of};
use inkstone_tables::frames;

const CHECKS: [Check; 12] = [
    Check::KnownBefore,
    Check::TradeDate,
    Check::SameDayGap,
    Check::ShuffledDates,
    Check::ShuffledText,
    Check::FutureVocabulary,
    Check::MaskedNames,
    Check::Overlap,
    Check::Survivors,
    Check::Restated,
    Check::Unadjusted,
    Check::Crawled,
];

fn params() -> Params {
    Params { date_draws: 60, bootstrap: 300, ..Params::default() }
}

fn verdicts(subject: &Subject<'_>, params: &Params, threads: usize) -> Vec<Verdict> {
    let ctx = Ctx::new(threads, 3).unwrap();
    let (verdicts, report) = run(subject, params, &ctx).unwrap();
    assert_eq!(verdicts.iter().map(|v| v.check).collect::<Vec<_>>(), CHECKS);
    assert_eq!(report.rows_in, report.rows_out + report.dropped_rows());
    for verdict in &verdicts {
        assert_eq!(verdict.standing == Standing::Skipped, verdict.number.is_none(), "{verdict:?}");
        let json = serde_json::to_string(verdict).unwrap();
        let read: Verdict = serde_json::from_str(&json).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
        assert!(verdict.figures().keys().all(|name| name != "case" && name != "context"));
    }
    verdicts
}

/// Values of the same documents with noise of this size instead of, or on top of, what they were.
fn noisy(world: &World, keep: f64, noise: f64) -> Vec<Signal> {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let value = |value: f64, rng: &mut ChaCha8Rng| keep * value + noise * rng.sample::<f64, _>(StandardNormal);
    world.signals.iter().map(|signal| Signal { value: value(signal.value, &mut rng), ..*signal }).collect()
}

/// An honest factor: known before its trade, moved by what is said, masked with little loss.
fn honest(plan: Plan) -> World {
    let mut world = World::planted(&plan);
    world.masked = Some(noisy(&world, 1.0, 0.3));
    world
}

fn same_day(plan: Plan) -> World {
    let mut world = honest(plan);
    world.backtest = backtest::Params { delay: Some(0), allow_lookahead: true, ..world.backtest };
    world
}

/// Every fifth post comes at 15:20 and counts for its day, as where hours are compared as strings.
fn strings() -> World {
    let mut world = honest(Plan::default());
    for signal in world.signals.iter_mut().step_by(5) {
        let document = &mut world.documents[signal.document as usize];
        document.published_at = document.published_at.date().and_hms_opt(15, 20, 0).unwrap();
        signal.known_at = document.published_at;
    }
    world
}

/// One model that was fitted in the middle, whose known-at times say so or not.
fn future(told: bool) -> World {
    let mut world = honest(Plan::default());
    let until = world.market.dates()[110].and_hms_opt(15, 0, 0).unwrap();
    world.models[0].fitted_until = until;
    world.models[0].trained_on = None;
    if told {
        world.signals.iter_mut().for_each(|signal| signal.known_at = signal.known_at.max(until));
    }
    world
}

/// A tenth of the posts tells a story that trained the model, or trained it itself.
fn overlapping(itself: bool) -> World {
    let mut world = honest(Plan::default());
    let (story, published_at) = (world.documents.last().unwrap().story, world.documents[0].published_at);
    for k in (0..world.signals.len()).step_by(10) {
        world.documents[world.signals[k].document as usize].story = story;
    }
    if itself {
        world.models[0].trained_on = Some((published_at, published_at + TimeDelta::days(3)));
    }
    world
}

fn loaded_at_once() -> World {
    let mut world = honest(Plan::default());
    let at = world.market.dates()[219].and_hms_opt(20, 0, 0);
    world.documents.iter_mut().for_each(|document| document.ingested_at = at);
    world
}

#[test]
fn planted_leaks_are_named_and_an_honest_factor_passes() {
    let plan = Plan::default;
    let memory = || {
        let mut world = honest(plan());
        world.masked = Some(noisy(&world, 0.0, 1.0));
        world
    };
    let survivors = Params { delisting_rate: 0.1, ..params() };
    // A letter a check, in their order: Passed, Warned, Failed, Skipped.
    let cases: Vec<(&str, World, Params, &str)> = vec![
        ("honest", honest(plan()), params(), "PPPPPPPPPPPP"),
        ("traded on the day itself", same_day(Plan { same_day: 0.007, ..plan() }), params(), "FPFPPPPPPPPP"),
        ("reports what happened", honest(Plan { same_day: 0.02, ..plan() }), params(), "PPWPPPPPPPPP"),
        ("hours as strings", strings(), params(), "PFPPPPPPPPPP"),
        ("a trait of the names", honest(Plan { of_trait: 0.005, drift: 0.0, ..plan() }), params(), "PPPFPPPPPPPP"),
        ("attention", honest(Plan { attention: 0.007, drift: 0.0, ..plan() }), params(), "PPPPFPPPPPPP"),
        ("a model of the future, hidden", future(false), params(), "PPPPPFPSPPPP"),
        ("a model of the future, told", future(true), params(), "FPPPPWPSPPPP"),
        ("a model that remembers names", memory(), params(), "PPPPPPWPPPPP"),
        ("stories that trained", overlapping(false), params(), "PPPPPPPWPPPP"),
        ("documents that trained", overlapping(true), params(), "PPPPPPPFPPPP"),
        ("survivors alone", honest(Plan { ended: 0, ..plan() }), survivors, "PPPPPPPPWPPP"),
        ("too few to tell", honest(Plan { ended: 0, ..plan() }), params(), "PPPPPPPPSPPP"),
        ("written afterwards", honest(Plan { restated: true, ..plan() }), params(), "PPPPPPPPPWPP"),
        ("loaded at once", loaded_at_once(), params(), "PPPPPPPPPSPP"),
        ("prices not adjusted", honest(Plan { ex_days: 12, ..plan() }), params(), "PPPPPPPPPPWP"),
        ("no power at all", honest(Plan { drift: 0.0, ..plan() }), params(), "PPPSSPSPPPPP"),
    ];
    let letter = |verdict: &Verdict| match verdict.standing {
        Standing::Passed => 'P',
        Standing::Warned => 'W',
        Standing::Failed => 'F',
        Standing::Skipped => 'S',
    };
    let mut wrong = Vec::new();
    for (name, world, params, expected) in cases {
        let found = world.look(|subject| verdicts(subject, &params, 2));
        let letters: String = found.iter().map(letter).collect();
        if letters != expected {
            let odd = found.iter().zip(letters.chars().zip(expected.chars())).filter(|(_, (a, b))| a != b);
            let odd: Vec<String> = odd.map(|(v, _)| format!("{:?} {:?}: {:?}", v.check, v.number, v.finding)).collect();
            wrong.push(format!("{name}: {letters}, not {expected}\n  {}", odd.join("\n  ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_numbers_are_those_that_were_planted() {
    let world = strings();
    let found = world.look(|subject| verdicts(subject, &params(), 2));
    assert_eq!(found[1].number, Some(world.signals.len().div_ceil(5) as f64));
    let found = overlapping(false).look(|subject| verdicts(subject, &params(), 2));
    assert!((found[7].number.unwrap() - 0.1).abs() < 1e-3, "{:?}", found[7]);
    let found = future(false).look(|subject| verdicts(subject, &params(), 2));
    let (verdict, figures) = (&found[5], found[5].figures());
    let figure = |name: &str| figures[name].as_f64().unwrap();
    // Trades from day 1 to day 110 begin before the model was fitted at the close of day 110.
    assert_eq!((figure("dates_seen"), figure("dates_unseen")), (110.0, 108.0), "{verdict:?}");
    assert_eq!(figures["hidden"], figures["future"]);
    assert!((verdict.number.unwrap() - 0.5).abs() < 0.02 && figure("p") > 0.01, "{verdict:?}");
    let found = honest(Plan { restated: true, ..Plan::default() }).look(|subject| verdicts(subject, &params(), 2));
    assert!(found[9].number.unwrap() > 0.7, "all of it goes with the late half: {:?}", found[9]);
    assert!((found[9].figures()["share_late"].as_f64().unwrap() - 0.5).abs() < 0.01);
}

#[test]
fn a_model_whose_text_ended_before_the_first_story_shares_none() {
    let overlap = |until: fn(&World) -> NaiveDateTime| {
        let mut world = honest(Plan::default());
        (world.models[0].fitted_until, world.models[0].trained_on) = (until(&world), None);
        world.look(|subject| verdicts(subject, &params(), 1).swap_remove(Check::Overlap as usize))
    };
    let before = overlap(|world| {
        world.documents.iter().map(|document| document.published_at).min().unwrap() - TimeDelta::seconds(1)
    });
    assert_eq!((before.standing, before.number), (Standing::Passed, Some(0.0)), "{before:?}");
    assert_eq!(before.figures()["of_unknown_training"], 0);
    let behind = overlap(|world| world.documents.iter().map(|document| document.published_at).max().unwrap());
    assert_eq!(behind.standing, Standing::Skipped, "{behind:?}");
}

#[test]
fn a_factor_that_reads_no_documents_is_not_called_a_table() {
    honest(Plan::default()).look(|subject| {
        let names = ["tone".to_owned()];
        let composed = Subject { texts: None, factors: Some(&names), masked: Masked::Unknown, ..*subject };
        let verdicts = verdicts(&composed, &params(), 1);
        let checks =
            [Check::TradeDate, Check::ShuffledText, Check::FutureVocabulary, Check::MaskedNames, Check::Overlap];
        for verdict in checks.map(|check| &verdicts[check as usize]) {
            let Finding::ReadsNoDocuments { context } = &verdict.finding else { panic!("{verdict:?}") };
            assert_eq!((verdict.standing, &context.factors[..]), (Standing::Skipped, &names[..]));
        }
    });
    honest(Plan::default()).look(|subject| {
        let counting = Subject { texts: None, masked: Masked::NoTexts, ..*subject };
        let verdict = verdicts(&counting, &params(), 1).swap_remove(Check::MaskedNames as usize);
        assert!(matches!(verdict.finding, Finding::NoModelReadsTexts), "{verdict:?}");
    });
}

#[test]
fn a_table_gets_the_checks_that_need_no_documents() {
    let world = honest(Plan::default());
    world.look(|subject| {
        let table = Subject { texts: None, factors: None, masked: Masked::Unknown, times_assumed: true, ..*subject };
        let found = verdicts(&table, &params(), 1);
        let verdict = |check| found.iter().find(|v| v.check == check).unwrap();
        assert_eq!(verdict(Check::KnownBefore).standing, Standing::Warned);
        assert_eq!(verdict(Check::KnownBefore).figures()["times_assumed"], true);
        for check in [Check::TradeDate, Check::ShuffledText, Check::FutureVocabulary, Check::Overlap, Check::Restated] {
            assert_eq!(verdict(check).standing, Standing::Skipped);
            assert!(matches!(verdict(check).finding, Finding::NoDocuments), "{:?}", verdict(check));
        }
        assert!(matches!(verdict(Check::MaskedNames).finding, Finding::NoMaskedFactor));
        assert_eq!(verdict(Check::ShuffledDates).standing, Standing::Passed);
    });
}

#[test]
fn a_count_of_documents_is_told_to_be_attention_by_its_construction() {
    let mut world = honest(Plan { attention: 0.007, drift: 0.0, ..Plan::default() });
    world.factor.aggregate = crate::factor::Aggregate::Count;
    let found = world.look(|subject| verdicts(subject, &params(), 2));
    let verdict = &found[4];
    assert_eq!(verdict.standing, Standing::Warned);
    assert!((verdict.number.unwrap() - 1.0).abs() < 1e-12);
    assert_eq!(verdict.figures()["counts_documents"], true);
}

#[test]
fn verdicts_are_the_same_for_any_number_of_threads() {
    let world = honest(Plan { days: 120, ..Plan::default() });
    let json = |threads| world.look(|subject| serde_json::to_string(&verdicts(subject, &params(), threads)).unwrap());
    assert_eq!(json(1), json(3));
}

#[test]
fn a_factor_without_values_is_told_and_no_error() {
    let world = honest(Plan { days: 60, ..Plan::default() });
    world.look(|subject| {
        let empty = Factor::empty("empty", subject.market);
        let found = verdicts(
            &Subject { factor: &empty, texts: None, factors: None, masked: Masked::Unknown, ..*subject },
            &params(),
            1,
        );
        let skipped = [Check::SameDayGap, Check::ShuffledDates];
        assert!(found.iter().filter(|v| skipped.contains(&v.check)).all(|v| v.standing == Standing::Skipped));
    });
}

/// The tones of the demo are known in time, and part of them moved before they were published.
#[test]
fn the_demo_reports_what_had_happened_and_its_placebo_has_nothing_to_break() {
    let dir = tempfile::tempdir().unwrap();
    let ctx = Ctx::new(2, 1).unwrap();
    let (truth, _) = demo::generate(dir.path(), &demo::Params { scale: 0.3, seed: 1 }, &ctx).unwrap();
    let market = Market::read(&dir.path().join("prices.csv"), &[]).unwrap();
    let rows = frames::read_foreign_parquet(&dir.path().join("truth_tone.parquet"), None).unwrap();
    let text = |name: &str| column(&rows, name).unwrap().str().unwrap().clone();
    let (ids, codes, reposts) = (text("doc_id"), text("code"), text("repost_of"));
    let times = times_of(&rows, "published_at").unwrap();
    let look = |name: &str| {
        let values = column(&rows, name).unwrap().cast(&DataType::Float64).unwrap();
        let values = values.f64().unwrap();
        let (mut signals, mut documents) = (Vec::new(), Vec::new());
        for row in 0..rows.height() {
            let published_at = times[row].unwrap();
            let Ok(date) = market.calendar().trade_date(published_at, Cutoff::Close) else { continue };
            let Some(code) = codes.get(row).and_then(|code| market.index_of(code)) else { continue };
            let document = documents.len() as u32;
            documents.push(DocumentEvidence {
                id: ids.get(row).unwrap().to_owned(),
                kind: Kind::News,
                published_at,
                ingested_at: None,
                story: row as u32,
                models: Vec::new(),
            });
            let (code, date) = (code as u32, date as u32);
            let (value, first) = (values.get(row).unwrap(), reposts.get(row).is_none());
            signals.push(Signal { first, document, ..Signal::of(code, date, published_at, value) });
        }
        let build = |signals: &[Signal]| {
            let expression = "tone".parse().unwrap();
            let params = factor::Params { name: name.into(), expression, ..factor::Params::default() };
            let plan = factor::Plan::new(&params)?;
            let inputs = factor::Inputs {
                market: &market,
                cutoff: Cutoff::Close,
                signals,
                factors: &[],
                graphs: Default::default(),
                events: &[],
            };
            Ok(factor::build(&plan, &inputs, &params, &ctx)?.0)
        };
        let subject = Subject {
            factor: &build(&signals).unwrap(),
            market: &market,
            backtest: &backtest::Params { max_loss: 1.0, ..backtest::Params::default() },
            times_assumed: false,
            factors: Some(&[]),
            texts: Some(Texts {
                signals: &signals,
                documents: &documents,
                models: &[],
                cutoff: Cutoff::Close,
                readings: &[TextReading { features: Vec::new(), first_only: true }],
                crawled: &[],
                rebuild: &build,
            }),
            masked: Masked::Unknown,
            rewire: None,
        };
        verdicts(&subject, &params(), 2)
    };
    let (tone, placebo) = (look("tone"), look("placebo"));
    let standings = |verdicts: &[Verdict]| verdicts[..5].iter().map(|v| v.standing).collect::<Vec<_>>();
    use Standing::{Passed, Skipped, Warned};
    assert_eq!(standings(&tone), [Passed, Passed, Warned, Passed, Passed]);
    assert_eq!(standings(&placebo), [Passed, Passed, Passed, Skipped, Skipped]);
    // What is found is what was planted, but for prices that are rounded and names that could not be bought.
    let found = |name: &str| tone[2].figures()[name].as_f64().unwrap();
    assert!((found("rank_ic_trade") - truth.rank_ic_1.realised).abs() < 0.005);
    assert!((found("rank_ic_same_day") - truth.rank_ic_same_day.realised).abs() < 0.02);
}

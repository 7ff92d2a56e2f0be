//! The ledger as it is used: looks are counted, deleting does not embellish, tampering is noticed.

use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::reference::{hour, noise, trial, trial_of};
use super::sharpe::expected_maximum;
use super::*;
use inkstone_store::Journal;

fn opened(dir: &tempfile::TempDir) -> Ledger {
    let path = dir.path().join("ledger");
    disk::own_folder(&path, Room::Ledger).unwrap();
    Ledger::open(&path).unwrap()
}

fn filled(dir: &tempfile::TempDir, trials: impl IntoIterator<Item = Trial>) -> Ledger {
    let mut ledger = opened(dir);
    for (n, trial) in trials.into_iter().enumerate() {
        assert_eq!(ledger.record(&trial, hour(n as u64)).unwrap(), n as u64 + 1);
    }
    ledger
}

/// The ledger's files as a journal, to be changed behind its back.
fn journal(dir: &tempfile::TempDir) -> Journal {
    Journal::open(&dir.path().join("ledger"), Duration::from_secs(5)).unwrap()
}

fn looks_of(ledger: &Ledger, trial: &Trial) -> Looks {
    TrialTally::new(ledger).looks(trial.key()).unwrap()
}

#[test]
fn a_first_look_is_not_deflated_and_a_repetition_is_no_new_look() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger");
    assert!(looks(&path, &[trial(1, 300).key()]).unwrap()[0].is_none());
    assert!(!path.exists(), "asking makes no ledger");
    let first = record(&path, &trial(1, 300), hour(1)).unwrap();
    assert_eq!((first.trials, first.runs, first.independent, first.entry), (1, 1, 1, 1));
    assert_eq!((first.expected_best, first.q), (0.0, first.p));
    assert_eq!(first.deflated_sharpe, first.probabilistic_sharpe);
    assert!(first.overfitting.is_nan() && first.days == 300);
    let again = record(&path, &trial(1, 300), hour(2)).unwrap();
    assert_eq!((again.trials, again.runs, again.independent, again.entry), (1, 2, 1, 2));
    assert_eq!(again.deflated_sharpe, first.deflated_sharpe);
    let other = record(&path, &trial(2, 300), hour(3)).unwrap();
    assert_eq!((other.trials, other.runs, other.independent), (2, 3, 2));
    assert!(other.expected_best > 0.0 && !other.overfitting.is_nan() && other.overfitting_trials == 2);
    let kept = looks(&path, &[trial(1, 300).key(), trial(7, 300).key()]).unwrap();
    assert_eq!(kept[0].as_ref().map(|looks| (looks.trials, looks.entry)), Some((2, 2)));
    assert!(kept[1].is_none());
    let json = serde_json::to_string(&first).unwrap();
    assert!(serde_json::from_str::<Looks>(&json).unwrap().overfitting.is_nan(), "what is not there reads back");
}

#[test]
fn a_test_that_is_done_again_after_a_kill_is_noted_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger");
    let noted = |seed, at| {
        let looks = record_once(&path, &trial(seed, 300), hour(at)).unwrap();
        (looks.trials, looks.runs, looks.entry)
    };
    assert_eq!(noted(1, 1), (1, 1, 1));
    assert_eq!(noted(1, 2), (1, 1, 1), "killed after the note, before the step was finished");
    assert_eq!(noted(2, 3), (2, 2, 2));
    assert_eq!(noted(1, 4), (2, 3, 3), "something else ran in between: this one ran again");
    // A clock that was set back moves nothing: entries are in the order of their numbers.
    assert_eq!(noted(3, 0), (3, 4, 4));
    let ledger = opened(&dir);
    assert_eq!(ledger.entries().iter().map(|entry| entry.number).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(ledger.problems().is_empty() && ledger.entries()[3].when < ledger.entries()[0].when);
}

#[test]
fn the_best_of_a_hundred_without_skill_is_seen_through_and_skill_is_seen() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = filled(&dir, (0..100).map(|seed| trial(seed, 484)));
    let tally = TrialTally::new(&ledger);
    let standings: Vec<Looks> = (0..100).map(|seed| tally.standing(trial(seed, 484).key()).unwrap()).collect();
    let best = standings.iter().max_by(|a, b| a.sharpe.total_cmp(&b.sharpe)).unwrap();
    assert!(best.sharpe > 1.2 && best.probabilistic_sharpe > 0.95, "looked at alone it is a find: {best:?}");
    assert!(best.deflated_sharpe < 0.7, "{best:?}");
    assert_eq!((best.trials, best.independent), (100, 100));
    let chance = tally.looks(trial(99, 484).key()).unwrap();
    // Of one set of trials the probability scatters; of many it is near 0.5 (`overfitting`).
    assert!((0.25..0.75).contains(&chance.overfitting) && chance.overfitting_trials == 100, "{chance:?}");
    // An annual Sharpe ratio of 5.
    let skilled = trial_of("skill", &noise(484, 1000).iter().map(|r| r + 0.0032).collect::<Vec<_>>());
    ledger.record(&skilled, hour(200)).unwrap();
    let found = looks_of(&ledger, &skilled);
    assert!(found.deflated_sharpe > 0.99 && found.overfitting < 0.02 && found.overfitting_loss < 0.02, "{found:?}");
    assert!(found.days_needed < 484.0 && found.overfitting_slope < 0.5, "{found:?}");
}

#[test]
fn a_discovery_is_one_only_if_it_stands_among_all_that_was_tried() {
    let dir = tempfile::tempdir().unwrap();
    let with = |seed, p| Trial { p, ..trial(seed, 100) };
    let ledger = filled(&dir, [with(1, 0.01), with(2, 0.6), with(3, f64::NAN), with(4, 0.02)]);
    // Sorted: 0.01 * 4, 0.02 * 4 / 2, 0.6 * 4 / 3; what has no p counts as 1.
    let q = |seed| looks_of(&ledger, &trial(seed, 100)).q;
    assert!((q(1) - 0.04).abs() < 1e-15 && (q(4) - 0.04).abs() < 1e-15);
    // 0.6 * 3 / 2 before the fourth, with which it would have been 0.8.
    assert!((q(2) - 0.9).abs() < 1e-15, "{}", q(2));
    assert!(q(3).is_nan());
    assert!((looks_of(&ledger, &trial(1, 100)).q_dependent - 0.04 * 25.0 / 12.0).abs() < 1e-15);
}

#[test]
fn copies_of_a_trial_are_one_idea_and_do_not_make_the_others_look_better() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = filled(&dir, (0..10).map(|seed| trial(seed, 484)));
    let before = looks_of(&ledger, &trial(3, 484));
    for copy in 0..60 {
        let returns: Vec<f64> = noise(484, 5).iter().zip(noise(484, 500 + copy)).map(|(a, b)| a + 0.05 * b).collect();
        ledger.record(&trial_of(&format!("copy {copy}"), &returns), hour(100 + copy)).unwrap();
    }
    let after = looks_of(&ledger, &trial(3, 484));
    assert_eq!((after.trials, after.independent), (70, 10));
    assert!(after.expected_best >= before.expected_best, "{} {}", before.expected_best, after.expected_best);
    let copies = ledger.entries().iter().filter(|entry| entry.group == 6).count();
    assert_eq!(copies, 61, "the copies are of the group of entry 6");
}

#[test]
fn a_deleted_entry_counts_as_before() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = filled(&dir, (0..12).map(|seed| trial(seed, 200)));
    let before = looks_of(&ledger, &trial(3, 200));
    assert_eq!(ledger.delete(&[5, 2, 5], " 参数写错了 ", hour(50)).unwrap(), 13);
    let counts_as_before = |ledger: &Ledger| {
        let after = looks_of(ledger, &trial(3, 200));
        assert_eq!((after.trials, after.runs, after.deleted, after.problems), (12, 12, 2, 0));
        assert_eq!((after.expected_best, after.deflated_sharpe), (before.expected_best, before.deflated_sharpe));
        assert_eq!((after.independent, after.q), (before.independent, before.q));
        assert_eq!((before.overfitting_trials, after.overfitting_trials), (12, 12), "their returns count on");
        assert_eq!(
            (after.overfitting, after.overfitting_slope, after.overfitting_loss),
            (before.overfitting, before.overfitting_slope, before.overfitting_loss)
        );
        let left = ledger.entry(2).unwrap();
        assert!(left.details.is_none() && left.moments.is_some() && left.trial == trial(1, 200).key());
        assert_eq!(left.deleted, Some(Deletion { number: 13, when: hour(50), reason: "参数写错了".into() }));
    };
    counts_as_before(&ledger);
    drop(ledger);
    counts_as_before(&opened(&dir));
}

/// Fails where a trial looks better now than it did before.
fn is_no_better(now: &Looks, before: &Looks, step: &str) {
    for (name, now, before, sign) in [
        ("trials", now.trials as f64, before.trials as f64, 1.0),
        ("expected best", now.expected_best, before.expected_best, 1.0),
        ("deflated Sharpe ratio", now.deflated_sharpe, before.deflated_sharpe, -1.0),
        ("probability of overfitting", now.overfitting, before.overfitting, 1.0),
        ("q", now.q, before.q, 1.0),
        ("q however trials depend", now.q_dependent, before.q_dependent, 1.0),
    ] {
        assert!(before.is_nan() || sign * now >= sign * before, "{name}: {before} to {now} {step}");
    }
}

#[test]
fn nothing_that_is_added_or_deleted_makes_an_earlier_result_look_better() {
    let mut fell = 0;
    for seed in 0..4 {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = opened(&dir);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut standing: Vec<(Trial, Looks)> = Vec::new();
        for step in 0..30u64 {
            let what = match rng.random_range(0..8) {
                0 if !standing.is_empty() => {
                    let left: Vec<u64> = ledger
                        .entries()
                        .iter()
                        .filter(|entry| entry.deleted.is_none())
                        .map(|entry| entry.number)
                        .collect();
                    if let Some(number) = left.get(rng.random_range(0..left.len().max(1))) {
                        ledger.delete(&[*number], "why", hour(step)).unwrap();
                    }
                    "by a deletion"
                }
                1 if !standing.is_empty() => {
                    let again = standing[rng.random_range(0..standing.len())].0.clone();
                    ledger.record(&again, hour(step)).unwrap();
                    "by a repetition"
                }
                kind => {
                    // Copies of one idea, skill, other days, no portfolio, and noise.
                    let days = if kind == 2 { rng.random_range(70..200) } else { 200 };
                    let mut returns = noise(days, if kind <= 4 { 7 } else { 100 * seed + step });
                    returns.iter_mut().zip(noise(days, 9_000 + step)).for_each(|(r, other)| *r += 0.1 * other);
                    if kind == 5 {
                        returns.iter_mut().for_each(|r| *r += 0.003);
                    }
                    let mut trial = trial_of(&format!("{seed} {step}"), &returns);
                    trial.p = [rng.random::<f64>(), 0.001, f64::NAN][rng.random_range(0..3)];
                    if kind == 6 && rng.random_bool(0.3) {
                        trial.details.returns = None;
                    }
                    ledger.record(&trial, hour(step)).unwrap();
                    standing.push((trial.clone(), looks_of(&ledger, &trial)));
                    "by a trial"
                }
            };
            for (trial, before) in &mut standing {
                let now = looks_of(&ledger, trial);
                is_no_better(&now, before, &format!("{what} in step {step} of seed {seed}"));
                *before = now;
            }
            // By themselves the estimates would fall.
            let sharpes = TrialTally::new(&ledger)
                .trials()
                .iter()
                .filter_map(|t| t.entry.moments)
                .map(|m| m.sharpe)
                .collect::<Vec<_>>();
            let plain =
                expected_maximum(inkstone_base::stats::variance(&sharpes, 1), standing.len() as u64) * 242f64.sqrt();
            fell += usize::from(standing.iter().any(|(_, looks)| looks.expected_best > plain));
        }
        drop(ledger);
        let ledger = opened(&dir);
        assert!(ledger.problems().is_empty(), "{:?}", ledger.problems());
        for (trial, before) in &standing {
            let read = looks_of(&ledger, trial);
            let figures = |looks: &Looks| [looks.expected_best, looks.q, looks.overfitting].map(f64::to_bits);
            assert_eq!((figures(&read), read.trials), (figures(before), before.trials));
        }
    }
    assert!(fell > 20, "the sequences try nothing: {fell}");
}

#[test]
fn trials_that_are_alike_do_not_lower_what_luck_is_expected_to_give() {
    let dir = tempfile::tempdir().unwrap();
    // Two trials far apart, then many between them: the variance falls by more than the number adds.
    let apart = |shift: f64, seed| {
        trial_of(&format!("{seed}"), &noise(300, seed).iter().map(|r| r + shift).collect::<Vec<_>>())
    };
    let mut ledger = filled(&dir, [apart(0.004, 1), apart(-0.004, 2)]);
    let before = looks_of(&ledger, &apart(0.004, 1));
    for seed in 3..9 {
        ledger.record(&trial_of(&format!("{seed}"), &noise(300, seed)), hour(seed)).unwrap();
    }
    let sharpes: Vec<f64> = ledger.entries().iter().map(|entry| entry.moments.unwrap().sharpe).collect();
    let early = expected_maximum(inkstone_base::stats::variance(&sharpes[..3], 1), 3);
    let late = expected_maximum(inkstone_base::stats::variance(&sharpes, 1), 8);
    assert!(late < early, "{late} {early}");
    let after = looks_of(&ledger, &apart(0.004, 1));
    assert!(after.expected_best >= before.expected_best && after.expected_best >= early * 242f64.sqrt() - 1e-12);
    assert!(after.deflated_sharpe <= before.deflated_sharpe);
}

#[test]
fn returns_that_a_deletion_keeps_are_watched() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = filled(&dir, (0..3).map(|seed| trial(seed, 100)));
    ledger.delete(&[1, 3], "why", hour(9)).unwrap();
    drop(ledger);
    assert_eq!(looks_of(&opened(&dir), &trial(1, 100)).overfitting_trials, 3);
    journal(&dir).tamper(b'a', 4, Some(b"nothing"));
    assert_eq!(opened(&dir).problems(), ["the returns that deletion 4 keeps were changed"]);
    journal(&dir).tamper(b'a', 4, None);
    assert_eq!(opened(&dir).problems(), ["the returns that deletion 4 keeps were taken away without a deletion"]);
}

#[test]
fn deleting_needs_a_reason_and_an_entry_that_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = filled(&dir, [trial(1, 100)]);
    let mut refused = |numbers: &[u64], reason| format!("{:#}", ledger.delete(numbers, reason, hour(1)).unwrap_err());
    assert!(refused(&[1], "  ").contains("say why"));
    assert!(refused(&[], "why").contains("which"));
    assert!(refused(&[1, 4], "why").contains("no entry 4; its last one is 1"));
    assert_eq!(ledger.delete(&[1], "why", hour(1)).unwrap(), 2);
    let refused =
        |number: u64, ledger: &mut Ledger| format!("{:#}", ledger.delete(&[number], "why", hour(2)).unwrap_err());
    assert!(refused(1, &mut ledger).contains("deleted already (2023-11-14): why"));
    assert!(refused(2, &mut ledger).contains("no entry 2"), "a deletion cannot be deleted");
    // Run again, the trial is no new look, and has its details once more.
    ledger.record(&trial(1, 100), hour(3)).unwrap();
    let looks = looks_of(&ledger, &trial(1, 100));
    assert_eq!((looks.trials, looks.runs, looks.deleted, looks.entry), (1, 2, 1, 3));
    assert_eq!(TrialTally::new(&ledger).trials()[0].kept.map(|entry| entry.number), Some(3));
}

#[test]
fn a_line_that_was_taken_away_is_noticed_and_counts() {
    let dir = tempfile::tempdir().unwrap();
    drop(filled(&dir, (0..5).map(|seed| trial(seed, 100))));
    journal(&dir).tamper(b'j', 3, None);
    let mut ledger = opened(&dir);
    assert_eq!(ledger.problems(), ["line 3 was taken away"]);
    let looks = looks_of(&ledger, &trial(0, 100));
    assert_eq!((looks.trials, looks.runs, looks.missing, looks.problems, looks.independent), (5, 5, 1, 1, 5));
    ledger.record(&trial(9, 100), hour(9)).unwrap();
    drop(ledger);
    // The last line too.
    journal(&dir).tamper(b'j', 6, None);
    let ledger = opened(&dir);
    assert_eq!(ledger.problems(), ["line 3 was taken away", "line 6 was taken away"]);
    assert_eq!(looks_of(&ledger, &trial(0, 100)).trials, 6);
}

#[test]
fn a_line_that_was_changed_is_noticed_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    drop(filled(&dir, (0..3).map(|seed| Trial { p: 0.6, ..trial(seed, 100) })));
    let change = |number: u64| {
        let mut journal = journal(&dir);
        let inkstone_store::Slot::Whole(bytes) = journal.record(number).unwrap() else { panic!("it is there") };
        let changed = String::from_utf8(bytes).unwrap().replace("\"p\":0.6", "\"p\":0.001");
        journal.tamper(b'j', number, Some(changed.as_bytes()));
    };
    change(2);
    assert_eq!(opened(&dir).problems(), ["line 3 does not follow from the line before it: one of them was changed"]);
    change(3);
    let mut ledger = opened(&dir);
    assert_eq!(ledger.problems()[1], "line 3, the last one, was changed");
    ledger.record(&trial(9, 100), hour(9)).unwrap();
    drop(ledger);
    assert_eq!(opened(&dir).problems()[1], "line 4 does not follow from the line before it: one of them was changed");
}

#[test]
fn details_that_went_without_a_deletion_and_a_lost_note_are_noticed() {
    let dir = tempfile::tempdir().unwrap();
    drop(filled(&dir, (0..3).map(|seed| trial(seed, 100))));
    let mut files = journal(&dir);
    files.tamper(b'a', 1, None);
    files.tamper(b'a', 2, Some(&trial(7, 100).details.pack()));
    files.tamper(b'j', 3, None);
    files.tamper(b'l', 0, None);
    drop(files);
    let mut ledger = opened(&dir);
    let expected = [
        "the note of the last line was taken away or changed",
        "the details of entry 1 were taken away without a deletion",
        "the details of entry 2 were changed",
    ];
    assert_eq!(ledger.problems(), expected);
    ledger.record(&trial(9, 100), hour(9)).unwrap();
    drop(ledger);
    let ledger = opened(&dir);
    assert_eq!(ledger.problems()[0], "line 3 does not follow from the line before it: one of them was changed");
    assert_eq!(looks_of(&ledger, &trial(0, 100)).problems, 3);
}

#[test]
fn a_trial_without_a_portfolio_is_a_look_without_a_sharpe_ratio() {
    let dir = tempfile::tempdir().unwrap();
    let mut cell = Trial { kind: EntryKind::Cell, ..trial(50, 300) };
    cell.details.returns = None;
    let mut ledger = filled(&dir, [cell.clone(), trial(1, 300)]);
    let own = looks_of(&ledger, &cell);
    assert!(own.sharpe.is_nan() && own.deflated_sharpe.is_nan() && own.overfitting.is_nan() && own.p == 0.5);
    // Of one ratio there is no variance: luck's is taken, 1 / (days - 1).
    let looks = looks_of(&ledger, &trial(1, 300));
    let expected = expected_maximum(1.0 / 299.0, 2) * 242f64.sqrt();
    assert!((looks.expected_best - expected).abs() < 1e-12 && looks.trials == 2);
    // Trials of another time are looks, but cannot be compared by their returns.
    let short = trial(2, 100);
    ledger.record(&short, hour(3)).unwrap();
    assert_eq!(looks_of(&ledger, &trial(1, 300)).overfitting_trials, 1);
    assert_eq!(looks_of(&ledger, &short).overfitting_trials, 2);
}

#[test]
fn two_runs_that_record_at_once_wait_for_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let path = &path;
            scope.spawn(move || {
                for n in 0..5 {
                    record(path, &trial(10 * thread + n, 80), hour(n)).unwrap();
                }
            });
        }
    });
    let ledger = Ledger::open(&path).unwrap();
    assert_eq!((ledger.entries().len(), ledger.problems().len()), (20, 0));
    assert_eq!(TrialTally::new(&ledger).trials().len(), 20);
}

#[test]
fn hundreds_of_entries_are_counted_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = filled(&dir, (0..210).map(|seed| trial(seed, 300)));
    drop(ledger);
    let began = Instant::now();
    let looks = record(&dir.path().join("ledger"), &trial(999, 300), hour(999)).unwrap();
    assert_eq!((looks.trials, looks.overfitting_trials), (211, 200));
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

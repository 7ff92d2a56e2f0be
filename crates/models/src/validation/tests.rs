use chrono::{NaiveDate, NaiveDateTime, TimeDelta};
use proptest::prelude::*;

use super::*;

fn classes(class: Vec<u32>) -> Goal {
    let k = class.iter().max().map_or(0, |&c| c as usize + 1);
    Goal::Classes { class, names: (0..k).map(|c| format!("类{c}")).collect() }
}

fn moment(hour: i64) -> NaiveDateTime {
    NaiveDate::from_ymd_opt(2024, 1, 2).unwrap().and_hms_opt(9, 0, 0).unwrap() + TimeDelta::hours(hour)
}

fn by(by: FoldsBy, folds: usize) -> FoldParams {
    FoldParams { folds, by, embargo_days: 0 }
}

fn refused(goal: &Goal, rows: &FoldRows, params: &FoldParams) -> String {
    format!("{:#}", draw_folds(goal, rows, params, 1).unwrap_err())
}

#[test]
fn each_fold_has_its_share_of_each_class() {
    let goal = classes((0..103).map(|i| u32::from(i % 10 == 0)).collect());
    let splits = draw_folds(&goal, &FoldRows::default(), &by(FoldsBy::Class, 5), 7).unwrap();
    for split in &splits {
        let rare = split.test.iter().filter(|&&i| i % 10 == 0).count();
        assert!((2..=3).contains(&rare) && (20..=21).contains(&split.test.len()), "{split:?}");
    }
    let other = draw_folds(&goal, &FoldRows::default(), &by(FoldsBy::Class, 5), 8).unwrap();
    assert_ne!(splits, other, "the seed decides");
}

#[test]
fn a_class_that_cannot_be_on_both_sides_is_named() {
    let mut class = vec![0; 9];
    class.push(1);
    let error = refused(&classes(class.clone()), &FoldRows::default(), &by(FoldsBy::Class, 3));
    assert!(error.contains("class \"类1\" has 1 row") && error.contains("leave it out"), "{error}");
    // By group: both rows of the class are of one group, so that one training part has none of them.
    class[0] = 1;
    let groups = (0..10).map(|i| if i == 9 { 0 } else { i }).collect();
    let rows = FoldRows { groups, ..FoldRows::default() };
    let error = refused(&classes(class), &rows, &by(FoldsBy::Group, 3));
    assert!(error.contains("fold ") && error.contains("class \"类1\" has 0 rows"), "{error}");
}

#[test]
fn folds_that_cannot_be_are_refused_with_the_way_out() {
    let goal = classes(vec![0, 1, 0, 1]);
    let none = FoldRows::default();
    assert!(refused(&goal, &none, &by(FoldsBy::Class, 1)).contains("at least 2"));
    assert!(refused(&goal, &none, &by(FoldsBy::Class, 5)).contains("use fewer folds"));
    assert!(refused(&goal, &none, &by(FoldsBy::Group, 2)).contains("need the group of each row"));
    assert!(refused(&goal, &none, &by(FoldsBy::Time, 2)).contains("need the time of each row"));
    let rows = FoldRows { groups: vec![1, 1, 1, 1], ..FoldRows::default() };
    assert!(refused(&goal, &rows, &by(FoldsBy::Group, 2)).contains("a group is never split"));
    let spans = vec![(moment(5), moment(4)); 4];
    let error = refused(&goal, &FoldRows { spans, ..FoldRows::default() }, &by(FoldsBy::Time, 2));
    assert!(error.contains("after its label was known"), "{error}");
    // Labels so long that nothing is left beside a fold.
    let spans = (0..4).map(|i| (moment(i), moment(i + 1000))).collect();
    let error = refused(&goal, &FoldRows { spans, ..FoldRows::default() }, &by(FoldsBy::Time, 2));
    assert!(
        error.contains("0 rows to train") && error.contains("2 purged") && error.contains("shorter labels"),
        "{error}"
    );
}

#[test]
fn purging_and_embargo_drop_what_they_should() {
    // A row a day, its label known two days later; the middle one of three folds is days 3 to 5, known by day 7.
    let spans = (0..9).map(|day| (moment(24 * day), moment(24 * (day + 2)))).collect();
    let rows = FoldRows { spans, ..FoldRows::default() };
    let goal = Goal::Values(vec![0.0; 9]);
    let middle = |embargo_days| {
        let params = FoldParams { folds: 3, by: FoldsBy::Time, embargo_days };
        draw_folds(&goal, &rows, &params, 1).unwrap()[1].clone()
    };
    let split = middle(0);
    assert_eq!((split.test, split.train, split.purged), (vec![3, 4, 5], vec![0, 8], 4));
    let split = middle(1);
    assert_eq!((split.train, split.purged), (vec![0], 5), "day 8 begins within the embargo");
}

prop_compose! {
    fn rows_in_time()(
        rows in prop::collection::vec((0i64..400, 0i64..72, 0u64..30), 12..80)
    ) -> FoldRows {
        FoldRows {
            groups: rows.iter().map(|row| row.2).collect(),
            spans: rows.iter().map(|&(start, length, _)| (moment(start), moment(start + length))).collect(),
        }
    }
}

proptest! {
    #[test]
    fn every_row_tests_once_and_never_trains_its_own_fold(
        class in prop::collection::vec(0u32..3, 30..90), folds in 2usize..6, seed: u64
    ) {
        let goal = classes([class, vec![0, 1, 2, 0, 1, 2]].concat());
        let splits = draw_folds(&goal, &FoldRows::default(), &by(FoldsBy::Class, folds), seed).unwrap();
        let mut tested = vec![0; goal.rows()];
        for split in &splits {
            split.test.iter().for_each(|&i| tested[i] += 1);
            prop_assert!(split.train.iter().all(|i| split.test.binary_search(i).is_err()));
            prop_assert_eq!(split.train.len() + split.test.len(), goal.rows());
        }
        prop_assert!(tested.iter().all(|&n| n == 1));
    }

    #[test]
    fn no_group_is_on_both_sides(
        groups in prop::collection::vec(0u64..25, 40..120), class in prop::collection::vec(0u32..3, 120), seed: u64
    ) {
        let goal = Goal::Labels {
            labels: class[..groups.len()].iter().map(|&c| vec![c]).collect(),
            names: vec!["一".into(), "二".into(), "三".into()],
        };
        let rows = FoldRows { groups, ..FoldRows::default() };
        let Ok(splits) = draw_folds(&goal, &rows, &by(FoldsBy::Group, 4), seed) else { return Ok(()) };
        for split in splits {
            for i in &split.train {
                prop_assert!(split.test.iter().all(|j| rows.groups[*i] != rows.groups[*j]));
            }
        }
    }

    #[test]
    fn what_trains_overlaps_nothing_that_it_tests(rows in rows_in_time(), embargo_days in 0u32..4, grouped: bool) {
        let n = rows.spans.len();
        let rows = if grouped { rows } else { FoldRows { groups: Vec::new(), ..rows } };
        let params = FoldParams { folds: 3, by: FoldsBy::Time, embargo_days };
        // A draw that leaves a fold without rows is refused, which is right.
        let Ok(splits) = draw_folds(&Goal::Values(vec![0.0; n]), &rows, &params, 1) else { return Ok(()) };
        for split in splits {
            let last = split.test.iter().map(|&i| rows.spans[i].1).max().unwrap();
            for &i in &split.train {
                let (start, end) = rows.spans[i];
                for &j in &split.test {
                    let (tested, known) = rows.spans[j];
                    prop_assert!(end < tested || start > known);
                    prop_assert!(!grouped || rows.groups[i] != rows.groups[j]);
                }
                prop_assert!(start < last || start > last + TimeDelta::days(i64::from(embargo_days)));
            }
            prop_assert_eq!(split.train.len() + split.test.len() + split.purged + split.grouped, n);
        }
    }
}

#[test]
fn what_is_held_out_is_the_last_in_time_and_nothing_that_overlaps_it_trains() {
    let goal = classes((0..100).map(|i| i % 2).collect());
    // Rows come in any order; labels are known four hours later.
    let hour = |i: i64| (i * 37) % 100;
    let spans: Vec<_> = (0..100).map(|i| (moment(hour(i)), moment(hour(i) + 4))).collect();
    let groups = (0..100).map(|i| if hour(i) == 3 { 95 } else { hour(i) as u64 }).collect();
    let split = hold_out(&goal, &FoldRows { groups, spans: spans.clone() }, 1).unwrap();
    assert!(split.test.iter().all(|&i| hour(i as i64) >= 90) && split.test.len() == 10);
    assert!(split.train.iter().all(|&i| hour(i as i64) < 86 && hour(i as i64) != 3));
    assert_eq!((split.train.len(), split.purged, split.grouped), (85, 4, 1));
    // Without times: whole groups, else a share of each class.
    let groups: Vec<u64> = (0..100).map(|i| i / 5).collect();
    let split = hold_out(&goal, &FoldRows { groups: groups.clone(), spans: Vec::new() }, 1).unwrap();
    let held: Vec<u64> = split.test.iter().map(|&i| groups[i]).collect();
    assert!(split.train.iter().all(|&i| !held.contains(&groups[i])) && split.test.len() == 10);
    let split = hold_out(&goal, &FoldRows::default(), 1).unwrap();
    assert_eq!(split.test.iter().filter(|&&i| i % 2 == 0).count(), 5);
    // Times that do not differ part nothing.
    let same = FoldRows { groups: Vec::new(), spans: vec![spans[0]; 100] };
    assert_eq!(hold_out(&goal, &same, 1).unwrap(), split);
    let few = classes(vec![0, 1, 0]);
    assert!(hold_out(&few, &FoldRows::default(), 1).unwrap_err().to_string().contains("3 rows are too few"));
}

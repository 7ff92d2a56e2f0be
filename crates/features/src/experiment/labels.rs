//! Classification of labels: folds, predictions out of fold, and their figures.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use chrono::{Days, NaiveDateTime};
use serde_json::json;

use super::params::Params;
use inkstone_base::data::Report;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_models::{
    ClassReport, EstimatorParams, FoldFeatures, FoldParams, FoldRows, FoldsBy, Goal, Split, TrainingRows,
    area_under_curve, draw_folds, out_of_fold,
};

/// The documents that have a label, in the order of time.
#[derive(Clone, Debug, Default)]
pub struct Labelled {
    /// Numbers of the documents in the corpus, part after part.
    pub documents: Vec<usize>,
    /// Part and row of each document in the corpus.
    pub places: Vec<(usize, usize)>,
    /// Class number of each document.
    pub class: Vec<u32>,
    /// Names of the classes.
    pub names: Vec<String>,
    /// Time of publication of each document.
    pub times: Vec<NaiveDateTime>,
    /// Documents of one group are never on both sides of a fold.
    pub groups: Vec<u64>,
    /// By document, true if it is tested, where the sources decide that.
    pub test: Option<Vec<bool>>,
    /// By document, true if it may not train, as its text is also in the test.
    pub removed: Vec<bool>,
}

/// Predicted classes and their figures.
#[derive(Clone, Debug, Default)]
pub struct Called {
    /// The predicted class of each labelled document; none for those that only train.
    pub called: Vec<Option<u32>>,
    /// Log-odds of the second of two classes, else of the predicted class.
    pub scores: Vec<f32>,
    /// `macro_f1`, `accuracy`, `mcc`, and of two classes `auc`.
    pub figures: BTreeMap<String, f64>,
}

impl Labelled {
    /// The goal of an estimator.
    pub fn goal(&self) -> Goal {
        Goal::Classes { class: self.class.clone(), names: self.names.clone() }
    }

    /// Training and test documents: by the sources named, or folds of time. Documents of one moment cannot be parted by time; then
    /// groups are spread over the folds.
    pub fn splits(&self, params: &Params, seed: u64, report: &mut Report) -> Result<Vec<Split>> {
        let allowed = |i: &usize| !self.removed[*i];
        if let Some(test) = &self.test {
            let (test, train): (Vec<usize>, Vec<usize>) = (0..self.class.len()).partition(|&i| test[i]);
            let before = train.len();
            let train: Vec<usize> = train.into_iter().filter(allowed).collect();
            ensure!(
                !train.is_empty() && !test.is_empty(),
                "test_sources = {:?} 使训练集只有 {} 篇、测试集只有 {} 篇有标签的文档",
                "test_sources = {:?} leaves {} documents with a label to train and {} to test",
                params.test_sources,
                train.len(),
                test.len()
            );
            report.fact("folds_by", "source");
            return Ok(vec![Split { purged: 0, grouped: before - train.len(), train, test }]);
        }
        let mut days: Vec<_> = self.times.iter().map(NaiveDateTime::date).collect();
        days.dedup();
        let by = if days.len() >= 2 * params.folds { FoldsBy::Time } else { FoldsBy::Group };
        report.fact("folds_by", by);
        // A label that is known after the calendar ends is never known.
        let label_days = Days::new(u64::from(params.label_days));
        let known = |time: &NaiveDateTime| time.checked_add_days(label_days).unwrap_or(NaiveDateTime::MAX);
        let rows = FoldRows {
            groups: self.groups.clone(),
            spans: self.times.iter().map(|time| (*time, known(time))).collect(),
        };
        let folds = FoldParams { folds: params.folds, by, embargo_days: params.embargo_days };
        let splits = draw_folds(&self.goal(), &rows, &folds, seed)
            .context(Word("文档无法分折", "the documents cannot be parted into folds"))?;
        let sizes: Vec<_> = splits
            .iter()
            .map(|s| json!({"train": s.train.len(), "test": s.test.len(), "purged": s.purged, "grouped": s.grouped}))
            .collect();
        report.fact("folds", sizes);
        Ok(splits)
    }

    /// Predicts each document's class by a model that did not see its fold.
    pub fn call(&self, x: &impl FoldFeatures, splits: &[Split], params: &EstimatorParams, ctx: &Ctx) -> Result<Called> {
        let goal = self.goal();
        let spans = self.times.iter().map(|time| (*time, *time)).collect();
        let order = FoldRows { groups: self.groups.clone(), spans };
        let rows = TrainingRows { order: Some(&order), ..TrainingRows::default() };
        Ok(self.called(&ctx.install(|| out_of_fold(x, &goal, rows, splits, params, ctx))?))
    }

    /// The classes by scores of the documents out of fold: `[documents, 1 or classes]`, log-odds of the second of two classes or a score of
    /// each class; NaN for documents that no fold tests.
    pub fn called(&self, scores: &[f64]) -> Called {
        let n = self.class.len();
        let k = scores.len() / n.max(1);
        let call = |row: &[f64]| match row {
            row if row.iter().any(|v| v.is_nan()) => None,
            &[score] => Some(u32::from(score > 0.0)),
            row => (0..).zip(row).max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0))).map(|(c, _)| c),
        };
        let rows = || scores.chunks(k.max(1));
        let called: Vec<Option<u32>> = rows().map(call).collect();
        let tested: Vec<usize> = (0..n).filter(|&i| called[i].is_some()).collect();
        let truth: Vec<u32> = tested.iter().map(|&i| self.class[i]).collect();
        let predicted: Vec<u32> = tested.iter().filter_map(|&i| called[i]).collect();
        let report = ClassReport::new(&truth, &predicted, &self.names);
        let mut figures = BTreeMap::from([
            ("macro_f1".to_owned(), report.macro_average.f1),
            ("accuracy".to_owned(), report.accuracy),
            ("mcc".to_owned(), report.mcc),
        ]);
        if k == 1 {
            let of_tested: Vec<f64> = tested.iter().map(|&i| scores[i]).collect();
            let second: Vec<bool> = truth.iter().map(|&c| c == 1).collect();
            figures.extend(area_under_curve(&of_tested, &second).map(|auc| ("auc".to_owned(), auc)));
        }
        let shown = |(row, called): (&[f64], &Option<u32>)| match (row, called) {
            (&[score], Some(_)) => score as f32,
            (row, Some(c)) => row[*c as usize] as f32,
            _ => f32::NAN,
        };
        Called { scores: rows().zip(&called).map(shown).collect(), called, figures }
    }
}

/// Macro F1 of the predictions, each document counting as often as it was drawn; of classes that occur or were predicted.
pub(super) fn macro_f1(times: &[u32], class: &[u32], called: &[u32], classes: usize) -> f64 {
    let (mut right, mut actual, mut predicted) = (vec![0.0; classes], vec![0.0; classes], vec![0.0; classes]);
    for ((&n, &c), &s) in times.iter().zip(class).zip(called) {
        let n = f64::from(n);
        actual[c as usize] += n;
        predicted[s as usize] += n;
        if c == s {
            right[c as usize] += n;
        }
    }
    let f1 = |c: usize| 2.0 * right[c] / (actual[c] + predicted[c]);
    inkstone_base::stats::mean((0..classes).filter(|&c| actual[c] + predicted[c] > 0.0).map(f1))
}

#[cfg(test)]
mod tests {
    use chrono::NaiveDate;

    use super::*;
    use inkstone_models::{DenseRows, Method, StackedRows};

    fn labelled(n: usize) -> Labelled {
        let day =
            |i: usize| NaiveDate::from_ymd_opt(2024, 1, 1).unwrap().and_hms_opt(9, 0, 0).unwrap() + Days::new(i as u64);
        Labelled {
            documents: (0..n).collect(),
            places: (0..n).map(|row| (0, row)).collect(),
            class: (0..n as u32).map(|i| u32::from(i % 3 == 0)).collect(),
            names: vec!["down".into(), "up".into()],
            times: (0..n).map(day).collect(),
            groups: (0..n as u64).collect(),
            test: None,
            removed: vec![false; n],
        }
    }

    #[test]
    fn what_a_row_says_is_called_out_of_fold() {
        let labelled = labelled(60);
        let splits = labelled.splits(&Params::default(), 1, &mut Report::default()).unwrap();
        assert_eq!(splits.len(), 5);
        // The embargo keeps five days behind each fold out.
        assert!(splits[0].purged > 0 && splits[0].train.iter().all(|&i| i > 16));
        let ctx = Ctx::new(2, 1).unwrap();
        let goal_values: Vec<f32> = labelled.class.iter().map(|&c| 100.0 * c as f32).collect();
        let params = EstimatorParams { method: Method::Logistic, ..EstimatorParams::default() };
        let call = |values: Vec<f32>| {
            let rows = DenseRows::new(1, values).unwrap();
            labelled.call(&StackedRows::of_dense(&rows), &splits, &params, &ctx).unwrap()
        };
        let called = call(goal_values);
        assert_eq!(called.figures["macro_f1"], 1.0);
        assert_eq!(called.figures["auc"], 1.0);
        let nothing = call(vec![f32::NAN; 60]);
        assert!(nothing.figures["macro_f1"] < 0.45, "where nothing is known the larger class is called");
    }

    #[test]
    fn sources_part_training_from_test_and_shared_texts_do_not_train() {
        let mut labelled = labelled(10);
        labelled.test = Some((0..10).map(|i| i >= 6).collect());
        labelled.removed[1] = true;
        let splits = labelled.splits(&Params::default(), 1, &mut Report::default()).unwrap();
        assert_eq!((splits[0].train.as_slice(), splits[0].test.as_slice()), (&[0, 2, 3, 4, 5][..], &[6, 7, 8, 9][..]));
        labelled.test = Some(vec![false; 10]);
        let error = labelled.splits(&Params::default(), 1, &mut Report::default()).unwrap_err().to_string();
        assert!(error.contains("0 to test"), "{error}");
    }

    #[test]
    fn a_class_that_no_training_part_has_is_named() {
        let mut labelled = labelled(40);
        labelled.class = (0..40).map(|i| u32::from(i >= 36)).collect();
        let error = format!("{:#}", labelled.splits(&Params::default(), 1, &mut Report::default()).unwrap_err());
        assert!(error.contains("\"up\"") && error.contains("fold 5"), "{error}");
    }

    #[test]
    fn macro_f1_counts_documents_as_often_as_they_are_drawn() {
        let (class, called) = ([0, 0, 1, 1], [0, 1, 1, 1]);
        let report = ClassReport::new(&class, &called, &["a".into(), "b".into()]);
        assert!((macro_f1(&[1; 4], &class, &called, 2) - report.macro_average.f1).abs() < 1e-12);
        assert_eq!(macro_f1(&[1, 0, 2, 1], &class, &called, 2), 1.0);
        // A class that is neither there nor called does not count.
        assert_eq!(macro_f1(&[0, 0, 2, 1], &class, &called, 3), 1.0);
    }
}

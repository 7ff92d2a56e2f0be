//! Tone words from returns: each word's documents against all others.

use anyhow::Result;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::{InduceParams, InducedLexicon, InducedWord, Statistic, fdr};
use crate::LabelForm;
use crate::sparse::Csr;
use inkstone_base::job::Ctx;
use inkstone_base::stats::{average_ranks, mean, quantile, std};
use inkstone_base::{bail, ensure};

/// Rows counted between two looks at whether to stop.
const ROWS_PER_CHECK: usize = 4096;

/// Share of the labels that `winsorised` draws in at each end.
const WINSOR: f64 = 0.01;

/// Finds the words of the rows whose labels differ. `labels` go with `rows`, and `words` gives the word of each column; the
/// lexicon may come out empty. Its times are for the caller to set.
pub fn induce<W: AsRef<str>>(
    counts: &Csr,
    rows: &[usize],
    labels: &[f64],
    words: &[W],
    form: LabelForm,
    params: &InduceParams,
    ctx: &Ctx,
) -> Result<InducedLexicon> {
    fdr::check(params.fdr)?;
    ensure!(
        rows.len() == labels.len(),
        "{} 篇文档，却有 {} 个标签：须一一对应",
        "{} documents, but {} labels: one each is needed",
        rows.len(),
        labels.len()
    );
    ensure!(!rows.is_empty(), "没有带收益的文档可供学词", "there is no document with a return to learn words from");
    if let Some(at) = labels.iter().position(|y| !y.is_finite()) {
        bail!(
            "第 {} 篇文档的收益为 {}：学词之前请去掉没有收益的文档",
            "the return of document {} is {}: leave out documents without a return before learning words from them",
            rows[at],
            labels[at]
        );
    }
    let least = params.min_df.documents(rows.len() as u64, "min_df")?.max(2.0);
    let tests = Tests::count(counts, rows, &in_form(labels, form), params.statistic, ctx)?;
    let frequent = |id: &usize| tests.words[*id].documents as f64 >= least;
    let candidates: Vec<usize> = (0..counts.cols()).filter(frequent).collect();
    if candidates.is_empty() {
        bail!(
            "{} 个词中没有一个出现于 {} 篇文档中的至少 {least} 篇（min_df），最多的出现于 {} 篇：请降低 min_df",
            "no word of {} is in at least {least} of {} documents (min_df), the most frequent in {}: lower min_df",
            tests.words.iter().filter(|word| word.documents > 0).count(),
            rows.len(),
            tests.words.iter().map(|word| word.documents).max().unwrap_or(0)
        );
    }
    let tested: Vec<InducedWord> =
        candidates.iter().filter_map(|&id| tests.test(&tests.words[id], words[id].as_ref())).collect();
    let tested_words = tested.len();
    let by = match params.statistic {
        Statistic::Mean => "difference of mean labels in standard deviations (Welch's t)",
        Statistic::Odds => "log-odds of a label above 0 (marginal logistic regression)",
    };
    Ok(InducedLexicon {
        words: fdr::keep(tested, params.fdr, params.max_words),
        tested: tested_words,
        documents: rows.len() as u64,
        fitted_until: None,
        method: format!("induced from returns: {by}, false discovery rate {}", params.fdr),
    })
}

/// The labels in the form in which they are compared.
fn in_form(labels: &[f64], form: LabelForm) -> Vec<f64> {
    match form {
        LabelForm::Raw => labels.to_vec(),
        LabelForm::Winsorised => {
            let mut sorted = labels.to_vec();
            sorted.sort_by(f64::total_cmp);
            let (low, high) = (quantile(&sorted, WINSOR), quantile(&sorted, 1.0 - WINSOR));
            labels.iter().map(|y| y.clamp(low, high)).collect()
        }
        LabelForm::Ranked => {
            let n = labels.len() as f64;
            average_ranks(labels).into_iter().map(|rank| (rank - 0.5) / n - 0.5).collect()
        }
    }
}

/// Sums over the documents with a word.
#[derive(Clone, Copy, Default)]
struct ReturnSums {
    documents: u64,
    /// Sum of the labels less their mean.
    label: f64,
    square: f64,
    /// Documents with a label above 0.
    up: u64,
}

struct Tests {
    statistic: Statistic,
    all: ReturnSums,
    deviation: f64,
    words: Vec<ReturnSums>,
}

impl Tests {
    fn count(counts: &Csr, rows: &[usize], labels: &[f64], statistic: Statistic, ctx: &Ctx) -> Result<Tests> {
        let deviation = std(labels);
        let up = labels.iter().filter(|y| **y > 0.0).count() as u64;
        match statistic {
            Statistic::Mean => ensure!(
                labels.iter().any(|y| *y != labels[0]),
                "全部 {} 篇文档的标签相同：词无从区分",
                "the labels of all {} documents are equal: there is nothing that words could tell apart",
                labels.len()
            ),
            Statistic::Odds => ensure!(
                0 < up && up < labels.len() as u64,
                "全部 {} 篇文档的标签都{}：优势比需要正负两类；请从收益中减去市场均值（异常收益），或比较均值（statistic = \"mean\"）",
                "the labels of all {} documents are {}: odds need both sorts; take the market's mean out of the returns (abnormal returns), or compare means (statistic = \"mean\")",
                labels.len(),
                if up > 0 { "above 0" } else { "0 or below" }
            ),
        }
        // Less the mean, sums of squares lose no digits.
        let middle = mean(labels.iter().copied());
        let mut tests = Tests {
            statistic,
            all: ReturnSums::default(),
            deviation,
            words: vec![ReturnSums::default(); counts.cols()],
        };
        for (at, (&i, &label)) in rows.iter().zip(labels).enumerate() {
            if at % ROWS_PER_CHECK == 0 {
                ctx.check()?;
            }
            let add = |sums: &mut ReturnSums| {
                sums.documents += 1;
                sums.label += label - middle;
                sums.square += (label - middle).powi(2);
                sums.up += u64::from(label > 0.0);
            };
            add(&mut tests.all);
            counts.row(i).indices.iter().for_each(|&id| add(&mut tests.words[id as usize]));
        }
        Ok(tests)
    }

    /// The test of a word; none where it has no meaning, as for a word in every document.
    fn test(&self, with: &ReturnSums, word: &str) -> Option<InducedWord> {
        let without = ReturnSums {
            documents: self.all.documents - with.documents,
            label: self.all.label - with.label,
            square: self.all.square - with.square,
            up: self.all.up - with.up,
        };
        let (weight, statistic, p) = match self.statistic {
            Statistic::Mean => {
                let (t, freedom, difference) = welch(with, &without)?;
                let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
                (difference / self.deviation, t, 2.0 * student.cdf(-t.abs()))
            }
            Statistic::Odds => {
                if without.documents == 0 {
                    return None;
                }
                let (ratio, deviation) = log_odds(with, &without);
                let z = ratio / deviation;
                (ratio, z, 2.0 * Normal::standard().cdf(-z.abs()))
            }
        };
        Some(InducedWord { word: word.into(), weight, statistic, p, count: with.documents })
    }
}

/// Welch's t, its degrees of freedom (Satterthwaite), and the difference of the means.
fn welch(a: &ReturnSums, b: &ReturnSums) -> Option<(f64, f64, f64)> {
    let moments = |sums: &ReturnSums| {
        let n = sums.documents as f64;
        let mean = sums.label / n;
        (sums.documents >= 2).then(|| (n, mean, ((sums.square - n * mean * mean) / (n - 1.0)).max(0.0)))
    };
    let ((n, mean_a, var_a), (m, mean_b, var_b)) = (moments(a)?, moments(b)?);
    let (x, y) = (var_a / n, var_b / m);
    if x + y <= 0.0 {
        return None;
    }
    let freedom = (x + y).powi(2) / (x * x / (n - 1.0) + y * y / (m - 1.0));
    Some(((mean_a - mean_b) / (x + y).sqrt(), freedom, mean_a - mean_b))
}

/// Logarithm of the ratio of the odds of a label above 0, and its standard deviation; half a document is added to each of
/// the four counts (Haldane), so that a word without documents on one side has odds too.
fn log_odds(a: &ReturnSums, b: &ReturnSums) -> (f64, f64) {
    let cells = [a.up, a.documents - a.up, b.up, b.documents - b.up].map(|n| n as f64 + 0.5);
    let ratio = (cells[0] * cells[3] / (cells[1] * cells[2])).ln();
    (ratio, cells.iter().map(|n| 1.0 / n).sum::<f64>().sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_text::DfLimit;

    const LABELS: [f64; 8] = [0.03, 0.05, 0.04, 0.01, -0.02, -0.01, 0.02, -0.03];

    /// Word 0 in the first three documents, word 1 in four others, word 2 in all, word 3 in one.
    fn counts() -> Csr {
        let mut x = Csr::new(4);
        for words in [&[0, 2][..], &[0, 2], &[0, 2, 3], &[1, 2], &[1, 2], &[1, 2], &[2], &[1, 2]] {
            x.push_row(words.iter().map(|&j| (j, 2.0)));
        }
        x
    }

    fn run(labels: &[f64], form: LabelForm, params: InduceParams) -> Result<InducedLexicon> {
        let rows: Vec<usize> = (0..labels.len()).collect();
        induce(&counts(), &rows, labels, &["增长", "下滑", "公司", "独"], form, &params, &Ctx::new(1, 1)?)
    }

    fn all(statistic: Statistic) -> InduceParams {
        InduceParams { statistic, min_df: DfLimit::Count(2), fdr: 1.0, max_words: 0 }
    }

    #[test]
    fn words_are_tested_as_scipy_tests_them() {
        let found = run(&LABELS, LabelForm::Raw, all(Statistic::Mean)).unwrap();
        // scipy.stats.ttest_ind([.03, .05, .04], [.01, -.02, -.01, .02, -.03], equal_var=False), and so for the other word.
        let expected =
            [("下滑", -4.437443981720681, 0.0052139641863449245), ("增长", 4.210919564111738, 0.005782686977228514)];
        assert_eq!(found.tested, 2, "公司 is in every document, 独 in one");
        for (word, (name, t, p)) in found.words.iter().zip(expected) {
            assert_eq!(&*word.word, name);
            assert!((word.statistic - t).abs() < 1e-9 && (word.p - p).abs() < 1e-9, "{word:?}");
        }
        // Difference of means over the standard deviation of all labels.
        let weight = (0.04 - -0.006) / std(&LABELS);
        assert!((found.words[1].weight - weight).abs() < 1e-12);
    }

    #[test]
    fn odds_are_those_of_the_four_counts() {
        let found = run(&LABELS, LabelForm::Raw, all(Statistic::Odds)).unwrap();
        let word = found.words.iter().find(|word| &*word.word == "增长").unwrap();
        // With it 3 up and 0 down, without it 2 up and 3 down.
        let ratio = (3.5f64 * 3.5 / (0.5 * 2.5)).ln();
        let deviation = (1.0 / 3.5 + 1.0 / 0.5 + 1.0 / 2.5 + 1.0 / 3.5f64).sqrt();
        assert!((word.weight - ratio).abs() < 1e-12 && (word.statistic - ratio / deviation).abs() < 1e-12, "{word:?}");
    }

    #[test]
    fn what_cannot_be_tested_says_why() {
        let error_of = |labels: &[f64], params| run(labels, LabelForm::Raw, params).unwrap_err().to_string();
        let one = error_of(&[0.1; 8], all(Statistic::Mean));
        assert!(one.contains("all 8 documents are equal"), "{one}");
        let up = error_of(&[0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.1, 0.1], all(Statistic::Odds));
        assert!(up.contains("are above 0") && up.contains("abnormal"), "{up}");
        let rare = error_of(&LABELS, InduceParams { min_df: DfLimit::Count(9), ..all(Statistic::Mean) });
        assert!(rare.contains("min_df") && rare.contains("the most frequent in 8"), "{rare}");
        let mut labels = LABELS;
        labels[2] = f64::NAN;
        assert!(error_of(&labels, all(Statistic::Mean)).contains("the return of document 2 is NaN"));
        assert!(run(&[], LabelForm::Raw, all(Statistic::Mean)).unwrap_err().to_string().contains("no document"));
    }
}

//! The finding on a factor in words: the figures, and how far they can be trusted.
//!
//! The sign is stated as it is. A result that may be chance is called so, after all trials if the ledger has them. For a factor that looks
//! ahead, or that the linter failed, the paragraphs hold only the figures and the reason why they are no evidence.

use super::{FactorReport, words};
use crate::verdict::check_name;
use inkstone_base::figures::{count, number, percent, probability, rank_ic, ratio};
use inkstone_base::language::Language;
use inkstone_base::stats::mean;
use inkstone_lab::backtest::{IcSummary, LongShort};
use inkstone_lab::lint::Standing;

/// Above this p, chance is named as what can have done it; below its complement a deflated Sharpe ratio is.
const LEVEL: f64 = 0.05;

/// Trust in the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// Not at all: values were not known in time, or a check failed.
    None,
    /// Chance can have done it.
    Chance,
    /// Chance alone is unlikely to have done it.
    Stands,
}

/// Trust by the RankIC at the first horizon and by the checks.
pub(super) fn trust(page: &FactorReport<'_>) -> Trust {
    if page.outcome.lookahead || page.verdicts.iter().any(|verdict| verdict.standing == Standing::Failed) {
        return Trust::None;
    }
    let p = first(page).map_or(f64::NAN, |(_, summary)| summary.p);
    let q = page.looks.map_or(f64::NAN, |looks| looks.q);
    if p < LEVEL && (q.is_nan() || q < LEVEL) { Trust::Stands } else { Trust::Chance }
}

/// The first horizon with the summary of its RankIC, if there is one.
pub(super) fn first(page: &FactorReport<'_>) -> Option<(usize, IcSummary)> {
    let series = page.outcome.ic.first()?;
    Some((series.horizon, series.rank_ic_summary)).filter(|(_, summary)| summary.mean.is_finite())
}

/// The finding in paragraphs: the conclusion, the figures, their significance after all trials, and the checks.
pub(super) fn finding(page: &FactorReport<'_>, language: Language) -> Vec<String> {
    let mut first_of_all: Vec<String> = Vec::new();
    first_of_all.extend(page.outcome.lookahead.then(|| words::LOOKAHEAD.to(language).to_owned()));
    first_of_all.extend(failed(page, language));
    first_of_all.extend(judgement(page, language));
    let figures = match first(page) {
        Some((horizon, summary)) => correlation(horizon, &summary, language),
        None => words::NO_IC.to(language).to_owned(),
    };
    let figures = [Some(figures), Some(book(page, language)), legs(page, language)];
    let looks = looks(page, language);
    let checks = [Some(linted(page, language)), refused(page, language)];
    let joined = |sentences: Vec<String>| sentences.join(if language == Language::Zh { "" } else { " " });
    let paragraphs =
        [first_of_all, figures.into_iter().flatten().collect(), vec![looks], checks.into_iter().flatten().collect()];
    paragraphs.into_iter().map(joined).filter(|paragraph| !paragraph.is_empty()).collect()
}

fn refused(page: &FactorReport<'_>, language: Language) -> Option<String> {
    let refused = page.outcome.refused.values;
    (refused > 0 && !page.outcome.lookahead).then(|| match language {
        Language::Zh => format!("有 {} 个值在收益开始之前还不可知，已被拒绝。", count(refused)),
        Language::En => format!("{} values were refused: not known before their return began.", count(refused)),
    })
}

fn failed(page: &FactorReport<'_>, language: Language) -> Option<String> {
    let failed = page.verdicts.iter().filter(|verdict| verdict.standing == Standing::Failed);
    let names: Vec<&str> = failed.map(|verdict| check_name(verdict.check).to(language)).collect();
    (!names.is_empty()).then(|| match language {
        Language::Zh => {
            format!("✗ 未来函数检查不通过（{}）：在改好之前，以下数字不能作为因子有效的证据。", names.join("、"))
        }
        Language::En => format!(
            "✗ The linter failed the factor ({}): until that is mended, the figures below are no evidence for it.",
            names.join(", ")
        ),
    })
}

fn correlation(horizon: usize, summary: &IcSummary, language: Language) -> String {
    let IcSummary { n, mean, icir, t_nw, p, positive, .. } = summary;
    let (mean_is, icir) = (rank_ic(*mean), ratio(*icir));
    let (t, p, positive, n) = (ratio(*t_nw), probability(*p), percent(*positive), count(*n as u64));
    let held = words::days(horizon, language);
    match language {
        Language::Zh => {
            let sign = if *mean < 0.0 {
                "方向为负：值越高，其后的收益越低"
            } else {
                "方向为正：值越高，其后的收益越高"
            };
            format!(
                "持有 {held}的 RankIC 均值为 {mean_is}（{n} 个日期，ICIR {icir}，t(NW) {t}，p {p}，大于零的日期占 {positive}）；{sign}。"
            )
        }
        Language::En => {
            let sign = if *mean < 0.0 {
                "The sign is negative: higher values came before lower returns"
            } else {
                "The sign is positive: higher values came before higher returns"
            };
            format!(
                "Over {held} the mean RankIC is {mean_is} ({n} dates, ICIR {icir}, t(NW) {t}, p {p}, {positive} of the dates above zero). {sign}."
            )
        }
    }
}

fn book(page: &FactorReport<'_>, language: Language) -> String {
    let LongShort { dates, total, .. } = &page.outcome.long_short;
    if dates.is_empty() || !total.annual_return.is_finite() {
        return words::NO_BOOK.to(language).to_owned();
    }
    let (annual, sharpe) = (percent(total.annual_return), number(total.sharpe, 2));
    let fall = percent(total.max_drawdown);
    match language {
        Language::Zh => format!("做多顶层、做空底层的组合扣费后年化 {annual}，夏普 {sharpe}，最大回撤 {fall}。"),
        Language::En => format!(
            "Long the top layer and short the bottom one made {annual} a year after costs, Sharpe {sharpe}, max drawdown {fall}."
        ),
    }
}

/// Source of the return before costs.
fn legs(page: &FactorReport<'_>, language: Language) -> Option<String> {
    let (book, days) = (&page.outcome.long_short, f64::from(page.outcome.days_per_year));
    let [long, short] = [&book.long, &book.short].map(|leg| days * mean(leg.iter().copied()));
    let (long, short) = (Some(percent(long)).filter(|_| long.is_finite())?, percent(short));
    Some(match language {
        Language::Zh => format!("扣费前，多头平均每年 {long}，空头（名义）{short}。"),
        Language::En => {
            format!("Before costs the long leg made {long} a year on average, the short leg (notional) {short}.")
        }
    })
}

fn looks(page: &FactorReport<'_>, language: Language) -> String {
    let Some(looks) = page.looks else { return words::NO_LOOKS.to(language).to_owned() };
    let (trials, deflated) = (count(looks.trials), probability(looks.deflated_sharpe));
    let (best, q) = (number(looks.expected_best, 2), probability(looks.q));
    let overfitting = percent(looks.overfitting);
    match language {
        Language::Zh => format!(
            "在这个市场上共试验了 {trials} 次。纯运气下，其中最好的一次夏普预期为 {best}；DSR（真实夏普超过它的概率）为 {deflated}；RankIC 计入全部试验后的 q 为 {q}；回测过拟合概率为 {overfitting}。"
        ),
        Language::En => format!(
            "Trials on this market: {trials}. Luck alone gives the best of them an expected Sharpe of {best}; the DSR, the probability of exceeding it, is {deflated}; the RankIC's q over all trials is {q}; the probability of overfitting is {overfitting}."
        ),
    }
}

/// Conclusion; none where nothing was found.
fn judgement(page: &FactorReport<'_>, language: Language) -> Option<String> {
    let zh = language == Language::Zh;
    let trust = trust(page);
    if trust == Trust::None {
        let none =
            if zh { "因此不对这个因子作任何判断。" } else { "So no judgement of the factor is given." };
        return Some(none.to_owned());
    }
    let (_, summary) = first(page)?;
    let mut sentences = vec![match (trust, page.looks.is_some_and(|looks| looks.q.is_finite()), zh) {
        (Trust::Stands, true, true) => "计入全部试验后，RankIC 不像只是偶然。",
        (Trust::Stands, true, false) => "Over all trials, the RankIC is unlikely to be chance alone.",
        (Trust::Stands, false, true) => "若只做过这一次检验，RankIC 不像只是偶然；但 p 值没有为多次试验校正。",
        (Trust::Stands, false, false) => {
            "If this was the only test, the RankIC is unlikely to be chance alone; p is not corrected for several trials."
        }
        (_, _, true) => "RankIC 可能只是偶然。",
        (_, _, false) => "The RankIC may be chance.",
    }];
    let book = &page.outcome.long_short;
    let deflated = page.looks.map(|looks| looks.deflated_sharpe).filter(|share| share.is_finite());
    if book.dates.is_empty() {
        return Some(sentences.concat());
    }
    let earned = book.total.sharpe > 0.0;
    if !earned {
        sentences.push(match (summary.mean < 0.0, zh) {
            (true, true) => "组合扣费后没有盈利；方向为负，反向持有是另一次试验，须单独回测，成本照付。",
            (true, false) => {
                "The portfolio earned nothing after costs; with a negative sign, holding the reverse is a trial of its own, which pays costs too."
            }
            (false, true) => "组合扣费后没有盈利。",
            (false, false) => "The portfolio earned nothing after costs.",
        });
    } else if let Some(share) = deflated {
        sentences.push(match (share >= 1.0 - LEVEL, zh) {
            (true, true) => "计入全部试验后，组合的夏普仍高于运气所能给的。",
            (true, false) => "The portfolio's Sharpe exceeds the expected maximum of the trials under the null.",
            (false, true) => "组合的夏普可能只是多次试验中最走运的一次。",
            (false, false) => "The portfolio's Sharpe may be that of the luckiest of the trials.",
        });
    }
    Some(sentences.join(if zh { "" } else { " " }))
}

fn linted(page: &FactorReport<'_>, language: Language) -> String {
    if page.verdicts.is_empty() {
        return words::NO_VERDICTS.to(language).to_owned();
    }
    let number = |standing| page.verdicts.iter().filter(|verdict| verdict.standing == standing).count();
    let [passed, warned, failed, skipped] =
        [Standing::Passed, Standing::Warned, Standing::Failed, Standing::Skipped].map(number);
    match language {
        Language::Zh => {
            format!("未来函数检查：{passed} 项通过，{warned} 项留意，{failed} 项不通过，{skipped} 项未做。")
        }
        Language::En => {
            format!("Checks for look-ahead: {passed} passed, {warned} warned, {failed} failed, {skipped} not done.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Made, verdicts};
    use super::*;
    use inkstone_lab::ledger::Looks;

    /// First paragraph on results over 60 days, changed by `change`.
    fn first_of_all(change: impl Fn(&mut Made), looks: bool, language: Language) -> String {
        let mut made = Made::new(60);
        let summary = &mut made.outcome.ic[0].rank_ic_summary;
        (summary.mean, summary.p) = (-0.031, 0.002);
        made.outcome.long_short.total.sharpe = 1.2;
        change(&mut made);
        let mut page = made.page();
        page.looks = page.looks.filter(|_| looks);
        finding(&page, language).swap_remove(0)
    }

    #[test]
    fn what_was_found_is_told_in_paragraphs() {
        let mut made = Made::new(60);
        let summary = &mut made.outcome.ic[0].rank_ic_summary;
        *summary = IcSummary { n: 60, mean: -0.0312, icir: -0.34, t_nw: -2.51, p: 0.0148, positive: 0.383, ..*summary };
        let book = &mut made.outcome.long_short;
        (book.total.annual_return, book.total.sharpe, book.total.max_drawdown) = (0.081, 0.77, -0.123);
        book.long = vec![0.0001];
        book.short = vec![f64::NAN, 0.0003];
        let sentences = Language::ALL.map(|language| finding(&made.page(), language).join("\n")).join("\n\n");
        insta::assert_snapshot!(sentences);
    }

    #[test]
    fn chance_is_called_chance() {
        let sentences = first_of_all(|made| made.outcome.ic[0].rank_ic_summary.p = 0.05, true, Language::En);
        assert!(sentences.starts_with("The RankIC may be chance."), "{sentences}");
        let sentences = first_of_all(|made| made.looks.q = 0.2, true, Language::Zh);
        assert!(sentences.starts_with("RankIC 可能只是偶然。"), "{sentences}");
        let sentences = first_of_all(|made| made.outcome.ic[0].rank_ic_summary.p = f64::NAN, false, Language::En);
        assert!(sentences.starts_with("The RankIC may be chance."), "{sentences}");
        let sentences = first_of_all(|_| {}, true, Language::En);
        assert!(
            sentences.ends_with("The portfolio's Sharpe may be that of the luckiest of the trials."),
            "{sentences}"
        );
        let sentences = first_of_all(|made| made.looks.deflated_sharpe = 0.97, true, Language::En);
        assert!(sentences.ends_with("exceeds the expected maximum of the trials under the null."), "{sentences}");
    }

    #[test]
    fn how_often_one_looked_is_told_where_it_is_known_and_where_not() {
        let sentences = first_of_all(|_| {}, false, Language::En);
        assert!(sentences.contains("p is not corrected for several trials"), "{sentences}");
        let sentences =
            first_of_all(|made| made.looks = Looks { q: f64::NAN, ..made.looks.clone() }, true, Language::Zh);
        assert!(sentences.contains("p 值没有为多次试验校正"), "{sentences}");
    }

    #[test]
    fn a_correlation_that_earns_nothing_is_no_success() {
        let sentences = first_of_all(|made| made.outcome.long_short.total.sharpe = -0.4, true, Language::En);
        assert!(
            sentences.contains("earned nothing after costs; with a negative sign, holding the reverse is a trial"),
            "{sentences}"
        );
        let lost = |made: &mut Made| {
            made.outcome.ic[0].rank_ic_summary.mean = 0.02;
            made.outcome.long_short.total.sharpe = f64::NAN;
        };
        let sentences = first_of_all(lost, true, Language::Zh);
        assert!(sentences.ends_with("组合扣费后没有盈利。"), "{sentences}");
    }

    #[test]
    fn what_looks_ahead_or_failed_is_not_judged() {
        let failed = |made: &mut Made| {
            made.verdicts = verdicts();
            made.verdicts[1].standing = Standing::Failed;
        };
        let sentences = first_of_all(failed, true, Language::En);
        assert_eq!(
            sentences,
            "✗ The linter failed the factor (shuffled dates): until that is mended, the figures below are no evidence for it. \
             So no judgement of the factor is given."
        );
        let sentences = first_of_all(|made| made.outcome.lookahead = true, true, Language::Zh);
        assert!(sentences.starts_with("⚠ 未来函数") && sentences.ends_with("不对这个因子作任何判断。"), "{sentences}");
    }
}

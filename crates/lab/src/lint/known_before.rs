//! Each value was known strictly before the return that it is paired with began.
//!
//! The return of a value of date `t` begins on date `t + delay`, at 09:15 (open: the auction), 09:30 (vwap) or 15:00
//! (close). The number is how many values were known at that moment or later, the limit 0. They fail where the backtest
//! uses them (look-ahead allowed, or the preset of alphalens), and where they are more than it refuses quietly
//! (`max_refused`): then the alignment itself is wrong. Fewer are refused one by one, which is a warning: another tool
//! would use them. A known-at time earlier than the publication of the text is no proof, and fails. Times that were not
//! given but taken as 15:00 of the date warn.

use chrono::NaiveDateTime;
use serde_json::json;

use crate::lint::power::alignment;
use crate::lint::{Check, Standing, Subject, Verdict};

/// Examples of late values that are kept.
const EXAMPLES: usize = 5;

pub(super) fn check(subject: &Subject<'_>) -> Verdict {
    let (factor, market) = (subject.factor, subject.market);
    let (mut values, mut late) = (0u64, 0u64);
    let mut worst: Option<(i64, [String; 4])> = None;
    let mut examples = Vec::new();
    for t in 0..market.dates().len() {
        let Some(begins) = subject.backtest.trade_at(market, t) else { continue };
        for i in (0..market.codes().len()).filter(|&i| !factor.values.at(t, i).is_nan()) {
            values += 1;
            let known = factor.known_at(t, i);
            if known.is_some_and(|known| known < begins) {
                continue;
            }
            late += 1;
            let text = |time: Option<NaiveDateTime>| time.map_or("never".to_owned(), |time| time.to_string());
            let example =
                || [market.dates()[t].to_string(), market.codes()[i].to_string(), text(known), begins.to_string()];
            let by = known.map_or(i64::MAX, |known| (known - begins).num_seconds());
            if worst.as_ref().is_none_or(|(most, _)| by > *most) {
                worst = Some((by, example()));
            }
            if examples.len() < EXAMPLES {
                let [date, code, known_at, trade_at] = example();
                examples.push(json!({"date": date, "code": code, "known_at": known_at, "trade_at": trade_at}));
            }
        }
    }
    let backdated = subject.texts.as_ref().map_or(0, |texts| {
        texts.counted().filter(|(signal, document)| signal.known_at < document.published_at).count() as u64
    });
    let used = late > 0 && subject.backtest.uses_late_values();
    let wrong = late as f64 > subject.backtest.max_refused * values as f64;
    let standing = match () {
        () if used || wrong || backdated > 0 => Standing::Failed,
        () if late > 0 || subject.times_assumed => Standing::Warned,
        () => Standing::Passed,
    };
    let (zh, en) = alignment(subject.backtest);
    let (mut zh, mut en) = match &worst {
        None => (
            format!("{values} 个值均在其对应收益（{zh}）开始之前已知。"),
            format!("All {values} values were known before the return that they are paired with began ({en})."),
        ),
        Some((by, [date, code, known, begins])) => {
            let lateness = *by as f64 / 3600.0;
            let (fate, done) = match (used, wrong) {
                (true, _) => (
                    "回测用了它们，所得预测力有一部分是未来信息。请推迟交易（[backtest] delay、price），并去掉 allow_lookahead。",
                    "The backtest uses them, so part of its predictive power is the future. Trade later ([backtest] \
                     delay, price) and drop allow_lookahead.",
                ),
                (false, true) => (
                    "超出 max_refused，说明对齐方式本身有误，请推迟交易（[backtest] delay、price）。",
                    "They are more than max_refused, so the alignment itself is wrong: trade later ([backtest] delay, \
                     price).",
                ),
                (false, false) => (
                    "回测逐一拒绝了它们，结果未受影响；但导出给其他工具时须同样剔除。",
                    "The backtest refuses each of them, so its figures stand; other tools must leave them out as well.",
                ),
            };
            (
                format!(
                    "{values} 个值中有 {late} 个在其收益（{zh}）开始之后才已知，最晚的迟 {lateness:.1} 小时：\
                     {code} 在 {date} 的值于 {known} 已知，而收益始于 {begins}。{fate}"
                ),
                format!(
                    "{late} of {values} values were known too late for the return that they are paired with ({en}), \
                     the worst by {lateness:.1} hours: that of {code} on {date} was known at {known}, its return \
                     begins at {begins}. {done}"
                ),
            )
        }
    };
    if backdated > 0 {
        zh += &format!("另有 {backdated} 条记录的可知时间早于文本的发布时间，不足为证；请改用发布时间。");
        en += &format!(
            " {backdated} signals claim to have been known before their text was published, which proves nothing: \
             take the time of publication."
        );
    }
    if subject.times_assumed {
        zh += "该表没有 known_at 列，时间按所在日期的 15:00:00 计；若日期指的是交易日，请补上 known_at。";
        en += " The table has no column known_at, so 15:00:00 of the date was taken; if its dates are those of the \
         trade, give known_at.";
    }
    let mut verdict = Verdict::of(Check::KnownBefore, standing, (late + backdated) as f64, Some(0.0), (zh, en))
        .with("values", values)
        .with("late", late)
        .with("backdated", backdated)
        .with("used", used)
        .with("times_assumed", subject.times_assumed)
        .with("examples", examples);
    if let Some((by, _)) = worst {
        verdict = verdict.with("worst_lateness_hours", by as f64 / 3600.0);
    }
    verdict
}

//! Models and vocabularies were fitted on text of the past alone.
//!
//! The number is the share of signals whose model had seen data (labels included) of the moment at which their value is
//! first traded, or of later; the limit is 0. It fails where known-at times do not say so, as nothing then refuses
//! these values, and where the backtest was told to use them all the same. Where known-at times bear `fitted_until` the
//! backtest refuses them, which is a warning: those dates are lost. The gap between dates that the model had seen and
//! dates that it had not is told beside it, with all values used.

use anyhow::Result;

use crate::lint::power::{Mean, Power};
use crate::lint::{Check, Params, Standing, Subject, Verdict, no_documents};
use inkstone_base::job::Ctx;

/// Dates that either side of the comparison needs.
const FEWEST: usize = 20;

pub(super) fn check(subject: &Subject<'_>, power: &Power<'_>, params: &Params, ctx: &Ctx) -> Result<Verdict> {
    let Some(texts) = &subject.texts else { return Ok(no_documents(Check::FutureVocabulary)) };
    let market = subject.market;
    let days = market.dates().len();
    let (mut signals, mut fitted, mut future, mut hidden) = (0u64, 0u64, 0u64, 0u64);
    let mut by_date = vec![(0u64, 0u64); days];
    for (signal, document) in texts.counted() {
        signals += 1;
        let date = signal.date as usize;
        by_date[date].0 += 1;
        // What several models have a part in is known when the last of them is.
        let latest = texts.models(signal, document).map(|model| model.fitted_until).max();
        let (Some(latest), Some(traded)) = (latest, subject.backtest.trade_at(market, date)) else { continue };
        fitted += 1;
        if latest >= traded {
            future += 1;
            by_date[date].1 += 1;
            hidden += u64::from(signal.known_at < latest);
        }
    }
    let share = future as f64 / signals.max(1) as f64;
    let standing = match () {
        () if hidden > 0 || (future > 0 && subject.backtest.uses_late_values()) => Standing::Failed,
        () if future > 0 => Standing::Warned,
        () => Standing::Passed,
    };

    // What all values give, on the dates that the models had seen and on those that they had not.
    let (mut seen, mut unseen) = (Mean::default(), Mean::default());
    if future > 0 {
        let series = power.ranked.series(&power.ranked.all_rows(subject.factor, ctx)?, ctx)?;
        let side = |wanted: bool| {
            let is = |t: usize| by_date[t].0 > 0 && (2 * by_date[t].1 > by_date[t].0) == wanted;
            let of: Vec<f64> = (0..days).map(|t| if is(t) { series[t] } else { f64::NAN }).collect();
            Mean::of(&of, power.overlap, params, ctx)
        };
        (seen, unseen) = (side(true)?, side(false)?);
    }
    let compared = seen.n >= FEWEST && unseen.n >= FEWEST;
    let percent = 100.0 * share;
    let mut finding = match standing {
        Standing::Passed if fitted == 0 => (
            format!("{signals} 条记录的取值不来自任何拟合过的模型，无从得知未来。"),
            format!("None of {signals} signals comes from a fitted model, so none can know the future."),
        ),
        Standing::Passed => (
            format!("{fitted} 条由模型给出的记录，其模型拟合所用数据均早于交易。"),
            format!(
                "All {fitted} signals that come from a model were given by one fitted on data from before the trade."
            ),
        ),
        Standing::Warned => (
            format!(
                "{percent:.1} % 的记录（{future} 条）由交易之后才拟合好的模型给出；可知时间如实记载，回测会拒绝它们，\
                 这些日期因此无法检验。请改用滚动拟合（walk_forward、vintages）或更早的 fit_until。"
            ),
            format!(
                "{percent:.1} % of the signals ({future}) come from a model that was fitted on data from after the \
                 trade. Their known-at times say so and the backtest refuses them, so these dates cannot be tested: \
                 fit step by step (walk_forward, vintages), or up to an earlier fit_until."
            ),
        ),
        _ => (
            format!(
                "{percent:.1} % 的记录（{future} 条）由见过交易之后数据的模型给出，\
                 其中 {hidden} 条的可知时间未反映这一点，回测因此用到了未来的词汇或标签。\
                 请改用滚动拟合（walk_forward、vintages），并令可知时间不早于 fitted_until。"
            ),
            format!(
                "{percent:.1} % of the signals ({future}) come from a model that had seen data from after the trade, \
                 {hidden} of them with a known-at time that does not say so: words or labels of the future are in the \
                 figures. Fit step by step (walk_forward, vintages), and let values be known no earlier than \
                 fitted_until."
            ),
        ),
    };
    if compared {
        let p = seen.p_against(&unseen);
        finding.0 +=
            &format!("模型见过的日期 RankIC 为 {:+.4}，未见过的为 {:+.4}（差异 p = {p:.3}）。", seen.mean, unseen.mean);
        finding.1 += &format!(
            " The RankIC is {:+.4} on dates that the model had seen and {:+.4} on those that it had not (difference p \
             = {p:.3}).",
            seen.mean, unseen.mean
        );
    }
    let mut verdict = Verdict::of(Check::FutureVocabulary, standing, share, Some(0.0), finding)
        .with("signals", signals)
        .with("fitted", fitted)
        .with("future", future)
        .with("hidden", hidden);
    if compared {
        verdict = verdict
            .with("rank_ic_seen", seen.mean)
            .with("rank_ic_unseen", unseen.mean)
            .with("dates_seen", seen.n)
            .with("dates_unseen", unseen.n)
            .with("p", seen.p_against(&unseen));
    }
    Ok(verdict)
}

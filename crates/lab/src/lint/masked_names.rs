//! What remains when names of companies are masked.
//!
//! A model that knows a company by name may know what became of it (Glasserman and Lin 2023, who also found the
//! opposite: names can distract). The number is the share of the mean RankIC that is lost with masked names, over the
//! dates that both factors have; where the bootstrap does not call the loss chance and it exceeds `max_share`, the
//! check warns. It never fails: a name also tells the industry, and a model of the past may know that.

use anyhow::{Context, Result};

use crate::lint::power::{Mean, Power, lost};
use crate::lint::{Check, Masked, Params, Standing, Subject, Verdict, nothing_to_break};
use inkstone_base::job::Ctx;

pub(super) fn check(subject: &Subject<'_>, power: &Power<'_>, params: &Params, ctx: &Ctx) -> Result<Verdict> {
    let masked = match subject.masked {
        Masked::Factor(masked) => masked,
        Masked::Always => {
            let finding = (
                "模型读到的文本本来就遮盖了公司名，预测力不可能来自公司名。".into(),
                "The model reads texts in which names are masked anyway, so the predictive power cannot hang on names."
                    .into(),
            );
            let limit = Some(params.max_share);
            return Ok(Verdict::of(Check::MaskedNames, Standing::Passed, 0.0, limit, finding));
        }
        Masked::Unknown => {
            let finding = (
                "没有遮盖公司名的对照因子，此项未检查；上下文模型请设 [lint] mask_contextual = true，其余请用项目中的特征。".into(),
                "There is no factor of texts with masked names to compare with, so this was not checked; for a \
                 contextual model set [lint] mask_contextual = true, else make the factor of a project's features."
                    .into(),
            );
            return Ok(Verdict::skipped(Check::MaskedNames, finding));
        }
    };
    if !power.is_there(params) {
        return Ok(nothing_to_break(Check::MaskedNames, power));
    }
    let other = power.of(masked, ctx).context("cannot use the factor of masked names")?;
    let (losses, whole) = lost(&power.series, &other);
    let loss = Mean::of(&losses, power.overlap, params, ctx)?;
    let share = loss.mean / whole.abs();
    if loss.n < 2 || share.is_nan() {
        let finding = (
            "两个因子没有共同的日期，无法比较；请让二者覆盖相同的文档。".into(),
            "The two factors have no dates in common, so they cannot be compared; let both read the same documents."
                .into(),
        );
        return Ok(Verdict::skipped(Check::MaskedNames, finding));
    }
    let chance = loss.p > params.alpha();
    let standing = if !chance && share > params.max_share { Standing::Warned } else { Standing::Passed };
    let left = whole - loss.mean * whole.signum();
    let (zh, en) = match standing {
        Standing::Warned => (
            "：模型可能记得这些公司后来如何。请以遮盖公司名的因子为准，或改用拟合截止更早的模型。",
            ": the model may remember what became of these companies. Go by the masked factor, or take a model fitted \
             earlier.",
        ),
        _ if !chance && share < 0.0 => {
            ("：公司名反而是干扰，不妨遮盖。", ": names distract rather than help, and may as well be masked.")
        }
        _ => ("，预测力并不依赖公司名。", ", so the predictive power does not hang on names."),
    };
    let figure = (
        format!(
            "遮盖公司名后 RankIC 从 {whole:+.4} 变为 {left:+.4}，失去 {:.0} %（差 {:+.4}，区间 {:+.4} 至 {:+.4}，p = {:.3}）",
            100.0 * share,
            loss.mean,
            loss.interval.low,
            loss.interval.high,
            loss.p
        ),
        format!(
            "With names masked the RankIC goes from {whole:+.4} to {left:+.4}: {:.0} % is lost ({:+.4}, interval \
             {:+.4} to {:+.4}, p = {:.3})",
            100.0 * share,
            loss.mean,
            loss.interval.low,
            loss.interval.high,
            loss.p
        ),
    );
    let finding = (figure.0 + zh, figure.1 + en);
    Ok(Verdict::of(Check::MaskedNames, standing, share, Some(params.max_share), finding)
        .with("rank_ic", whole)
        .with("rank_ic_masked", left)
        .with("lost", loss.mean)
        .with("low", loss.interval.low)
        .with("high", loss.interval.high)
        .with("p", loss.p)
        .with("dates", loss.n))
}

//! Predictive power that remains when names of companies are masked.
//!
//! A model that knows a company by name may know what became of it (Glasserman and Lin 2023, who also found the
//! opposite: names can distract). The number is the share of the mean RankIC that is lost with masked names, over the
//! dates that both factors have; where the bootstrap does not call the loss chance and it exceeds `max_share`, the
//! check warns. It never fails: a name also tells the industry, and a model of the past may know that.

use anyhow::{Context, Result};

use crate::lint::finding::{MaskedNames, MaskedNamesContext};
use crate::lint::power::Power;
use crate::lint::{Check, Finding, Masked, Params, Standing, Subject, Verdict, no_documents, nothing_to_break};
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;

pub(super) fn check(subject: &Subject<'_>, power: &Power<'_>, params: &Params, ctx: &Ctx) -> Result<Verdict> {
    let limit = Some(params.max_share);
    let masked = match subject.masked {
        Masked::Factor(masked) => masked,
        Masked::Always => {
            return Ok(Verdict::new(Check::MaskedNames, Standing::Passed, 0.0, limit, Finding::AlwaysMasked));
        }
        Masked::NoTexts => {
            return Ok(Verdict::new(Check::MaskedNames, Standing::Passed, 0.0, limit, Finding::NoModelReadsTexts));
        }
        Masked::TooLittle => return Ok(Verdict::skipped(Check::MaskedNames, Finding::TooLittleMaskedText)),
        Masked::Unknown if subject.texts.is_none() && subject.factors.is_some() => {
            return Ok(no_documents(Check::MaskedNames, subject));
        }
        Masked::Unknown => return Ok(Verdict::skipped(Check::MaskedNames, Finding::NoMaskedFactor)),
    };
    if !power.is_there(params) {
        return Ok(nothing_to_break(Check::MaskedNames, power));
    }
    let variant = power
        .series_of(masked, ctx)
        .context(Word("无法使用遮盖公司名后的因子", "cannot use the factor of masked names"))?;
    let Some(lost) = power.lost_by(&variant, params, ctx)? else {
        return Ok(Verdict::skipped(Check::MaskedNames, Finding::NoCommonDates));
    };
    let warned = !lost.chance && lost.share > params.max_share;
    let standing = if warned { Standing::Warned } else { Standing::Passed };
    let finding = Finding::MaskedNames(MaskedNames {
        rank_ic_masked: lost.left,
        lost: lost.mean,
        loss: lost.figures,
        context: MaskedNamesContext { chance: lost.chance },
    });
    Ok(Verdict::new(Check::MaskedNames, standing, lost.share, limit, finding))
}

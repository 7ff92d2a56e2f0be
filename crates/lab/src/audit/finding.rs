//! Verdicts of the audit, as data. `inkstone-report` makes sentences of them.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::lint::Standing;

/// The check for one kind of fraud.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditCheck {
    /// Predictive power that comes from the return of the value's own day.
    SameDay,
    /// Values that hold returns of the days after their date.
    BarsAhead,
    /// Values that were known after the trade.
    KnownAt,
    /// Values before any document of their name was published.
    Documents,
    /// Names that live to the end alone.
    Survivors,
    /// Profit of names that could not be bought.
    Untradable,
    /// Test dates within what the model was trained on.
    TrainTest,
    /// A t that takes returns of several days for independent ones.
    OverlappingReturns,
    /// Returns beside the values that the prices do not have.
    StatedReturns,
    /// Values that change when the future is cut off.
    CutFuture,
    /// The best of several that were tried.
    Selected,
    /// A sign that was turned in the middle of the sample.
    Flipped,
    Duplicates,
    /// Figures before costs.
    Costs,
    /// A claim that no alignment reproduces.
    Reproduced,
    /// Dates or names left out that would have lost.
    Window,
}

/// The finding of a check. The name says which sentence tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditCase {
    /// The values have too few dates, or dates too few names, to be tested.
    TooFewDates,
    SameDayClaimed,
    SameDayTraded,
    SameDayKnown,
    SameDayWide,
    SameDayFine,
    AheadFraud,
    AheadExplained,
    AheadFine,
    KnownLate,
    KnownFine,
    KnownAbsent,
    BeforeDocuments,
    BesideDocuments,
    DocumentsFine,
    DocumentsAbsent,
    SurvivorsOnly,
    SurvivorsInPrices,
    SurvivorsFine,
    SurvivorsUnknown,
    UntradableProfit,
    UntradableFine,
    UntradableNothing,
    TrainedOnTest,
    TrainLabelsReach,
    TrainFine,
    TrainUnknown,
    OverlapClaimed,
    OverlapWide,
    OverlapFine,
    OverlapNone,
    StatedEarly,
    StatedOther,
    StatedAltered,
    StatedAtClose,
    StatedDiffer,
    StatedFine,
    StatedAbsent,
    ChangedSince,
    EarlierFine,
    EarlierDisjoint,
    ScaledByName,
    ScaledAsWhole,
    ScaledFine,
    SelectedLuck,
    SelectedWeak,
    SelectedFine,
    SelectedUnknown,
    SelectedNothing,
    FlippedSign,
    FlippedFine,
    FlippedUnknown,
    CopiedNames,
    RepeatedRows,
    FrozenDates,
    DuplicatesFine,
    CostsLeftOut,
    CostsBeyond,
    CostsEat,
    CostsFine,
    CostsNothing,
    NotReproduced,
    ReproducedAhead,
    ReproducedFine,
    ReproducedNothing,
    LosersLeftOut,
    WindowFine,
    WindowNone,
}

/// A figure and its unit.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Measured {
    Correlation(f64),
    /// A share, 0.1 = 10 %.
    Share(f64),
    /// A t, a ratio, a number of times.
    Ratio(f64),
    Probability(f64),
    Count(u64),
    Text(String),
}

/// End of a check, and its measurements.
#[derive(Clone, Debug, Serialize)]
pub struct AuditVerdict {
    pub check: AuditCheck,
    pub standing: Standing,
    pub case: AuditCase,
    pub figures: BTreeMap<&'static str, Measured>,
}

impl AuditVerdict {
    pub(super) fn new<const N: usize>(
        check: AuditCheck,
        standing: Standing,
        case: AuditCase,
        figures: [(&'static str, Measured); N],
    ) -> AuditVerdict {
        AuditVerdict { check, standing, case, figures: figures.into() }
    }
}

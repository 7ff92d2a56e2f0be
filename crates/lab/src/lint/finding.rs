//! Measurements of the checks, as data. `inkstone-report` makes sentences of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use inkstone_market::Price;

/// Measurements of one check.
///
/// All members are figures, except those of `context`, which a sentence names beside the figures.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "case", rename_all = "kebab-case")]
pub enum Finding {
    /// The factor came as a table, without the documents that the check reads.
    NoDocuments,
    /// The factor's expression reads no documents itself: it is made of prices and of these factors.
    ReadsNoDocuments {
        context: OtherFactors,
    },
    /// The RankIC does not differ from zero, so there is nothing to break.
    NothingToBreak(NoPower),
    KnownBefore(KnownBefore),
    TradeDate(TradeDate),
    SameDayGap(SameDayGap),
    /// No date has a RankIC both of the same day and of the trade.
    NoSameDay(SameDayGap),
    ShuffledDates(ShuffledDates),
    /// The factor covers too few trading days to move its values.
    TooFewDays {
        context: CoveredDays,
    },
    ShuffledText(ShuffledText),
    FutureVocabulary(FutureVocabulary),
    MaskedNames(MaskedNames),
    /// The model reads texts in which names are masked anyway.
    AlwaysMasked,
    /// No model reads texts for the factor: it counts documents or takes their fields.
    NoModelReadsTexts,
    /// There is no factor of masked texts to compare with.
    NoMaskedFactor,
    /// With masked names too little text is left to fit the model on.
    TooLittleMaskedText,
    /// The two factors have no dates in common.
    NoCommonDates,
    Overlap(TrainingOverlap),
    Survivors(Survivors),
    /// No document has a time of ingestion.
    NoIngestionTimes(Ingestion),
    /// All documents were ingested within a few days.
    LoadedAtOnce(Ingestion),
    /// No document was ingested late.
    NoneLate(Ingestion),
    /// Some documents were ingested late, but the RankIC does not differ from zero.
    LateWithoutPower(LateWithoutPower),
    /// Without late documents no date has a RankIC.
    NoneInTime(Ingestion),
    Restated(Restated),
    Unadjusted(Unadjusted),
    Crawled(CrawledFields),
    RewiredGraph(RewiredGraph),
}

/// Fields that the factor reads and that were known when a page was crawled.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CrawledFields {
    pub fields: Vec<CrawledColumn>,
}

/// The column that fills such a field.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CrawledColumn {
    pub field: String,
    pub source: String,
    pub column: String,
}

/// Signs that prices are not adjusted alike.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Unadjusted {
    /// Dates on which many names move beyond their daily limit at once.
    pub breaks: Vec<String>,
    /// Dates on which the prices of many names change from between whole cents to whole cents.
    pub changes_of_the_grid: Vec<String>,
    /// Falls below the daily limit, as of shares that go ex rights.
    pub falls: u64,
    /// Values of the factor whose return goes across one of these.
    pub values_across: u64,
    pub deepest: Option<DeepestFall>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeepestFall {
    pub date: String,
    pub code: String,
    /// Close over the last close, less one.
    pub change: f64,
}

/// Factors that an expression names.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OtherFactors {
    pub factors: Vec<String>,
}

nan_as_null! {
    /// The mean RankIC of a factor without predictive power.
    #[derive(Clone, Debug, Serialize, Deserialize)]
    pub struct NoPower {
        pub rank_ic: f64,
        pub p: f64,
        pub context: RankedDates,
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RankedDates {
    /// Dates with a RankIC.
    pub dates: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CoveredDays {
    /// Trading days from the first to the last value.
    pub days: usize,
}

/// Delay and price of the trade.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trade {
    /// Trading days from the factor's date to the trade.
    pub delay: i64,
    pub price: Price,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KnownBefore {
    /// Values of the factor.
    pub values: u64,
    /// Values that were not known when their return began.
    pub late: u64,
    /// Signals with a known-at time before the publication of their text.
    pub backdated: u64,
    /// True if the backtest uses late values.
    pub used: bool,
    /// True if known-at times were taken as 15:00:00 of the date.
    pub times_assumed: bool,
    pub examples: Vec<LateValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst_lateness_hours: Option<f64>,
    pub context: KnownBeforeContext,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KnownBeforeContext {
    pub trade: Trade,
    /// True if late values are more than `max_refused` of all.
    pub beyond_limit: bool,
    /// The latest value.
    pub worst: Option<LateValue>,
}

/// A value that was not known when its return began.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LateValue {
    pub date: String,
    pub code: String,
    /// A time, or `never`.
    pub known_at: String,
    /// Begin of the return.
    pub trade_at: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TradeDate {
    pub signals: u64,
    /// Signals dated before their publication.
    pub early: u64,
    /// Signals on a later date.
    pub late: u64,
    /// Early signals by the hour of publication, 24 counts.
    pub early_by_hour: Vec<u64>,
    pub late_by_hour: Vec<u64>,
    /// True if the wrong hours are those of a comparison of hours as strings.
    pub as_strings: bool,
    pub examples: Vec<EarlySignal>,
}

/// A signal dated before its publication.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EarlySignal {
    pub document: String,
    pub published_at: String,
    pub date: String,
    /// The date of its publication, or `later` where that is after the last date.
    pub right: String,
}

nan_as_null! {
    #[derive(Clone, Debug, Serialize, Deserialize)]
    pub struct SameDayGap {
        /// Mean RankIC with the return of the same day, over dates that have both.
        pub rank_ic_same_day: f64,
        pub rank_ic_trade: f64,
        /// Absolute value of the first divided by the absolute value of the second.
        pub ratio: f64,
        pub dates: usize,
        pub p: f64,
        /// Interval of the gap.
        pub low: f64,
        pub high: f64,
        /// True if the factor under test is itself aligned at the same day.
        pub aligned_at_same_day: bool,
        pub context: Trade,
    }

    #[derive(Clone, Debug, Serialize, Deserialize)]
    pub struct ShuffledDates {
        /// Mean RankIC of the draws.
        pub rank_ic_moved: f64,
        pub std_moved: f64,
        #[serde(flatten)]
        pub draws: Draws,
    }

    #[derive(Clone, Debug, Serialize, Deserialize)]
    pub struct ShuffledText {
        /// Mean RankIC of the draws.
        pub rank_ic_permuted: f64,
        pub std_permuted: f64,
        /// True if no draw changed a RankIC: the factor counts documents.
        pub counts_documents: bool,
        #[serde(flatten)]
        pub draws: Draws,
    }

    #[derive(Clone, Debug, Serialize, Deserialize)]
    pub struct RewiredGraph {
        /// Mean RankIC of the draws.
        pub rank_ic_rewired: f64,
        pub std_rewired: f64,
        #[serde(flatten)]
        pub draws: Draws,
    }

    /// The RankIC found, beside the RankICs of draws in which dates, texts or neighbours are changed for others.
    #[derive(Clone, Debug, Serialize, Deserialize)]
    pub struct Draws {
        pub rank_ic: f64,
        /// Interval of the draws.
        pub low: f64,
        pub high: f64,
        pub p: f64,
        pub draws: usize,
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FutureVocabulary {
    pub signals: u64,
    /// Signals that a fitted model gave.
    pub fitted: u64,
    /// Signals whose model had seen data from after the trade.
    pub future: u64,
    /// Signals among them whose known-at time does not say so.
    pub hidden: u64,
    /// None where either side has too few dates.
    #[serde(flatten)]
    pub comparison: Option<SeenAndUnseen>,
}

nan_as_null! {
    /// Mean RankIC of dates that the models had seen, and of dates that they had not.
    #[derive(Clone, Debug, Serialize, Deserialize)]
    pub struct SeenAndUnseen {
        pub rank_ic_seen: f64,
        pub rank_ic_unseen: f64,
        pub dates_seen: usize,
        pub dates_unseen: usize,
        pub p: f64,
    }

    #[derive(Clone, Debug, Serialize, Deserialize)]
    pub struct MaskedNames {
        pub rank_ic_masked: f64,
        /// Mean RankIC lost, in the direction of `rank_ic`.
        pub lost: f64,
        #[serde(flatten)]
        pub loss: Loss,
        pub context: MaskedNamesContext,
    }

    /// Mean RankIC over the dates that a factor and its variant have, and the interval of what the variant loses.
    #[derive(Clone, Debug, Serialize, Deserialize)]
    pub struct Loss {
        pub rank_ic: f64,
        pub low: f64,
        pub high: f64,
        pub p: f64,
        pub dates: usize,
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MaskedNamesContext {
    /// True if p is above 1 - `confidence`.
    pub chance: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrainingOverlap {
    /// Documents whose model was trained on texts of the corpus.
    pub documents: u64,
    /// Documents that trained the model that scored them, and documents with a near duplicate that did.
    #[serde(flatten)]
    pub shared: Option<SharedTexts>,
    /// Documents whose model was trained on texts outside the corpus.
    pub of_unknown_training: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SharedTexts {
    pub in_training: u64,
    pub story_in_training: u64,
}

nan_as_null! {
    #[derive(Clone, Debug, Serialize, Deserialize)]
    pub struct Survivors {
        pub names: u64,
        /// Names that end before the table does.
        pub ended: u64,
        /// Names that would at the delisting rate.
        pub expected: f64,
        /// Share of the names that live through the whole table.
        pub through: f64,
        pub by_year: BTreeMap<String, NamesOfYear>,
        /// Mean log growth of a price a year.
        pub growth_ended: f64,
        pub growth_others: f64,
        pub context: SurvivorsContext,
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamesOfYear {
    pub names: u64,
    pub ended: u64,
}

nan_as_null! {
    #[derive(Clone, Debug, Serialize, Deserialize)]
    pub struct SurvivorsContext {
        /// Length of the table.
        pub years: f64,
        /// The fewest ended names that are not unusual.
        pub fewest: u64,
    }

    /// Times of ingestion of the documents that count.
    #[derive(Clone, Debug, Serialize, Deserialize)]
    pub struct Ingestion {
        pub signals: u64,
        pub without_ingestion_time: u64,
        /// Signals whose document was ingested more than `restated_days` after publication.
        pub late: u64,
        /// Share of those with a time of ingestion.
        pub share_late: f64,
        /// Share of the day on which most were ingested.
        pub largest_load: f64,
        pub context: IngestionDays,
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct IngestionDays {
    /// Natural days after which a document counts as late.
    pub restated: u32,
    /// Natural days within which documents count as one load.
    pub load: i64,
    /// Dates with a RankIC.
    pub ranked: usize,
}

nan_as_null! {
    #[derive(Clone, Debug, Serialize, Deserialize)]
    pub struct LateWithoutPower {
        #[serde(flatten)]
        pub ingestion: Ingestion,
        pub rank_ic: f64,
        pub p: f64,
    }

    #[derive(Clone, Debug, Serialize, Deserialize)]
    pub struct Restated {
        #[serde(flatten)]
        pub ingestion: Ingestion,
        /// Mean RankIC without late documents.
        pub rank_ic_without: f64,
        #[serde(flatten)]
        pub loss: Loss,
    }
}

impl Finding {
    /// The figures by name.
    pub fn figures(&self) -> BTreeMap<String, Value> {
        let mut figures: BTreeMap<String, Value> =
            serde_json::to_value(self).and_then(serde_json::from_value).unwrap_or_default();
        figures.retain(|name, _| !["case", "context"].contains(&name.as_str()));
        figures
    }
}

impl Draws {
    /// Mean RankIC of the draws as a share of the one found.
    pub fn share(&self, mean: f64) -> f64 {
        mean.abs() / self.rank_ic.abs()
    }
}

impl MaskedNames {
    /// Share of the RankIC that is lost with masked names.
    pub fn share(&self) -> f64 {
        self.lost / self.loss.rank_ic.abs()
    }
}

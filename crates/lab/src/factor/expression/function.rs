//! The functions of the language, in one table.

use crate::factor::Aggregate;

/// A function of the expression language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// Makes one number of the documents, or of the days, of a look-back.
    Aggregate(Aggregate),
    Abs,
    /// -1, 0 or 1.
    Sign,
    /// Square root; none of numbers below 0.
    Sqrt,
    /// Natural logarithm; none of numbers that are not above 0.
    Log,
    /// ln(1 + x); none of numbers that are not above -1.
    Log1p,
    /// e to the power of x.
    Exp,
    /// Value pulled in to two bounds.
    Clip,
    /// The first number that is there.
    Coalesce,
    /// The value so many trading days before.
    Lag,
    /// The value less the value of so many trading days before.
    Delta,
    /// Average ranks among the names of the date, spread evenly over [-1, 1].
    Rank,
    /// Less the mean, by the standard deviation (ddof 1) of the names of the date.
    Zscore,
    /// Less the mean of the names of the date.
    Demean,
    /// Residual of a regression on the other arguments, by least squares with an intercept over the names of the date.
    Residual,
    /// A number for the names that traded on the date and have no value.
    Fill,
    /// Several numbers weighed by what returns before said of them.
    Combine,
    /// Weighed mean of the neighbours of a name in a graph.
    Spread,
}

/// Names, and how each function is called.
pub(super) const FUNCTIONS: [(&str, Function, &str); 24] = [
    ("mean", Function::Aggregate(Aggregate::Mean), "mean(x, days = 5, decay = 0.95)"),
    ("sum", Function::Aggregate(Aggregate::Sum), "sum(x, days = 5) or sum(event.amount, events = ..., days = 60)"),
    (
        "count",
        Function::Aggregate(Aggregate::Count),
        "count(days = 5, kinds = report) or count(events = ..., days = 60)",
    ),
    ("max", Function::Aggregate(Aggregate::Max), "max(x, days = 5)"),
    ("min", Function::Aggregate(Aggregate::Min), "min(x, days = 5)"),
    ("last", Function::Aggregate(Aggregate::Last), "last(x, days = 5)"),
    ("std", Function::Aggregate(Aggregate::Std), "std(x, days = 20)"),
    ("abs", Function::Abs, "abs(x)"),
    ("sign", Function::Sign, "sign(x)"),
    ("sqrt", Function::Sqrt, "sqrt(x)"),
    ("log", Function::Log, "log(x)"),
    ("log1p", Function::Log1p, "log1p(x)"),
    ("exp", Function::Exp, "exp(x)"),
    ("clip", Function::Clip, "clip(x, low, high)"),
    ("coalesce", Function::Coalesce, "coalesce(x, y, ...)"),
    ("lag", Function::Lag, "lag(x, days)"),
    ("delta", Function::Delta, "delta(x, days)"),
    ("rank", Function::Rank, "rank(x)"),
    ("zscore", Function::Zscore, "zscore(x)"),
    ("demean", Function::Demean, "demean(x)"),
    ("residual", Function::Residual, "residual(y, x, ...)"),
    ("fill", Function::Fill, "fill(x, number)"),
    ("combine", Function::Combine, "combine(x, y, ..., by = icir, days = 250, horizon = 5)"),
    (
        "spread",
        Function::Spread,
        "spread(x, graph = relations, kinds = ..., takes = to) or spread(x, graph = mentions, days = 60)",
    ),
];

impl Function {
    pub(in crate::factor) fn named(name: &str) -> Option<Function> {
        FUNCTIONS.iter().find(|(known, ..)| *known == name).map(|(_, function, _)| *function)
    }

    /// Form of the call, for messages.
    pub(in crate::factor) fn usage(self) -> &'static str {
        FUNCTIONS.iter().find(|(_, function, _)| *function == self).map_or("", |(.., usage)| usage)
    }

    /// True if the function takes a single number.
    pub(in crate::factor) fn is_single(self) -> bool {
        use Function::{Abs, Exp, Log, Log1p, Sign, Sqrt};
        matches!(self, Abs | Sign | Sqrt | Log | Log1p | Exp)
    }

    /// Value at one number; NaN at NaN, and of a function that takes more than one number.
    pub fn apply(self, x: f64) -> f64 {
        match self {
            Function::Abs => x.abs(),
            Function::Sign if x == 0.0 => 0.0,
            Function::Sign => x.signum(),
            Function::Sqrt => x.sqrt(),
            Function::Log if x > 0.0 => x.ln(),
            Function::Log1p if x > -1.0 => x.ln_1p(),
            Function::Exp => x.exp(),
            _ => f64::NAN,
        }
    }
}

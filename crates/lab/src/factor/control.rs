//! The controls that are regressed out of a factor.

use std::fmt;
use std::str::FromStr;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::expression::Expression;

use inkstone_base::bail;

/// A control that is regressed out, per date.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Control {
    /// Industry dummies; names without an industry form one of their own.
    Industry,
    /// Natural logarithm of the market capitalisation.
    Size,
    /// Any other number of days: another factor, a mean rating, a count of reports. Names without it have no residual.
    Expression(Expression),
}

impl FromStr for Control {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Control> {
        match text.trim() {
            "industry" => Ok(Control::Industry),
            "size" => Ok(Control::Size),
            "" => bail!(
                "中性化变量为 \"industry\"、\"size\" 或表达式，如 \"factor.heat\"",
                "a control is \"industry\", \"size\" or an expression such as \"factor.heat\""
            ),
            other => Ok(Control::Expression(other.parse()?)),
        }
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Control::Industry => f.write_str("industry"),
            Control::Size => f.write_str("size"),
            Control::Expression(expression) => expression.fmt(f),
        }
    }
}

inkstone_base::as_text!(Control);

//! The language in which factors are written: arithmetic over columns of features, what documents say of themselves, prices and
//! other factors.
//!
//! | name | what it is | of |
//! |---|---|---|
//! | `tone`, `tone.positive` | the first, or a named column of a feature | documents |
//! | `document.rating` `.novelty` `.length` `.source_weight` `.revised` | what is known of a document beside its features | documents |
//! | `event.amount` `.price` `.percent` `.shares` | arguments of an event, in aggregations with `events = ...` | events of documents and tables |
//! | `market.open` `.close` `.vwap` `.volume` `.cap` | prices in CNY, shares, capitalisation in CNY | days |
//! | `factor.heat` | the processed values of a factor that stands earlier in the configuration | days |
//!
//! Numbers of documents become numbers of days through an aggregation: `mean sum count max min last std`. What is not aggregated
//! is aggregated by the factor's own `aggregate`, so that a bare `tone` is a factor. Of days the same functions are taken over the
//! days before. A name with other signs than letters, digits and `_` stands in double quotes: `"tone-2".positive`.
//!
//! `mean(tone.positive - tone.negative, days = 20, decay = 0.95, kinds = news) - factor.heat / 2`

mod document;
mod function;
mod parse;

use std::fmt;
use std::str::FromStr;

use anyhow::{Error, Result};
use serde::{Deserialize, Serialize};

use inkstone_base::ensure;
use inkstone_base::language::Word;

pub(super) use document::{DOCUMENT_FIELDS, EVENT_FIELDS};
pub use document::{DocumentField, DocumentNode, EventField};
pub use function::Function;

/// A factor, or a part of one, as it was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Expression {
    pub(super) text: String,
    pub(super) root: Node,
}

/// A node of the tree, with the place in the text (in characters, from 1) that messages name.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Number(f64),
    Name { room: String, column: Option<String>, at: usize },
    Negative(Box<Node>),
    Binary { op: Operator, left: Box<Node>, right: Box<Node>, at: usize },
    Call { function: Function, arguments: Vec<Node>, options: Vec<NamedArgument>, at: usize },
}

/// `name = value` in a call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NamedArgument {
    pub(super) name: String,
    pub(super) value: OptionValue,
    pub(super) at: usize,
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OptionValue {
    Number(f64),
    Words(Vec<String>),
    Expression(Node),
}

/// The number of an option that counts days or documents; `what` names it in an error.
pub(super) fn whole_number(number: f64, what: Word) -> Result<usize> {
    ensure!(
        number >= 1.0 && number.fract() == 0.0 && number <= 1e6,
        "{what} = {number}：请写 1 以上的整数",
        "{what} = {number}: give a whole number from 1"
    );
    Ok(number as usize)
}

/// An operation on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Plus,
    Minus,
    Times,
    /// `/`; by 0 there is no value.
    Over,
    /// The left number, or the right one where there is no left one.
    Coalesce,
}

impl Operator {
    /// The result; NaN where there is none.
    pub fn apply(self, left: f64, right: f64) -> f64 {
        match self {
            Operator::Plus => left + right,
            Operator::Minus => left - right,
            Operator::Times => left * right,
            Operator::Over if right == 0.0 => f64::NAN,
            Operator::Over => left / right,
            Operator::Coalesce if left.is_nan() => right,
            Operator::Coalesce => left,
        }
    }
}

impl Default for Expression {
    fn default() -> Expression {
        Expression { text: String::new(), root: Node::Number(0.0) }
    }
}

impl Expression {
    /// True if nothing was written.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Names of the features in it, with their column where one is named, each once, in the order of the text.
    pub fn features(&self) -> Vec<(&str, Option<&str>)> {
        self.names().into_iter().filter(|(room, _)| !RESERVED.contains(room)).collect()
    }

    /// Names of the factors in it, each once, in the order of the text.
    pub fn factors(&self) -> Vec<&str> {
        self.names().into_iter().filter_map(|(room, name)| (room == "factor").then_some(name).flatten()).collect()
    }

    /// The feature and its column, where that is all there is: `tone` or `tone.positive`.
    pub fn only_feature(&self) -> Option<(&str, Option<&str>)> {
        match &self.root {
            Node::Name { .. } => self.features().first().copied(),
            _ => None,
        }
    }

    /// The expression that is nothing but a column of a feature.
    pub fn of_feature(name: &str, column: Option<&str>) -> Expression {
        let quoted = |name: &str| format!("\"{name}\"");
        let text = match column {
            Some(column) => format!("{}.{}", quoted(name), quoted(column)),
            None => quoted(name),
        };
        let root = Node::Name { room: name.to_owned(), column: column.map(str::to_owned), at: 1 };
        Expression { text, root }
    }

    fn names(&self) -> Vec<(&str, Option<&str>)> {
        let mut names = Vec::new();
        self.root.each_name(&mut |room, column| {
            if !names.contains(&(room, column)) {
                names.push((room, column));
            }
        });
        names
    }
}

/// Rooms that no feature may be called.
pub(super) const RESERVED: [&str; 4] = ["document", "event", "market", "factor"];

impl Node {
    fn each_name<'n>(&'n self, see: &mut impl FnMut(&'n str, Option<&'n str>)) {
        match self {
            Node::Number(_) => {}
            Node::Name { room, column, .. } => see(room, column.as_deref()),
            Node::Negative(inner) => inner.each_name(see),
            Node::Binary { left, right, .. } => {
                left.each_name(see);
                right.each_name(see);
            }
            Node::Call { arguments, options, .. } => {
                arguments.iter().for_each(|argument| argument.each_name(see));
                for option in options {
                    if let OptionValue::Expression(inner) = &option.value {
                        inner.each_name(see);
                    }
                }
            }
        }
    }
}

impl FromStr for Expression {
    type Err = Error;

    fn from_str(text: &str) -> Result<Expression> {
        if text.trim().is_empty() {
            return Ok(Expression::default());
        }
        Ok(Expression { text: text.to_owned(), root: parse::parse(text)? })
    }
}

inkstone_base::as_text!(Expression);

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_wherever_they_stand() {
        let text =
            "mean(tone.positive - tone.negative, weight = document.novelty * heat) + rank(factor.old) * market.cap";
        let expression: Expression = text.parse().unwrap();
        let features = [("tone", Some("positive")), ("tone", Some("negative")), ("heat", None)];
        assert_eq!(expression.features(), features);
        assert_eq!(expression.factors(), ["old"]);
        assert_eq!(expression.only_feature(), None);
        assert_eq!("tone.x".parse::<Expression>().unwrap().only_feature(), Some(("tone", Some("x"))));
        assert_eq!(
            Expression::of_feature("a b", Some("c")).to_string().parse::<Expression>().unwrap().features(),
            [("a b", Some("c"))]
        );
        assert_eq!(serde_json::to_value(&expression).unwrap(), text);
    }
}

//! Numbers of one document: columns of features, fields of its own, and arithmetic over them.

use super::{Function, Operator};
use inkstone_market::EventArguments;

/// A number of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum DocumentNode {
    Number(f64),
    /// A column (the first if none is named) of the plan's feature of this number.
    Column {
        feature: usize,
        column: Option<String>,
    },
    /// A field of the document itself.
    Field(DocumentField),
    Binary(Operator, Box<DocumentNode>, Box<DocumentNode>),
    Single(Function, Box<DocumentNode>),
    /// Value pulled in to bounds.
    Clip(Box<DocumentNode>, f64, f64),
}

impl DocumentNode {
    /// Shows every column of a feature in it.
    pub fn each_column(&self, see: &mut impl FnMut(usize, Option<&str>)) {
        match self {
            DocumentNode::Number(_) | DocumentNode::Field(_) => {}
            DocumentNode::Column { feature, column } => see(*feature, column.as_deref()),
            DocumentNode::Binary(_, left, right) => {
                left.each_column(see);
                right.each_column(see);
            }
            DocumentNode::Single(_, inner) | DocumentNode::Clip(inner, ..) => inner.each_column(see),
        }
    }

    /// True if the field enters.
    pub fn has_field(&self, wanted: DocumentField) -> bool {
        match self {
            DocumentNode::Field(field) => *field == wanted,
            DocumentNode::Number(_) | DocumentNode::Column { .. } => false,
            DocumentNode::Binary(_, left, right) => left.has_field(wanted) || right.has_field(wanted),
            DocumentNode::Single(_, inner) | DocumentNode::Clip(inner, ..) => inner.has_field(wanted),
        }
    }

    /// True if a number of events enters.
    pub(in crate::factor) fn has_event_field(&self) -> bool {
        EVENT_FIELDS.iter().any(|(_, field)| self.has_field(DocumentField::Event(*field)))
    }

    /// The number of one document, from its numbers in columns of features and in its fields.
    pub fn value(&self, column: &impl Fn(usize, Option<&str>) -> f64, field: &impl Fn(DocumentField) -> f64) -> f64 {
        match self {
            DocumentNode::Number(number) => *number,
            DocumentNode::Column { feature, column: name } => column(*feature, name.as_deref()),
            DocumentNode::Field(wanted) => field(*wanted),
            DocumentNode::Binary(op, left, right) => op.apply(left.value(column, field), right.value(column, field)),
            DocumentNode::Single(function, inner) => function.apply(inner.value(column, field)),
            DocumentNode::Clip(inner, low, high) => inner.value(column, field).clamp(*low, *high),
        }
    }
}

/// A field of a document beside its features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentField {
    /// Rating from -2 (sell) to 2 (buy).
    Rating,
    /// 1 less its similarity to the first document of its story: 1 of a first mention, 0 of an exact repeat.
    Novelty,
    /// Number of characters.
    Length,
    SourceWeight,
    /// 1 of a document that is marked as a revision, 0 of one that is marked as none.
    Revised,
    /// A number of an event, which only aggregations of events have.
    Event(EventField),
}

/// A number of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventField {
    Amount,
    Price,
    Percent,
    Shares,
}

/// Names and what they stand for.
pub(in crate::factor) const EVENT_FIELDS: [(&str, EventField); 4] = [
    ("amount", EventField::Amount),
    ("price", EventField::Price),
    ("percent", EventField::Percent),
    ("shares", EventField::Shares),
];

impl EventField {
    /// NaN where the event has no such number.
    pub fn number(self, arguments: &EventArguments) -> f64 {
        let number = match self {
            EventField::Amount => arguments.amount,
            EventField::Price => arguments.price,
            EventField::Percent => arguments.percent,
            EventField::Shares => arguments.shares,
        };
        number.unwrap_or(f64::NAN)
    }
}

/// Names and what they stand for.
pub(in crate::factor) const DOCUMENT_FIELDS: [(&str, DocumentField); 5] = [
    ("rating", DocumentField::Rating),
    ("novelty", DocumentField::Novelty),
    ("length", DocumentField::Length),
    ("source_weight", DocumentField::SourceWeight),
    ("revised", DocumentField::Revised),
];

//! Conditions: a number of a document, above 0 for those that are read.

use anyhow::Result;

use super::{Maker, PlanPart};
use crate::factor::expression::DOCUMENT_FIELDS;
use crate::factor::{DocumentField, DocumentNode, Expression, Params};

use inkstone_base::bail;

impl Expression {
    /// The number of a document that this is, for a condition: made of fields of documents alone. Fails on anything else, saying where.
    pub fn of_document(&self) -> Result<DocumentNode> {
        let (node, features) = self.of_document_and_features()?;
        if let Some(feature) = features.first() {
            bail!(
                "{feature:?} 不是文档的字段：条件由 {} 构成",
                "{feature:?} is no field of a document: a condition is made of {}",
                condition_fields()
            );
        }
        Ok(node)
    }

    /// The number of a document that this is, for a condition: made of fields of documents and of features, whose names are given in the order in
    /// which the node numbers them.
    pub fn of_document_and_features(&self) -> Result<(DocumentNode, Vec<String>)> {
        let fields = condition_fields();
        let params = Params::default();
        let mut maker = Maker {
            params: &params,
            features: Vec::new(),
            factors: Vec::new(),
            readings: Vec::new(),
            graphs: Vec::new(),
        };
        let part = maker.part(&self.root)?;
        match part {
            PlanPart::Document(node) if node.has_field(DocumentField::SourceWeight) => {
                bail!(
                    "document.source_weight 是因子的权重，不是字段：条件由 {fields} 构成",
                    "document.source_weight is a weight of factors, no field: a condition is made of {fields}"
                )
            }
            PlanPart::Document(node) if node.has_event_field() => {
                bail!(
                    "event.amount 等是事件的数，不是文档的字段：条件由 {fields} 构成",
                    "numbers as event.amount are of events, no fields of documents: a condition is made of {fields}"
                )
            }
            PlanPart::Document(node) => Ok((node, maker.features)),
            PlanPart::Constant(number) => {
                bail!(
                    "{number} 对所有文档都相同：条件由 {fields} 构成",
                    "{number} is the same for all documents: a condition is made of {fields}"
                )
            }
            PlanPart::Day(_) => bail!(
                "{:?} 是日度数值：条件由 {fields} 构成",
                "{:?} is a number of days: a condition is made of {fields}",
                self.text
            ),
        }
    }
}

/// The fields of a document that a condition reads.
fn condition_fields() -> String {
    let own = DOCUMENT_FIELDS.iter().filter(|(_, field)| *field != DocumentField::SourceWeight);
    own.map(|(name, _)| format!("document.{name}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factor::Plan;

    #[test]
    fn the_first_number_that_is_there_is_taken() {
        let (node, features) =
            "coalesce(bert, tone.score, 0) * 2".parse::<Expression>().unwrap().of_document_and_features().unwrap();
        assert_eq!(features, ["bert", "tone"]);
        let value = |bert: f64, tone: f64| node.value(&|feature, _| [bert, tone][feature], &|_| f64::NAN);
        assert_eq!([value(0.5, 0.1), value(f64::NAN, 0.1), value(f64::NAN, f64::NAN)], [1.0, 0.2, 0.0]);
        let error = |text: &str| {
            let params = Params { expression: text.parse().unwrap(), ..Params::default() };
            format!("{:#}", Plan::new(&params).unwrap_err())
        };
        assert!(error("coalesce(tone)").contains("coalesce(x, y, ...) at character 1: it takes two numbers or more"));
        assert!(error("coalesce(rank(tone), tone)").contains("before they are aggregated; of days, fill(x, number)"));
    }

    #[test]
    fn a_condition_is_made_of_fields_of_documents() {
        let condition = |text: &str| text.parse::<Expression>().unwrap().of_document();
        let node = condition("document.revised * (document.rating + 1)").unwrap();
        let field = |field| if field == DocumentField::Revised { 1.0 } else { -2.0 };
        assert_eq!(node.value(&|_, _| f64::NAN, &field), -1.0);
        assert!(node.has_field(DocumentField::Rating) && !node.has_field(DocumentField::Length));
        for (text, said) in [
            ("document.revisd", "no \"revisd\"; there are: rating, novelty, length, source_weight, revised"),
            ("tone.positive", "\"tone\" is no field of a document"),
            ("revised", "made of document.rating"),
            ("market.close", "is a number of days"),
            ("mean(document.rating)", "is a number of days"),
            ("2", "the same for all documents"),
            ("document.source_weight - 1", "is a weight of factors"),
            ("event.amount", "are of events, no fields of documents"),
        ] {
            let error = format!("{:#}", condition(text).unwrap_err());
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}

//! The graphs that an expression spreads numbers over.

use anyhow::Result;

use super::{DayNode, Maker, PlanPart, Reading, RollingWindow, set_window};
use crate::factor::expression::{DocumentNode, NamedArgument, Node, OptionValue, whole_number};
use crate::factor::{Aggregate, Decay, LookbackUnit};
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure};

/// Ties between names.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::factor) enum Graph {
    /// Rows of the table of relations of these kinds; empty: all.
    Relations { kinds: Vec<String>, takes: Takes },
    /// Names that stand together in this many documents or more of the reading of this number.
    Mentions { reading: usize, documents: usize },
}

/// Ends of a relation from which a name takes a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::factor) enum Takes {
    /// `from` takes of `to`.
    To,
    /// `to` takes of `from`.
    From,
    Both,
}

impl Maker<'_> {
    /// `spread(x, graph = relations, ...)` and `spread(x, graph = mentions, ...)`.
    pub(super) fn spread(&mut self, arguments: &[Node], options: &[NamedArgument]) -> Result<PlanPart> {
        let [argument] = arguments else {
            bail!("它取一个数，而不是 {} 个", "it takes one number, not {}", arguments.len())
        };
        let node = self.days(argument)?;
        let graph = options.iter().find(|option| option.name == "graph").map(|option| &option.value);
        let others = || options.iter().filter(|option| option.name != "graph");
        let made = match graph {
            Some(OptionValue::Words(words)) if words == &["relations"] => relations(others())?,
            Some(OptionValue::Words(words)) if words == &["mentions"] => self.mentions(others())?,
            _ => bail!(
                "请写出图：graph = relations（关系表）或 graph = mentions（同一篇文档提及）",
                "name the graph: graph = relations (the table of relations) or graph = mentions (names in one document)"
            ),
        };
        let number = self.graphs.iter().position(|known| *known == made).unwrap_or_else(|| {
            self.graphs.push(made);
            self.graphs.len() - 1
        });
        Ok(PlanPart::Day(DayNode::Spread(number, Box::new(node))))
    }

    fn mentions<'o>(&mut self, options: impl Iterator<Item = &'o NamedArgument>) -> Result<Graph> {
        let mut reading = Reading {
            value: DocumentNode::Number(1.0),
            weight: DocumentNode::Number(1.0),
            aggregate: Aggregate::Count,
            window: RollingWindow { days: 0, unit: LookbackUnit::Trading, decay: Decay::None },
            kinds: self.params.kinds.clone(),
            first_only: self.params.first_only,
            events: Vec::new(),
        };
        let mut documents = 1;
        for option in options {
            match (option.name.as_str(), &option.value) {
                _ if set_window(&mut reading.window, option)? || reading.set_documents(option)? => {}
                ("documents", OptionValue::Number(number)) => {
                    documents = whole_number(*number, Word("documents", "documents"))?;
                }
                (name, _) => bail!(
                    "第 {} 字的 {name:?} 不是 graph = mentions 的选项，或不能取这样的值；可用：days、natural_days、decay、kinds、first、documents",
                    "{name:?} at character {} is no option of graph = mentions, or not of such a value; there are: days, natural_days, decay, kinds, first, documents",
                    option.at
                ),
            }
        }
        ensure!(
            reading.window.days > 0,
            "请写出两只股票同被提及后算作相邻的天数，如 days = 60",
            "say for how many days names that stand together are neighbours, as in days = 60"
        );
        Ok(Graph::Mentions { reading: self.number_of_reading(reading), documents })
    }
}

fn relations<'o>(options: impl Iterator<Item = &'o NamedArgument>) -> Result<Graph> {
    let (mut kinds, mut takes) = (Vec::new(), Takes::Both);
    for option in options {
        match (option.name.as_str(), &option.value) {
            ("kinds", OptionValue::Words(words)) => kinds = words.clone(),
            ("takes", OptionValue::Words(words)) if words == &["to"] => takes = Takes::To,
            ("takes", OptionValue::Words(words)) if words == &["from"] => takes = Takes::From,
            ("takes", OptionValue::Words(words)) if words == &["both"] => takes = Takes::Both,
            (name, _) => bail!(
                "第 {} 字的 {name:?} 不是 graph = relations 的选项，或不能取这样的值；可用：kinds、takes = to、from 或 both",
                "{name:?} at character {} is no option of graph = relations, or not of such a value; there are: kinds, takes = to, from or both",
                option.at
            ),
        }
    }
    Ok(Graph::Relations { kinds, takes })
}

//! A compiled expression: the readings that it takes of documents, and the tree that is evaluated on their daily values.

mod condition;
mod graph;
mod options;

use anyhow::{Context, Result};

pub(super) use graph::{Graph, Takes};
use options::{check_decay, set_window};

use super::combine::Combination;
use super::control::Control;
use super::expression::{
    DOCUMENT_FIELDS, DocumentField, DocumentNode, EVENT_FIELDS, Function, NamedArgument, Node, Operator, OptionValue,
    RESERVED, whole_number,
};
use super::params::Params;
use super::rules::{Aggregate, Decay, LookbackUnit};
use inkstone_base::data::Kind;
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};

/// Things for each of which a part of an expression has a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartLevel {
    /// One number for all.
    Constant,
    Document,
    Day,
}

/// A field of the market on a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarketField {
    Open,
    Close,
    /// Average price.
    Vwap,
    /// Number of shares traded.
    Volume,
    Cap,
}

/// Names and what they stand for.
const MARKET_FIELDS: [(&str, MarketField); 5] = [
    ("open", MarketField::Open),
    ("close", MarketField::Close),
    ("vwap", MarketField::Vwap),
    ("volume", MarketField::Volume),
    ("cap", MarketField::Cap),
];

/// A look-back and how much each day of it weighs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RollingWindow {
    /// Days, the day of the value included.
    pub days: usize,
    pub unit: LookbackUnit,
    pub decay: Decay,
}

/// One aggregation of documents to dates.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    pub value: DocumentNode,
    pub weight: DocumentNode,
    pub aggregate: Aggregate,
    pub window: RollingWindow,
    /// Kinds that count; empty: all.
    pub kinds: Vec<Kind>,
    /// True if only the first document of a story counts.
    pub first_only: bool,
    /// Kinds of events that are taken in place of documents; empty: documents are.
    pub events: Vec<String>,
}

/// A number of a date and code.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum DayNode {
    Number(f64),
    /// The plan's reading of this number.
    Documents(usize),
    Market(MarketField),
    /// The plan's factor of this number.
    Factor(usize),
    Binary(Operator, Box<DayNode>, Box<DayNode>),
    Single(Function, Box<DayNode>),
    /// Value pulled in to bounds.
    Clip(Box<DayNode>, f64, f64),
    /// Aggregate over the days of a look-back.
    Rolling(Aggregate, RollingWindow, Box<DayNode>),
    /// The value so many trading days before.
    Lag(usize, Box<DayNode>),
    /// Among the names of the date: ranks, z-scores or differences to the mean.
    Across(Function, Box<DayNode>),
    /// Residual of a regression.
    Residual(Box<DayNode>, Vec<DayNode>),
    /// With a number where there was none.
    Fill(f64, Box<DayNode>),
    /// Weighed sum of several numbers.
    Combine(Combination, Vec<DayNode>),
    /// Weighed mean of the neighbours in the plan's graph of this number.
    Spread(usize, Box<DayNode>),
}

/// A factor's expression and those of its controls, made ready.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Names of the features that are read.
    pub features: Vec<String>,
    /// Names of the factors that are read.
    pub(super) factors: Vec<String>,
    pub readings: Vec<Reading>,
    pub(super) graphs: Vec<Graph>,
    pub(super) value: DayNode,
    /// Controls beside industry and size: as written, and compiled.
    pub(super) controls: Vec<(String, DayNode)>,
}

impl Plan {
    /// Makes the expressions of a factor ready. Fails on what makes no sense, saying where.
    pub fn new(params: &Params) -> Result<Plan> {
        ensure!(
            !params.expression.is_empty(),
            "缺少 expression：请写出因子由什么构成，最简单的是一个 [[feature]] 的名称",
            "expression is missing: write what the factor is made of, at the simplest the name of a [[feature]]"
        );
        let mut maker =
            Maker { params, features: Vec::new(), factors: Vec::new(), readings: Vec::new(), graphs: Vec::new() };
        let value = maker.days(&params.expression.root).context(Word("expression 中", "in expression"))?;
        let mut controls = Vec::new();
        for control in &params.neutralise {
            if let Control::Expression(expression) = control {
                let node = maker
                    .days(&expression.root)
                    .with_context(|| message!("neutralise 的 {:?} 中", "in neutralise, {:?}", expression.text))?;
                controls.push((expression.text.clone(), node));
            }
        }
        let Maker { features, factors, readings, graphs, .. } = maker;
        Ok(Plan { features, factors, readings, graphs, value, controls })
    }

    /// Names of the features whose sets are read, in the order in which they are asked for.
    pub fn features(&self) -> &[String] {
        &self.features
    }

    /// Names of the factors that must have been built before.
    pub fn factors(&self) -> &[String] {
        &self.factors
    }

    /// True if the plan reads the corpus.
    pub fn reads_documents(&self) -> bool {
        !self.readings.is_empty()
    }

    /// Kinds of events that are read, each once.
    pub fn events(&self) -> Vec<&str> {
        let mut kinds: Vec<&str> =
            self.readings.iter().flat_map(|reading| &reading.events).map(String::as_str).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// True if the plan reads events.
    pub fn reads_events(&self) -> bool {
        self.readings.iter().any(|reading| !reading.events.is_empty())
    }

    /// True if the plan reads the table of relations.
    pub fn reads_relations(&self) -> bool {
        self.graphs.iter().any(|graph| matches!(graph, Graph::Relations { .. }))
    }

    /// True if numbers of names enter those of their neighbours.
    pub fn has_graphs(&self) -> bool {
        !self.graphs.is_empty()
    }

    /// The longest window of documents that a value takes; none for a plan that reads no documents.
    pub fn longest_window(&self) -> Option<(usize, LookbackUnit)> {
        let natural = |window: &RollingWindow| match window.unit {
            // Five of seven days are trading days.
            LookbackUnit::Trading => window.days.saturating_mul(7) / 5,
            LookbackUnit::Natural => window.days,
        };
        let longest = self.readings.iter().map(|reading| &reading.window).max_by_key(|window| natural(window))?;
        Some((longest.days, longest.unit))
    }

    /// True if a document's value or weight is made with this field.
    pub fn reads_field(&self, field: DocumentField) -> bool {
        self.readings.iter().any(|reading| reading.value.has_field(field) || reading.weight.has_field(field))
    }

    /// True if a reading that counts the first document of a story alone weighs by novelty, which is 1 for all of these.
    pub(crate) fn weighs_first_mentions_by_novelty(&self) -> bool {
        self.readings.iter().any(|reading| reading.first_only && reading.weight.has_field(DocumentField::Novelty))
    }

    /// For each reading, in the order in which signals number them: the features whose numbers it takes, by their places in
    /// [`Plan::features`], and true if it counts the first document of a story alone.
    pub fn readings(&self) -> Vec<(Vec<usize>, bool)> {
        let taken = |reading: &Reading| {
            let mut features = Vec::new();
            for node in [&reading.value, &reading.weight] {
                node.each_column(&mut |feature, _| features.push(feature));
            }
            features.sort_unstable();
            features.dedup();
            (features, reading.first_only)
        };
        self.readings.iter().map(taken).collect()
    }
}

struct Maker<'a> {
    params: &'a Params,
    features: Vec<String>,
    factors: Vec<String>,
    readings: Vec<Reading>,
    graphs: Vec<Graph>,
}

/// A part of the tree made ready, at the lowest level that it can be.
enum PlanPart {
    Constant(f64),
    Document(DocumentNode),
    Day(DayNode),
}

impl PlanPart {
    fn level(&self) -> PartLevel {
        match self {
            PlanPart::Constant(_) => PartLevel::Constant,
            PlanPart::Document(_) => PartLevel::Document,
            PlanPart::Day(_) => PartLevel::Day,
        }
    }
}

/// The number of a name in a list, to which it is added if it is new.
fn number_of(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}

fn field<T: Copy>(fields: &[(&str, T)], room: &str, column: Option<&str>, at: usize) -> Result<T> {
    let known: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let known = known.join(", ");
    let column = column.with_context(|| {
        message!(
            "第 {at} 字的 {room} 不能单独使用：请写出其中一项，如 {room}.{}；可用：{known}",
            "{room} at character {at} stands alone: name what of it, as {room}.{}; there are: {known}",
            fields[0].0
        )
    })?;
    let found = fields.iter().find(|(name, _)| *name == column);
    found.map(|(_, field)| *field).with_context(|| {
        message!(
            "第 {at} 字的 {room} 没有 {column:?}；可用：{known}",
            "{room} at character {at} has no {column:?}; there are: {known}"
        )
    })
}

impl Maker<'_> {
    fn part(&mut self, node: &Node) -> Result<PlanPart> {
        match node {
            Node::Number(number) => Ok(PlanPart::Constant(*number)),
            Node::Name { room, column, at } => self.name(room, column.as_deref(), *at),
            Node::Negative(inner) => {
                let inner = self.part(inner)?;
                combined(Operator::Times, PlanPart::Constant(-1.0), inner, 0)
            }
            Node::Binary { op, left, right, at } => {
                let (left, right) = (self.part(left)?, self.part(right)?);
                combined(*op, left, right, *at)
            }
            Node::Call { function, arguments, options, at } => {
                let made = self.call(*function, arguments, options);
                made.with_context(|| message!("第 {at} 字的 {}", "{} at character {at}", function.usage()))
            }
        }
    }

    fn name(&mut self, room: &str, column: Option<&str>, at: usize) -> Result<PlanPart> {
        Ok(match room {
            "document" => PlanPart::Document(DocumentNode::Field(field(&DOCUMENT_FIELDS, room, column, at)?)),
            "event" => {
                let field = field(&EVENT_FIELDS, room, column, at)?;
                PlanPart::Document(DocumentNode::Field(DocumentField::Event(field)))
            }
            "market" => PlanPart::Day(DayNode::Market(field(&MARKET_FIELDS, room, column, at)?)),
            "factor" => {
                let name = column.with_context(|| {
                    message!(
                        "第 {at} 字的 factor：请写出一个，如 factor.heat",
                        "factor at character {at}: name one, as in factor.heat"
                    )
                })?;
                PlanPart::Day(DayNode::Factor(number_of(&mut self.factors, name)))
            }
            feature => PlanPart::Document(DocumentNode::Column {
                feature: number_of(&mut self.features, feature),
                column: column.map(str::to_owned),
            }),
        })
    }

    /// The tree as numbers of days; what is of documents is aggregated as the factor says.
    fn days(&mut self, node: &Node) -> Result<DayNode> {
        let part = self.part(node)?;
        self.as_days(part)
    }

    fn as_days(&mut self, part: PlanPart) -> Result<DayNode> {
        Ok(match part {
            PlanPart::Constant(number) => DayNode::Number(number),
            PlanPart::Day(node) => node,
            PlanPart::Document(value) => {
                let reading = self.reading(value, self.params.aggregate, &[])?;
                self.add(reading)
            }
        })
    }

    fn add(&mut self, reading: Reading) -> DayNode {
        DayNode::Documents(self.number_of_reading(reading))
    }

    fn number_of_reading(&mut self, reading: Reading) -> usize {
        self.readings.iter().position(|known| *known == reading).unwrap_or_else(|| {
            self.readings.push(reading);
            self.readings.len() - 1
        })
    }

    fn call(&mut self, function: Function, arguments: &[Node], options: &[NamedArgument]) -> Result<PlanPart> {
        if let Function::Aggregate(aggregate) = function {
            return self.aggregation(aggregate, arguments, options);
        }
        if function == Function::Combine {
            ensure!(arguments.len() > 1, "它须有两个以上的数", "it takes two numbers or more");
            let rule = Combination::of_options(options)?;
            let nodes = arguments.iter().map(|node| self.days(node)).collect::<Result<_>>()?;
            return Ok(PlanPart::Day(DayNode::Combine(rule, nodes)));
        }
        if function == Function::Spread {
            return self.spread(arguments, options);
        }
        if let Some(option) = options.first() {
            bail!("第 {1} 字的 {0:?} 不是它的选项", "{:?} at character {} is no option of it", option.name, option.at);
        }
        if function.is_single() {
            let [argument] = arguments else {
                bail!("它取一个数，而不是 {} 个", "it takes one number, not {}", arguments.len())
            };
            return Ok(match self.part(argument)? {
                PlanPart::Constant(number) => PlanPart::Constant(function.apply(number)),
                PlanPart::Document(node) => PlanPart::Document(DocumentNode::Single(function, Box::new(node))),
                PlanPart::Day(node) => PlanPart::Day(DayNode::Single(function, Box::new(node))),
            });
        }
        let days = match function {
            Function::Coalesce => {
                ensure!(
                    arguments.len() > 1,
                    "它须有两个以上的数，如 coalesce(x, y)",
                    "it takes two numbers or more, as coalesce(x, y)"
                );
                let mut parts = arguments.iter().map(|argument| {
                    let part = self.part(argument)?;
                    // That a day has no number is known when the day is over.
                    ensure!(
                        part.level() != PartLevel::Day, "它作用于文档的数值：请在汇总之前 coalesce；日度数值用 fill(x, number)", "it takes numbers of documents: coalesce them before they are aggregated; of days, fill(x, number)");
                    Ok(part)
                });
                let first = parts.next().context(Word("它须有两个以上的数", "it takes two numbers or more"))??;
                return parts.try_fold(first, |left, right| combined(Operator::Coalesce, left, right?, 0));
            }
            Function::Clip => {
                let [argument, Node::Number(low), Node::Number(high)] = arguments else {
                    bail!(
                        "它取一个数与两个界，如 clip(x, -3, 3)",
                        "it takes a number and two bounds, as clip(x, -3, 3)"
                    );
                };
                ensure!(low <= high, "下界 {low} 高于上界 {high}", "its lower bound {low} lies above its upper {high}");
                return Ok(match self.part(argument)? {
                    PlanPart::Constant(number) => PlanPart::Constant(number.clamp(*low, *high)),
                    PlanPart::Document(node) => PlanPart::Document(DocumentNode::Clip(Box::new(node), *low, *high)),
                    PlanPart::Day(node) => PlanPart::Day(DayNode::Clip(Box::new(node), *low, *high)),
                });
            }
            Function::Lag | Function::Delta => {
                let [argument, Node::Number(days)] = arguments else {
                    bail!("它取一个数与交易日数，如 lag(x, 5)", "it takes a number and trading days, as lag(x, 5)");
                };
                let days = whole_number(*days, Word("它的 days", "its days"))?;
                let node = self.days(argument)?;
                let before = DayNode::Lag(days, Box::new(node.clone()));
                match function {
                    Function::Lag => before,
                    _ => DayNode::Binary(Operator::Minus, Box::new(node), Box::new(before)),
                }
            }
            Function::Residual => {
                let [explained, on @ ..] = arguments else {
                    bail!("先写被解释的，再写解释变量", "it takes what is explained, then what explains it")
                };
                ensure!(
                    !on.is_empty(),
                    "先写被解释的，再写解释变量",
                    "it takes what is explained, then what explains it"
                );
                let explained = self.days(explained)?;
                DayNode::Residual(Box::new(explained), on.iter().map(|node| self.days(node)).collect::<Result<_>>()?)
            }
            Function::Fill => {
                let [argument, Node::Number(number)] = arguments else {
                    bail!(
                        "先写要填补的，再写填补的数，如 fill(x, 0)",
                        "it takes what is filled and the number, as fill(x, 0)"
                    );
                };
                DayNode::Fill(*number, Box::new(self.days(argument)?))
            }
            _ => {
                let [argument] = arguments else {
                    bail!("它取一个数，而不是 {} 个", "it takes one number, not {}", arguments.len())
                };
                DayNode::Across(function, Box::new(self.days(argument)?))
            }
        };
        Ok(PlanPart::Day(days))
    }

    fn aggregation(&mut self, aggregate: Aggregate, arguments: &[Node], options: &[NamedArgument]) -> Result<PlanPart> {
        let part = match arguments {
            [] if aggregate == Aggregate::Count => PlanPart::Document(DocumentNode::Number(1.0)),
            [argument] => self.part(argument)?,
            _ => bail!("它取一个数，而不是 {} 个", "it takes one number, not {}", arguments.len()),
        };
        Ok(PlanPart::Day(match part {
            PlanPart::Constant(number) if aggregate == Aggregate::Count => {
                let reading = self.reading(DocumentNode::Number(number), aggregate, options)?;
                self.add(reading)
            }
            PlanPart::Constant(number) => {
                bail!(
                    "{number} 对所有文档都相同：没有可汇总的",
                    "{number} is the same for all documents: there is nothing to aggregate"
                )
            }
            PlanPart::Document(value) => {
                let reading = self.reading(value, aggregate, options)?;
                self.add(reading)
            }
            PlanPart::Day(node) => {
                let window = self.rolling(aggregate, options)?;
                DayNode::Rolling(aggregate, window, Box::new(node))
            }
        }))
    }

    /// A look-back over days: its length must be said.
    fn rolling(&self, aggregate: Aggregate, options: &[NamedArgument]) -> Result<RollingWindow> {
        let mut window = RollingWindow { days: 0, unit: LookbackUnit::Trading, decay: Decay::None };
        for option in options {
            if !set_window(&mut window, option)? {
                bail!(
                    "第 {1} 字的 {0:?} 用于文档，而被汇总的已是日度数值；可用 days、natural_days 和 decay",
                    "{:?} at character {} is of documents, but what is aggregated is of days already; days, natural_days and decay are possible",
                    option.name,
                    option.at
                );
            }
        }
        ensure!(window.days > 0, "请写出天数，如 days = 20", "say over how many days, as in days = 20");
        check_decay(aggregate, window.decay)?;
        Ok(window)
    }

    fn reading(&mut self, value: DocumentNode, aggregate: Aggregate, options: &[NamedArgument]) -> Result<Reading> {
        let params = self.params;
        let mut reading = Reading {
            value,
            weight: DocumentNode::Number(1.0),
            aggregate,
            window: RollingWindow { days: params.lookback, unit: params.lookback_unit, decay: params.decay },
            kinds: params.kinds.clone(),
            first_only: params.first_only,
            events: Vec::new(),
        };
        if !aggregate.weighs() {
            reading.window.decay = Decay::None;
        }
        let mut weighed = (!params.weight.is_empty()).then_some(&params.weight.root).filter(|_| aggregate.weighs());
        for option in options {
            match (option.name.as_str(), &option.value) {
                _ if set_window(&mut reading.window, option)? || reading.set_documents(option)? => {}
                ("weight", OptionValue::Expression(node)) => weighed = Some(node),
                ("events", OptionValue::Words(kinds)) => reading.events = kinds.clone(),
                (name, _) => bail!(
                    "第 {} 字的 {name:?} 不是选项，或不能取这样的值；可用：days、natural_days、decay、kinds、first、weight、events",
                    "{name:?} at character {} is no option, or not of such a value; there are: days, natural_days, decay, kinds, first, weight, events",
                    option.at
                ),
            }
        }
        if let Some(node) = weighed {
            ensure!(
                aggregate.weighs(),
                "它只取一篇文档，weight 不起作用",
                "it takes one document, so a weight has no effect"
            );
            reading.weight = match self.part(node).context(Word("weight 中", "in weight"))? {
                PlanPart::Constant(number) => DocumentNode::Number(number),
                PlanPart::Document(node) => node,
                PlanPart::Day(_) => bail!("weight 作用于文档，而不是日度数值", "a weight is of documents, not of days"),
            };
        }
        ensure!(
            !reading.events.is_empty() || !(reading.value.has_event_field() || reading.weight.has_event_field()),
            "event.amount 等是事件的数：请写出事件的类型，如 sum(event.amount, events = 回购, days = 60)",
            "numbers as event.amount are of events: name their kind, as in sum(event.amount, events = 回购, days = 60)"
        );
        check_decay(aggregate, reading.window.decay)?;
        Ok(reading)
    }
}

fn combined(op: Operator, left: PlanPart, right: PlanPart, at: usize) -> Result<PlanPart> {
    let document = |part: PlanPart| match part {
        PlanPart::Constant(number) => Box::new(DocumentNode::Number(number)),
        PlanPart::Document(node) => Box::new(node),
        PlanPart::Day(_) => unreachable!("levels were compared"),
    };
    let day = |part: PlanPart| match part {
        PlanPart::Constant(number) => Box::new(DayNode::Number(number)),
        PlanPart::Day(node) => Box::new(node),
        PlanPart::Document(_) => unreachable!("levels were compared"),
    };
    Ok(match (left.level(), right.level()) {
        (PartLevel::Constant, PartLevel::Constant) => {
            let (PlanPart::Constant(left), PlanPart::Constant(right)) = (left, right) else {
                unreachable!("levels say so")
            };
            PlanPart::Constant(op.apply(left, right))
        }
        (PartLevel::Document | PartLevel::Constant, PartLevel::Document | PartLevel::Constant) => {
            PlanPart::Document(DocumentNode::Binary(op, document(left), document(right)))
        }
        (PartLevel::Day | PartLevel::Constant, PartLevel::Day | PartLevel::Constant) => {
            PlanPart::Day(DayNode::Binary(op, day(left), day(right)))
        }
        _ => bail!(
            "第 {at} 字的运算符两边分别是文档的数值与日度数值：请先汇总前者，如 mean(x)",
            "the operator at character {at} stands between a number of documents and one of days: aggregate the former, as in mean(x)"
        ),
    })
}

/// Fails on names that no feature may have.
pub fn check_feature_name(name: &str) -> Result<()> {
    ensure!(
        !RESERVED.contains(&name),
        "{name:?} 在因子表达式中另有含义；请换一个名称",
        "{name:?} means something else in expressions of factors; choose another name"
    );
    Ok(())
}

#[cfg(test)]
mod tests;

//! A small generative grammar: rules of alternatives with slots, choices and marks of tone.
//!
//! A grammar file has rules `:: name`, then one alternative a line; `#` opens a comment. In an alternative
//! `{name}` is another rule or a variable of the scene, `(a|b|)` a choice, and `[+...]` or `[-...]` a phrase that counts
//! as one positive or one negative phrase of the document. The sign of a mark is the sign after negation: what reads
//! `未能[...]` in other grammars is `[-未能...]` here. The tone of a text is thus known from how it was made.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rustc_hash::FxHashMap;

use inkstone_base::language::Word;
use inkstone_base::{bail, message};

/// A text under way, with the marks written into it so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    pub(super) text: String,
    pub(super) positive: u32,
    pub(super) negative: u32,
}

impl Draft {
    /// (P - N) / (P + N); 0 when nothing was marked.
    pub(super) fn tone(&self) -> f64 {
        let marks = self.positive + self.negative;
        if marks == 0 { 0.0 } else { (f64::from(self.positive) - f64::from(self.negative)) / f64::from(marks) }
    }
}

/// Gives the text of a variable, by name; `None` when there is no such variable.
pub(super) trait Scene {
    /// Appends the text of `variable`; false when there is no such variable.
    fn fill(&self, variable: &str, rng: &mut ChaCha8Rng, out: &mut String) -> bool;
}

enum Node {
    Text(String),
    Slot(String),
    Choice(Vec<Vec<Node>>),
    Mark(bool, Vec<Node>),
}

/// The rules of all grammar files, by name.
pub(super) struct Grammar {
    rules: FxHashMap<String, Vec<Vec<Node>>>,
}

impl Grammar {
    /// Reads grammar files, given with their names; a rule may be continued in a later file.
    pub(super) fn parse(files: &[(&str, &str)]) -> Result<Grammar> {
        let mut rules: FxHashMap<String, Vec<Vec<Node>>> = FxHashMap::default();
        for (file, text) in files {
            let mut name: Option<&str> = None;
            for (number, line) in text.lines().enumerate() {
                let line = line.trim();
                if line.is_empty() || line.starts_with('#') {
                    continue;
                }
                if let Some(rule) = line.strip_prefix("::") {
                    name = Some(rule.trim());
                    continue;
                }
                let place = || format!("{file}, line {}: {line}", number + 1);
                let rule = name.with_context(|| {
                    message!("第一条规则之前有内容：{}", "a line before the first rule: {}", place())
                })?;
                let mut rest = line;
                let alternative = parse_nodes(&mut rest, "").with_context(place)?;
                rules.entry(rule.to_owned()).or_default().push(alternative);
            }
        }
        Ok(Grammar { rules })
    }

    /// True if there is a rule of this name.
    pub(super) fn has(&self, rule: &str) -> bool {
        self.rules.contains_key(rule)
    }

    /// Number of alternatives of a rule.
    pub(super) fn alternatives(&self, rule: &str) -> usize {
        self.rules.get(rule).map_or(0, Vec::len)
    }

    /// Appends one alternative of `rule`, drawn evenly.
    pub(super) fn write(&self, rule: &str, scene: &dyn Scene, rng: &mut ChaCha8Rng, out: &mut Draft) -> Result<()> {
        let n = self.alternatives(rule);
        if n == 0 {
            bail!("语法没有规则 {rule:?}", "the grammar has no rule {rule:?}");
        }
        let i = rng.random_range(0..n);
        self.write_alternative(rule, i, scene, rng, out)
    }

    /// Appends alternative `i` of `rule`, for callers that must not repeat one.
    pub(super) fn write_alternative(
        &self,
        rule: &str,
        i: usize,
        scene: &dyn Scene,
        rng: &mut ChaCha8Rng,
        out: &mut Draft,
    ) -> Result<()> {
        let alternatives = self
            .rules
            .get(rule)
            .with_context(|| message!("语法没有规则 {rule:?}", "the grammar has no rule {rule:?}"))?;
        self.expand(&alternatives[i], scene, rng, out)
            .with_context(|| message!("规则 {rule:?} 中", "in the rule {rule:?}"))
    }

    fn expand(&self, nodes: &[Node], scene: &dyn Scene, rng: &mut ChaCha8Rng, out: &mut Draft) -> Result<()> {
        for node in nodes {
            match node {
                Node::Text(text) => out.text.push_str(text),
                Node::Slot(name) if self.has(name) => self.write(name, scene, rng, out)?,
                Node::Slot(name) => {
                    if !scene.fill(name, rng, &mut out.text) {
                        bail!("{{{name}}} 既不是规则也不是变量", "{{{name}}} is neither a rule nor a variable");
                    }
                }
                Node::Choice(options) => {
                    let i = rng.random_range(0..options.len());
                    self.expand(&options[i], scene, rng, out)?;
                }
                Node::Mark(positive, inner) => {
                    if *positive {
                        out.positive += 1;
                    } else {
                        out.negative += 1;
                    }
                    self.expand(inner, scene, rng, out)?;
                }
            }
        }
        Ok(())
    }

    /// The alternatives of a rule that is a plain list.
    pub(super) fn lines(&self, rule: &str) -> Vec<&str> {
        fn text(nodes: &Vec<Node>) -> Option<&str> {
            if let [Node::Text(text)] = nodes.as_slice() { Some(text) } else { None }
        }
        self.rules.get(rule).into_iter().flatten().filter_map(text).collect()
    }

    /// The phrases that count as positive, or as negative, with every choice in them made in every way; each once, ascending. Slots
    /// are left out: what fills them has no tone.
    pub(super) fn marked(&self, positive: bool) -> BTreeSet<String> {
        /// Every text that nodes can give.
        fn texts(nodes: &[Node]) -> Vec<String> {
            nodes.iter().fold(vec![String::new()], |before, node| {
                let more = match node {
                    Node::Text(text) => vec![text.clone()],
                    Node::Slot(_) => vec![String::new()],
                    Node::Choice(options) => options.iter().flat_map(|option| texts(option)).collect(),
                    Node::Mark(_, inner) => texts(inner),
                };
                before.iter().flat_map(|start| more.iter().map(move |end| format!("{start}{end}"))).collect()
            })
        }
        fn collect(nodes: &[Node], positive: bool, out: &mut BTreeSet<String>) {
            for node in nodes {
                match node {
                    Node::Text(_) | Node::Slot(_) => {}
                    Node::Choice(options) => options.iter().for_each(|option| collect(option, positive, out)),
                    Node::Mark(sign, inner) if *sign == positive => out.extend(texts(inner)),
                    Node::Mark(..) => {}
                }
            }
        }
        let mut out = BTreeSet::new();
        self.rules.values().flatten().for_each(|alternative| collect(alternative, positive, &mut out));
        out
    }

    /// Every literal of the grammar with the rule it stands in, for tests of the vocabulary.
    #[cfg(test)]
    pub(super) fn literals(&self) -> Vec<(&str, &str)> {
        fn collect<'a>(rule: &'a str, nodes: &'a [Node], out: &mut Vec<(&'a str, &'a str)>) {
            for node in nodes {
                match node {
                    Node::Text(text) => out.push((rule, text)),
                    Node::Slot(_) => {}
                    Node::Choice(options) => options.iter().for_each(|o| collect(rule, o, out)),
                    Node::Mark(_, inner) => collect(rule, inner, out),
                }
            }
        }
        let mut out = Vec::new();
        for (rule, alternatives) in &self.rules {
            alternatives.iter().for_each(|a| collect(rule, a, &mut out));
        }
        out
    }
}

/// Reads nodes up to one of the `stop` characters, which is left in `rest`.
fn parse_nodes(rest: &mut &str, stop: &str) -> Result<Vec<Node>> {
    let mut nodes = Vec::new();
    while let Some(c) = rest.chars().next() {
        if stop.contains(c) {
            return Ok(nodes);
        }
        match c {
            '{' => {
                let end = rest.find('}').context(Word("有 { 没有闭合", "a { that is never closed"))?;
                nodes.push(Node::Slot(rest[1..end].to_owned()));
                *rest = &rest[end + 1..];
            }
            '(' => {
                let mut options = Vec::new();
                while !rest.starts_with(')') {
                    *rest = rest.get(1..).context(Word("有 ( 没有闭合", "a ( that is never closed"))?;
                    options.push(parse_nodes(rest, "|)")?);
                }
                nodes.push(Node::Choice(options));
                *rest = &rest[1..];
            }
            '[' => {
                let positive = match rest[1..].chars().next() {
                    Some('+') => true,
                    Some('-') => false,
                    _ => bail!("标记须以 [+ 或 [- 开头", "a mark opens with [+ or [-"),
                };
                *rest = &rest[2..];
                let inner = parse_nodes(rest, "]")?;
                *rest = rest.strip_prefix(']').context(Word("有 [ 没有闭合", "a [ that is never closed"))?;
                nodes.push(Node::Mark(positive, inner));
            }
            ')' | ']' | '}' | '|' => bail!("意外的 {c}", "an unexpected {c}"),
            _ => {
                let end = rest.find(['{', '(', '[', '|', ')', ']', '}']).unwrap_or(rest.len());
                nodes.push(Node::Text(rest[..end].to_owned()));
                *rest = &rest[end..];
            }
        }
    }
    if stop.is_empty() {
        Ok(nodes)
    } else {
        bail!("行已结束，缺少 {stop:?} 之一", "the line ends before one of {stop:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::rand_core::SeedableRng;

    struct Name;

    impl Scene for Name {
        fn fill(&self, variable: &str, _: &mut ChaCha8Rng, out: &mut String) -> bool {
            out.push_str("远山");
            variable == "公司"
        }
    }

    #[test]
    fn marks_are_counted_with_their_sign() {
        let text = ":: 甲\n{公司}净利润[+(大增|大增)]，[-未能{乙}]，(成本[-上升]|费用[-上升])\n:: 乙\n[-扭亏]为盈";
        let grammar = Grammar::parse(&[("test", text)]).unwrap();
        let mut draft = Draft::default();
        grammar.write("甲", &Name, &mut ChaCha8Rng::seed_from_u64(1), &mut draft).unwrap();
        assert!(draft.text.starts_with("远山净利润大增，未能扭亏为盈，"), "{}", draft.text);
        assert_eq!((draft.positive, draft.negative), (1, 3));
        assert_eq!(draft.tone(), -0.5);
    }

    #[test]
    fn marked_phrases_are_listed_with_every_choice() {
        let text = ":: 甲\n净利润[+(大幅|)增长]，([-未能{乙}]|成本[-上升])\n:: 乙\n[-扭亏]为盈";
        let grammar = Grammar::parse(&[("test", text)]).unwrap();
        let marked = |positive| grammar.marked(positive).into_iter().collect::<Vec<_>>();
        assert_eq!(marked(true), ["增长", "大幅增长"]);
        assert_eq!(marked(false), ["上升", "扭亏", "未能"]);
    }

    #[test]
    fn mistakes_name_their_line() {
        for bad in ["{公司", "(a|b", "[好]", "[+好", "a)b"] {
            let error = Grammar::parse(&[("f", &format!(":: r\n{bad}"))]).err().unwrap();
            assert!(format!("{error:#}").contains("f, line 2"), "{error:#}");
        }
        let grammar = Grammar::parse(&[("f", ":: r\n{不知}")]).unwrap();
        let error = grammar.write("r", &Name, &mut ChaCha8Rng::seed_from_u64(1), &mut Draft::default()).unwrap_err();
        assert!(format!("{error:#}").contains("不知"));
    }
}

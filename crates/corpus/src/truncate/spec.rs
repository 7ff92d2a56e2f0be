//! Strategies as text.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result};

use super::{Over, Pick, Strategy};
use crate::structure::{Measure, Section};
use inkstone_text::Truncation;

use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};

/// Forms of strategies, for messages.
const KNOWN: Word = Word(
    "可用 none、head:512、tail:512、middle:512、random:512、head+tail:128+382、head+tail:512@0.25、sections:512@rating,summary、tfidf:512、textrank:512、novelty:512、windows:512/256@mean、sentences:512@mean；长度后加 c 表示按字（head:500c），末尾可加 +title、-title 或 -boilerplate",
    "none, head:512, tail:512, middle:512, random:512, head+tail:128+382, head+tail:512@0.25, sections:512@rating,summary, tfidf:512, textrank:512, novelty:512, windows:512/256@mean, sentences:512@mean, with c behind the limit for characters (head:500c), and +title, -title or -boilerplate behind it all",
);

/// The order of sections where none is given: the view of a report before its evidence.
const SECTIONS: [Section; 5] = [Section::Title, Section::Rating, Section::Summary, Section::Forecast, Section::Body];

impl Strategy {
    /// The strategies that a word stands for: itself where it has its limit (`head:512`), else one for each of these limits (`head`,
    /// `sections@rating`).
    pub fn at_lengths(text: &str, lengths: &[usize], characters: bool) -> Result<Vec<Strategy>> {
        let word = text.split_whitespace().next().unwrap_or_default();
        if word.contains(':') || word == "none" {
            return Ok(vec![text.parse()?]);
        }
        ensure!(
            !lengths.is_empty(),
            "策略 {text:?} 没有长度上限，也没有给出要试的 lengths",
            "the strategy {text:?} has no limit, and there are no lengths to try it at"
        );
        let name = word.find(['@', '/']).unwrap_or(word.len());
        let (name, rest) = text.trim().split_at(name);
        let unit = if characters { "c" } else { "" };
        lengths.iter().map(|length| format!("{name}:{length}{unit}{rest}").parse()).collect()
    }

    /// The strategy without its limit, by which those of several lengths belong together.
    pub fn family(&self) -> String {
        let text = self.to_string();
        let word = text.split(' ').next().unwrap_or_default();
        let Some((name, limit)) = word.split_once(':') else { return text };
        let rest = limit.find('@').map_or("", |at| &limit[at..]);
        format!("{name}{rest}{}", &text[word.len()..])
    }
}

impl FromStr for Strategy {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Strategy> {
        parse(text).with_context(|| {
            message!("{text:?} 不是截断策略：{KNOWN}", "{text:?} is no strategy of truncation: {KNOWN}")
        })
    }
}

fn parse(text: &str) -> Result<Strategy> {
    // Spaces around the signs within the first word are let pass, as they always were.
    let modifiers = [" +title", " -title", " -boilerplate"]
        .iter()
        .filter_map(|modifier| text.find(modifier))
        .min()
        .unwrap_or(text.len());
    let (word, modifiers) = text.split_at(modifiers);
    let mut word: String = word.split_whitespace().collect();
    let end = word.find('@').unwrap_or(word.len());
    let characters = word.contains(':') && word[..end].ends_with('c');
    if characters {
        word.remove(end - 1);
    }
    let mut strategy = Strategy { pick: pick(&word)?, characters, ..Strategy::default() };
    for modifier in modifiers.split_whitespace() {
        match modifier {
            "+title" => strategy.title = true,
            "-title" => strategy.drop_title = true,
            "-boilerplate" => strategy.drop_boilerplate = true,
            other => bail!("没有修饰项 {other:?}", "there is no modifier {other:?}"),
        }
    }
    ensure!(
        !(strategy.title && strategy.drop_title),
        "标题既要保留又要去掉：请二选一",
        "the title is to be kept and dropped: choose one"
    );
    Ok(strategy)
}

fn pick(word: &str) -> Result<Pick> {
    let (name, rest) = word.split_once(':').unwrap_or((word, ""));
    if matches!(name, "none" | "head" | "tail" | "head+tail") {
        return Ok(Pick::Place(word.parse::<Truncation>()?));
    }
    let (limits, argument) = rest.split_once('@').map_or((rest, None), |(limits, argument)| (limits, Some(argument)));
    let plain = |pick: Pick| match argument {
        None => Ok(pick),
        Some(argument) => {
            bail!("{name} 只带长度上限，不能写 {argument:?}", "{name} takes a limit alone, not {argument:?}")
        }
    };
    match name {
        "middle" => plain(Pick::Middle(number(limits)?)),
        "random" => plain(Pick::Random(number(limits)?)),
        "tfidf" => plain(Pick::Salient { limit: number(limits)?, by: Measure::Tfidf }),
        "textrank" => plain(Pick::Salient { limit: number(limits)?, by: Measure::Textrank }),
        "novelty" => plain(Pick::Salient { limit: number(limits)?, by: Measure::Novelty }),
        "sections" => {
            let order =
                argument.map_or_else(|| Ok(SECTIONS.to_vec()), |names| names.split(',').map(Section::parse).collect());
            Ok(Pick::Sections { limit: number(limits)?, order: order? })
        }
        "windows" => {
            let (limit, stride) = limits.split_once('/').map_or((limits, None), |(limit, by)| (limit, Some(by)));
            let limit = number(limit)?;
            let stride = stride.map_or_else(|| Ok((limit / 2).max(1)), number)?;
            ensure!(
                stride <= limit,
                "步长 {stride} 大于窗口 {limit}，会漏掉窗口之间的词元",
                "a stride of {stride} passes over tokens between windows of {limit}"
            );
            Ok(Pick::Windows { limit, stride, over: over(argument)? })
        }
        "sentences" => Ok(Pick::Sentences { limit: number(limits)?, over: over(argument)? }),
        other => bail!("没有策略 {other:?}", "there is no strategy {other:?}"),
    }
}

fn number(field: &str) -> Result<usize> {
    ensure!(!field.is_empty(), "缺少长度上限", "a limit is missing");
    let number = field.parse().with_context(|| message!("{field:?} 不是整数", "{field:?} is not a whole number"))?;
    ensure!((1..=u32::MAX as usize).contains(&number), "{number} 个词元超出范围", "{number} tokens is out of range");
    Ok(number)
}

fn over(name: Option<&str>) -> Result<Over> {
    let Some(name) = name else { return Ok(Over::default()) };
    let found = Over::ALL.into_iter().find(|over| over.name() == name);
    found.with_context(|| {
        message!(
            "窗口合并方式为 mean、max、first 或 salience，不能是 {name:?}",
            "windows become one by mean, max, first or salience, not {name:?}"
        )
    })
}

impl Over {
    const ALL: [Over; 4] = [Over::Mean, Over::Max, Over::First, Over::Salience];

    pub fn name(self) -> &'static str {
        match self {
            Over::Mean => "mean",
            Over::Max => "max",
            Over::First => "first",
            Over::Salience => "salience",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut word = match &self.pick {
            Pick::Place(truncation) => truncation.to_string(),
            Pick::Middle(limit) => format!("middle:{limit}"),
            Pick::Random(limit) => format!("random:{limit}"),
            Pick::Salient { limit, by: Measure::Tfidf } => format!("tfidf:{limit}"),
            Pick::Salient { limit, by: Measure::Textrank } => format!("textrank:{limit}"),
            Pick::Salient { limit, by: Measure::Novelty } => format!("novelty:{limit}"),
            Pick::Sections { limit, order } => {
                let names: Vec<&str> = order.iter().map(|section| section.name()).collect();
                format!("sections:{limit}@{}", names.join(","))
            }
            Pick::Windows { limit, stride, over } => format!("windows:{limit}/{stride}@{}", over.name()),
            Pick::Sentences { limit, over } => format!("sentences:{limit}@{}", over.name()),
        };
        if self.characters && word.contains(':') {
            word.insert(word.find('@').unwrap_or(word.len()), 'c');
        }
        f.write_str(&word)?;
        if self.drop_boilerplate {
            f.write_str(" -boilerplate")?;
        }
        if self.title {
            f.write_str(" +title")?;
        }
        if self.drop_title {
            f.write_str(" -title")?;
        }
        Ok(())
    }
}

inkstone_base::as_text!(Strategy);

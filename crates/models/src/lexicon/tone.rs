//! Reading a document with a lexicon: find the entries, pass over boilerplate, have each clause weighed, add up.

use serde::{Deserialize, Serialize};

use super::clause::{Found, weigh};
use super::{Extent, Lexicon, Role, ToneScale};

/// The tone of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tone {
    /// Sum of the weights of positive words, negated negative ones among them.
    pub positive: f32,
    /// Sum of the weights of negative words, as a number above 0.
    pub negative: f32,
    /// Tokens that were read; marks, blanks and boilerplate are not.
    pub tokens: u32,
    /// By the scale of the parameters; 0 for a document that was read and has no tone word. A document that does not
    /// exist has no tone at all, which is for the caller to tell apart.
    pub tone: f32,
}

/// A tone word in a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// Index of its first token.
    pub token: usize,
    pub tokens: usize,
    pub word: String,
    /// The weight that it adds: above 0 to the positive side, below 0 to the negative one; negation, degree and burden included.
    pub weight: f32,
    /// True if negation turned its sign.
    pub negated: bool,
    /// True if it is a movement of something that should be low, such as costs.
    pub burden: bool,
    /// The factor of its degree word; 1 without one.
    pub degree: f32,
}

impl Lexicon {
    /// The tone of a document given as its tokens.
    pub fn tone(&self, tokens: &[&str]) -> Tone {
        let mut tone = Tone::default();
        tone.tokens = self.scan(tokens, |hit| {
            if hit.weight > 0.0 {
                tone.positive += hit.weight;
            } else {
                tone.negative -= hit.weight;
            }
        });
        let by = match self.params.scale {
            ToneScale::Balance => tone.positive + tone.negative,
            ToneScale::PerToken => tone.tokens as f32,
        };
        tone.tone = if by > 0.0 { (tone.positive - tone.negative) / by } else { 0.0 };
        tone
    }

    /// The tone words of a document, in order: why its tone is what it is. Words that count for nothing where they stand
    /// (a mere risk, an event that is called off) are not among them.
    pub fn explain(&self, tokens: &[&str]) -> Vec<Hit> {
        let mut hits = Vec::new();
        self.scan(tokens, |hit| hits.push(hit));
        hits
    }

    /// Calls `hit` for each tone word that counts. Returns the words read.
    fn scan(&self, tokens: &[&str], mut hit: impl FnMut(Hit)) -> u32 {
        let (mut joined, mut clause, mut lost) = (String::new(), Vec::new(), Vec::new());
        let (mut at, mut read, mut opening, mut warned) = (0, 0, true, false);
        while at < tokens.len() {
            match mark_of(tokens[at]) {
                Boundary::None => {}
                Boundary::Blank => {
                    at += 1;
                    continue;
                }
                mark => {
                    weigh(&self.params, tokens, &mut clause, &mut lost, &mut hit);
                    warned = warned && mark != Boundary::Line;
                    opening = mark != Boundary::Clause || (opening && is_bracket(tokens[at]));
                    at += 1;
                    continue;
                }
            }
            if opening && warned && self.params.skip_boilerplate {
                // A warning goes on for as long as its sentences are numbered.
                if tokens[at].chars().all(|c| c.is_ascii_digit() || "①②③④⑤⑥⑦⑧⑨".contains(c)) {
                    at = end_of(tokens, at, Extent::Sentences);
                    continue;
                }
                warned = false;
            }
            let found = self.longest_at(&tokens[at..], &mut joined);
            if let (Some((Role::Boilerplate(extent), length)), true, true) =
                (found, opening, self.params.skip_boilerplate)
                && tokens.get(at + length).is_some_and(|next| matches!(*next, "：" | ":" | "】") || next.contains('\n'))
            {
                at = end_of(tokens, at + length + 1, extent);
                warned = extent == Extent::Sentences;
                continue;
            }
            let length = found.map_or(1, |(_, length)| length);
            if let Some((role, tokens)) = found {
                clause.push(Found { at, tokens, role });
            }
            opening = opening && tokens[at].chars().all(is_numbering);
            read += length as u32;
            at += length;
        }
        weigh(&self.params, tokens, &mut clause, &mut lost, &mut hit);
        read
    }
}

/// The end of boilerplate that goes on at token `at`.
fn end_of(tokens: &[&str], at: usize, extent: Extent) -> usize {
    let ends = |token: &&str| match mark_of(token) {
        Boundary::Line => true,
        Boundary::Sentence => extent == Extent::Sentences,
        _ => false,
    };
    tokens.iter().skip(at).position(ends).map_or(tokens.len(), |i| at + i)
}

/// Characters of the numbering and brackets that may stand before the heading of a paragraph: 三、风险提示：
fn is_numbering(c: char) -> bool {
    c.is_ascii_digit() || "一二三四五六七八九十、.．【《■●◆★*".contains(c)
}

/// Brackets about the numbering of a sentence: （1）
fn is_bracket(token: &str) -> bool {
    matches!(token, "（" | "）" | "(" | ")")
}

/// The part of a text that a token ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Boundary {
    None,
    Blank,
    Clause,
    Sentence,
    Line,
}

fn mark_of(token: &str) -> Boundary {
    match token {
        "。" | "！" | "？" | "!" | "?" | "……" => Boundary::Sentence,
        "，" | "," | "；" | ";" | "：" | ":" | "（" | "）" | "(" | ")" => Boundary::Clause,
        _ if token.contains('\n') => Boundary::Line,
        _ if token.trim().is_empty() => Boundary::Blank,
        _ => Boundary::None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::lexicon::LexiconParams;
    use inkstone_text::{Segmenter, TokenizerParams};

    fn lexicon() -> Lexicon {
        Lexicon::new(&LexiconParams::default(), Path::new("")).unwrap()
    }

    /// The tone words of a text whose tokens are apart by spaces, with their weights.
    fn weights(text: &str) -> Vec<(String, f32)> {
        let tokens: Vec<&str> = text.split(' ').collect();
        lexicon().explain(&tokens).into_iter().map(|hit| (hit.word, hit.weight)).collect()
    }

    fn owned(pairs: &[(&str, f32)]) -> Vec<(String, f32)> {
        pairs.iter().map(|&(word, weight)| (word.to_owned(), weight)).collect()
    }

    #[test]
    fn the_longest_entry_wins_however_the_text_is_cut() {
        let expected = owned(&[("不及预期", -1.5)]);
        for text in ["业绩 不及 预期", "业绩 不及预期", "业 绩 不 及 预 期"] {
            assert_eq!(weights(text), expected, "{text}");
        }
        assert_eq!(weights("不锈钢 产量 平稳"), owned(&[("平稳", 0.5)]));
        assert_eq!(weights("不 锈 钢 产 量 平 稳"), owned(&[("平稳", 0.5)]));
    }

    #[test]
    fn the_ends_of_lines_are_tokens() {
        let segmenter = Segmenter::new(&TokenizerParams::default(), Path::new("")).unwrap();
        assert_eq!(Lexicon::tokens("营收\n风险：下滑", &segmenter), ["营收", "\n", "风险", "：", "下滑", "\n"]);
    }

    #[test]
    fn substrings_of_a_token_are_no_words() {
        assert_eq!(weights("增长率 华创新高科 公司"), []);
    }

    #[test]
    fn negation_turns_within_its_window_and_clause() {
        assert_eq!(weights("营收 未 能 实现 增长"), owned(&[("增长", -1.0)]));
        assert_eq!(weights("并非 没有 增长"), owned(&[("增长", 1.0)]));
        assert_eq!(weights("尚未 签约 ， 订单 增长"), owned(&[("签约", -1.0), ("增长", 1.0)]));
        assert_eq!(weights("没有 甲 乙 丙 增长"), owned(&[("增长", -1.0)]));
        assert_eq!(weights("没有 甲 乙 丙 丁 增长"), owned(&[("增长", 1.0)]));
        assert_eq!(weights("未 增长 反而 下滑"), owned(&[("增长", -1.0), ("下滑", -1.0)]));
    }

    #[test]
    fn that_something_bad_did_not_happen_is_weaker_news() {
        assert_eq!(weights("公司 没有 违约"), owned(&[("违约", 1.0)]));
        assert_eq!(weights("成本 没有 上升"), owned(&[("上升", 0.5)]));
    }

    #[test]
    fn degree_words_weigh_the_tone_word_that_they_stand_by() {
        assert_eq!(weights("利润 大幅 增长"), owned(&[("增长", 1.5)]));
        assert_eq!(weights("利润 略 下滑"), owned(&[("下滑", -0.6)]));
        assert_eq!(weights("利润 增长 显著"), owned(&[("增长", 1.5)]));
        assert_eq!(weights("利润 增长 显著 放缓"), owned(&[("增长", 1.0), ("放缓", -1.5)]));
    }

    #[test]
    fn less_of_a_burden_is_good_news() {
        assert_eq!(weights("成本 同比 下降"), owned(&[("下降", 1.0)]));
        assert_eq!(weights("亏损 同比 收窄"), owned(&[("亏损", -1.5), ("收窄", 0.5)]));
        assert_eq!(weights("成本 上升 导致 利润 下滑"), owned(&[("上升", -1.0), ("下滑", -1.0)]));
        assert_eq!(weights("费用率 没有 下降"), owned(&[("下降", -1.0)]));
    }

    #[test]
    fn sentences_of_boilerplate_are_passed_over() {
        assert_eq!(
            weights("订单 增长 。 风险 提示 ： 需求 下滑 ， 竞争 加剧 。 维持 买入"),
            owned(&[("增长", 1.0), ("买入", 1.5)])
        );
        assert_eq!(weights("三 、 风险提示 ： 需求 下滑"), []);
        assert_eq!(weights("风险提示 ： 1 、 需求 下滑 。 2 、 价格 下跌 。 订单 增长"), owned(&[("增长", 1.0)]));
        assert_eq!(weights("合计 100 200 \n 免责声明 ： 本文 ， 亏损 。 侵权 \n 订单 增长"), owned(&[("增长", 1.0)]));
        assert_eq!(weights("公司 发布 风险提示 公告 ， 业绩 下滑"), owned(&[("下滑", -1.0)]));
    }

    #[test]
    fn the_tone_is_a_balance_or_a_share_of_the_tokens() {
        let tokens = ["利润", "增长", "，", "现金流", "下滑", "，", "前景", "下滑"];
        let tone = lexicon().tone(&tokens);
        assert_eq!((tone.positive, tone.negative, tone.tokens), (1.0, 2.0, 6));
        assert!((tone.tone + 1.0 / 3.0).abs() < 1e-6);
        let params = LexiconParams { scale: ToneScale::PerToken, ..LexiconParams::default() };
        let per_token = Lexicon::new(&params, Path::new("")).unwrap().tone(&tokens);
        assert!((per_token.tone + 1.0 / 6.0).abs() < 1e-6);
        assert_eq!(lexicon().tone(&["公司", "召开", "会议"]).tone, 0.0);
        assert_eq!(lexicon().tone(&[]), Tone::default());
    }

    #[test]
    fn hits_point_at_their_tokens() {
        let hits = lexicon().explain(&["公司", "业绩", "大幅", "不及", "预期"]);
        let expected = Hit {
            token: 3,
            tokens: 2,
            word: "不及预期".into(),
            weight: -2.25,
            negated: false,
            burden: false,
            degree: 1.5,
        };
        assert_eq!(hits, [expected]);
    }
}

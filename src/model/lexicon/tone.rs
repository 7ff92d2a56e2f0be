//! Reading a document with a lexicon: find the entries, apply negations, degrees and burdens, add up.

use serde::{Deserialize, Serialize};

use super::{Lexicon, Role, ToneScale};

/// Tokens before a word of movement in which a burden turns it: 成本 同比 大幅 下降.
const BURDEN_WINDOW: usize = 4;

/// The same for a negative tone word: 亏损 同比 收窄.
const NEGATIVE_WINDOW: usize = 2;

/// What is left of a negative word that is negated: 没有 违约 is weaker news than 违约 is bad. A negated positive word counts
/// in full.
const NEGATED_NEGATIVE: f32 = 0.5;

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
    /// Number of its tokens.
    pub tokens: usize,
    /// The entry.
    pub word: String,
    /// What it adds: above 0 to the positive side, below 0 to the negative one; negation, degree and burden included.
    pub weight: f32,
    /// Whether negation turned its sign.
    pub negated: bool,
    /// Whether it is a movement of something of which less is better.
    pub burden: bool,
    /// The factor of its degree word; 1 without one.
    pub degree: f32,
}

/// An entry found in the text.
#[derive(Clone, Copy)]
struct Found {
    at: usize,
    tokens: usize,
    role: Role,
}

impl Found {
    /// The token after the entry.
    fn end(&self) -> usize {
        self.at + self.tokens
    }
}

impl Lexicon {
    /// The tone of a document given as its tokens.
    pub fn tone(&self, tokens: &[&str]) -> Tone {
        let mut tone = Tone::default();
        tone.tokens = self.scan(tokens, |found, negated, burden, degree| {
            let weight = weight_of(found.role, negated, burden, degree);
            if weight > 0.0 {
                tone.positive += weight;
            } else {
                tone.negative -= weight;
            }
        });
        let by = match self.params.scale {
            ToneScale::Balance => tone.positive + tone.negative,
            ToneScale::PerToken => tone.tokens as f32,
        };
        tone.tone = if by > 0.0 { (tone.positive - tone.negative) / by } else { 0.0 };
        tone
    }

    /// The tone words of a document, in order: why its tone is what it is.
    pub fn explain(&self, tokens: &[&str]) -> Vec<Hit> {
        let mut hits = Vec::new();
        self.scan(tokens, |found, negated, burden, degree| {
            hits.push(Hit {
                token: found.at,
                tokens: found.tokens,
                word: tokens[found.at..found.end()].concat(),
                weight: weight_of(found.role, negated, burden, degree),
                negated,
                burden,
                degree,
            });
        });
        hits
    }

    /// Calls `hit` for each tone word with whether it is negated, whether a burden moves, and its degree. Returns the
    /// words read.
    fn scan(&self, tokens: &[&str], mut hit: impl FnMut(Found, bool, bool, f32)) -> u32 {
        let (mut joined, mut clause) = (String::new(), Vec::new());
        let (mut at, mut read, mut opening) = (0, 0, true);
        while at < tokens.len() {
            match mark_of(tokens[at]) {
                Mark::None => {}
                Mark::Blank => {
                    at += 1;
                    continue;
                }
                mark => {
                    self.close(&mut clause, &mut hit);
                    opening = mark == Mark::Sentence;
                    at += 1;
                    continue;
                }
            }
            let found = self.longest_at(&tokens[at..], &mut joined);
            if let (Some((Role::Boilerplate, length)), true, true) = (found, opening, self.params.skip_boilerplate)
                && tokens.get(at + length).is_some_and(|next| matches!(*next, "：" | ":" | "】") || next.contains('\n'))
            {
                at += length + 1;
                while at < tokens.len() && mark_of(tokens[at]) != Mark::Sentence {
                    at += 1;
                }
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
        self.close(&mut clause, &mut hit);
        read
    }

    /// Weighs the tone words of a finished clause, and empties it.
    fn close(&self, clause: &mut Vec<Found>, hit: &mut impl FnMut(Found, bool, bool, f32)) {
        for (k, &found) in clause.iter().enumerate() {
            let Role::Tone { moves, .. } = found.role else { continue };
            // Tone words side by side (未 盈利 增长) share what stands before them; what stands before an earlier tone word
            // belongs to that one (未 增长 反而 下滑).
            let mut own = k;
            while own > 0 && is_tone(&clause[own - 1]) && clause[own - 1].end() == clause[own].at {
                own -= 1;
            }
            let first = clause[own].at;
            let before = &clause[..own];
            let before = &before[before.iter().rposition(is_tone).map_or(0, |i| i + 1)..];
            let negations = before.iter().filter(|f| f.role == Role::Negation);
            let negated = negations.filter(|f| first - f.end() < self.params.negation_window).count() % 2 == 1;
            let near = before.iter().rev().filter(|f| first - f.end() < self.params.degree_window);
            let degree = near.filter_map(degree_of).next().or_else(|| after(&clause[k..])).unwrap_or(1.0);
            hit(found, negated, moves && burdened(&clause[..k], found.at), degree);
        }
        clause.clear();
    }
}

/// Whether a word of movement at token `at` moves a burden (成本 同比 下降) or something negative (亏损 收窄); `earlier` are the
/// entries of its clause before it. A burden that an earlier word moves is spent: 成本 上升 导致 利润 下滑.
fn burdened(earlier: &[Found], at: usize) -> bool {
    let spent = earlier.iter().rposition(|f| matches!(f.role, Role::Tone { moves: true, .. })).map_or(0, |i| i + 1);
    earlier[spent..].iter().any(|f| match f.role {
        Role::Burden => at - f.end() < BURDEN_WINDOW,
        Role::Tone { weight, moves: false } => weight < 0.0 && at - f.end() < NEGATIVE_WINDOW,
        _ => false,
    })
}

/// The degree word directly after a tone word (增长 显著), unless it rather belongs to a next one (增长 显著 放缓).
fn after(from: &[Found]) -> Option<f32> {
    let [tone, degree, rest @ ..] = from else { return None };
    let taken = rest.first().is_some_and(|next| is_tone(next) && next.at == degree.end());
    degree_of(degree).filter(|_| degree.at == tone.end() && !taken)
}

fn is_tone(found: &Found) -> bool {
    matches!(found.role, Role::Tone { .. })
}

fn degree_of(found: &Found) -> Option<f32> {
    if let Role::Degree(by) = found.role { Some(by) } else { None }
}

fn weight_of(role: Role, negated: bool, burden: bool, degree: f32) -> f32 {
    let Role::Tone { weight, .. } = role else { return 0.0 };
    let weight = if burden { -weight } else { weight } * degree;
    match (negated, weight < 0.0) {
        (false, _) => weight,
        (true, false) => -weight,
        (true, true) => -weight * NEGATED_NEGATIVE,
    }
}

/// Characters of the numbering and brackets that may stand before the heading of a paragraph: 三、风险提示：
fn is_numbering(c: char) -> bool {
    c.is_ascii_digit() || "一二三四五六七八九十、.．【《■●◆★*".contains(c)
}

/// What a token ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    None,
    Blank,
    Clause,
    Sentence,
}

fn mark_of(token: &str) -> Mark {
    match token {
        "。" | "！" | "？" | "!" | "?" | "……" => Mark::Sentence,
        "，" | "," | "；" | ";" | "：" | ":" | "（" | "）" | "(" | ")" => Mark::Clause,
        _ if token.contains('\n') => Mark::Sentence,
        _ if token.trim().is_empty() => Mark::Blank,
        _ => Mark::None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::model::lexicon::LexiconParams;

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

//! Weighing the tone words of one clause: what turns them, what weighs them, and which of them count for nothing.

use super::tone::Hit;
use super::{Kind, LexiconParams, Role};

/// Tokens before a word of movement in which a burden turns it: 成本 同比 大幅 下降.
const BURDEN_WINDOW: usize = 4;

/// The same for a negative tone word: 亏损 同比 收窄.
const NEGATIVE_WINDOW: usize = 2;

/// Tokens behind a word of change in which its object turns it: 降低 了 成本.
const OBJECT_WINDOW: usize = 1;

/// Tokens behind a reversal in which it calls an event off (终止 实施 本次 股份 回购), and before it (回购 方案 终止).
const EVENT_WINDOWS: [usize; 2] = [6, 3];

/// The same for a good thing that is no event: 取消 优惠, 增长 明显 不及预期.
const GOOD_WINDOWS: [usize; 2] = [1, 2];

/// The same for a bad thing and a reversal that is good: 缓解 产能 瓶颈, 压力 有所 缓解.
const RELIEF_WINDOWS: [usize; 2] = [3, 2];

/// Tokens before a word of falling in which it takes a good thing with it: 新签订单 明显 减少.
const FALLING_WINDOW: usize = 2;

/// Tokens before a risk within which the bad things are what is risked: 原材料 价格 大幅 波动 带来 的 风险.
const RISK_WINDOW: usize = 8;

/// From this weight on a bad thing is grave: that it may happen is news by itself, at this share of it.
const GRAVE: (f32, f32) = (2.0, 0.5);

/// The share that is left of a negative word that is negated: 没有 违约 is weaker news than 违约 is bad. A negated positive word counts
/// in full.
const NEGATED_NEGATIVE: f32 = 0.5;

/// An entry found in the text.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) at: usize,
    pub(super) tokens: usize,
    pub(super) role: Role,
}

impl Found {
    /// The token after the entry.
    fn end(&self) -> usize {
        self.at + self.tokens
    }

    /// Weight and kind of a tone word.
    fn tone(&self) -> Option<(f32, Kind)> {
        if let Role::Tone { weight, kind } = self.role { Some((weight, kind)) } else { None }
    }
}

/// Weighs the tone words of a finished clause, calls `hit` for each that counts, and empties it. `lost` are the events that
/// the document spoke of as called off or denied.
pub(super) fn weigh(
    params: &LexiconParams,
    tokens: &[&str],
    clause: &mut Vec<Found>,
    lost: &mut Vec<String>,
    hit: &mut impl FnMut(Hit),
) {
    let fates = reversed(clause);
    for (k, &found) in clause.iter().enumerate() {
        let Some((weight, kind)) = found.tone() else { continue };
        let word = tokens[found.at..found.end()].concat();
        // Tone words side by side (未 盈利 增长) share what stands before them; what stands before an earlier tone word
        // belongs to that one (未 增长 反而 下滑).
        let mut own = k;
        while own > 0 && clause[own - 1].tone().is_some() && clause[own - 1].end() == clause[own].at {
            own -= 1;
        }
        let first = clause[own].at;
        let before = &clause[..own];
        let before = &before[before.iter().rposition(|f| f.tone().is_some()).map_or(0, |i| i + 1)..];
        let negations = before.iter().filter(|f| f.role == Role::Negation);
        let negated = negations.filter(|f| first - f.end() < params.negation_window).count() % 2 == 1;
        let negated = negated != (fates[k] == Fate::Turned);
        if kind == Kind::Event {
            // An event that was called off stays so: 终止 回购 ， 已 回购 一百万 股. 股份回购 after 回购 is the same event.
            let off = negated || fates[k] == Fate::Spent;
            if !off && lost.iter().any(|event| event.contains(&word) || word.contains(event.as_str())) {
                continue;
            }
            if off {
                lost.push(word.clone());
            }
        }
        if fates[k] == Fate::Spent {
            continue;
        }
        let near = before.iter().rev().filter(|f| first - f.end() < params.degree_window);
        let degree = near.filter_map(degree_of).next().or_else(|| after(&clause[k..])).unwrap_or(1.0);
        let burden =
            (kind.moves() && burdened(&clause[..k], found.at)) || (kind == Kind::Change && takes(&clause[k..]));
        let mut total = if burden { -weight } else { weight } * degree;
        if negated {
            total *= if total < 0.0 { -NEGATED_NEGATIVE } else { -1.0 };
        }
        if total < 0.0 && risked(&clause[k..]) {
            total *= if weight <= -GRAVE.0 { GRAVE.1 } else { 0.0 };
        }
        if total != 0.0 {
            hit(Hit { token: found.at, tokens: found.tokens, word, weight: total, negated, burden, degree });
        }
    }
    clause.clear();
}

/// The effect on a tone word of a reversal in its clause.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It stands as it is.
    Kept,
    /// Another word tells the news of this one.
    Spent,
    /// It is called off.
    Turned,
}

/// The effect of reversals on the words of their clause. A good thing is spent by its reversal, which is the bad news, and a bad
/// thing by its relief; a bad event that is called off is turned, and its reversal spent.
fn reversed(clause: &[Found]) -> Vec<Fate> {
    let mut fates = vec![Fate::Kept; clause.len()];
    for (k, found) in clause.iter().enumerate() {
        let Some((weight, kind)) = found.tone() else { continue };
        if weight < 0.0 && kind.moves() && !burdened(&clause[..k], found.at) {
            // 订单 减少, 信心 下降: what goes down is no good news by its name.
            let last = (0..k).rev().find(|&i| clause[i].tone().is_some());
            if let Some(i) = last.filter(|&i| found.at - clause[i].end() < FALLING_WINDOW)
                && matches!(clause[i].tone(), Some((w, Kind::Plain | Kind::Event)) if w > 0.0)
            {
                fates[i] = Fate::Spent;
            }
        }
        if kind != Kind::Reversal {
            continue;
        }
        let relief = weight > 0.0;
        let reach = |i: usize, side: usize| {
            let (weight, kind) = clause[i].tone()?;
            let gap = if side == 0 { clause[i].at - found.end() } else { found.at - clause[i].end() };
            let window = match kind {
                Kind::Reversal => return None,
                _ if relief && weight < 0.0 => RELIEF_WINDOWS[side],
                _ if relief => return None,
                Kind::Event => EVENT_WINDOWS[side],
                _ if weight > 0.0 => GOOD_WINDOWS[side],
                _ => return None,
            };
            (gap < window).then_some((i, weight))
        };
        let behind = (k + 1..clause.len()).find(|&i| clause[i].tone().is_some()).and_then(|i| reach(i, 0));
        let before = || (0..k).rev().find(|&i| clause[i].tone().is_some()).and_then(|i| reach(i, 1));
        match behind.or_else(before) {
            Some((i, weight)) if relief || weight > 0.0 => fates[i] = Fate::Spent,
            Some((i, _)) => (fates[i], fates[k]) = (Fate::Turned, Fate::Spent),
            None => {}
        }
    }
    fates
}

/// True if a word of movement at token `at` moves a burden (成本 同比 下降) or something negative (亏损 收窄); `earlier` are the
/// entries of its clause before it. A burden that an earlier word moves is spent: 成本 上升 导致 利润 下滑.
fn burdened(earlier: &[Found], at: usize) -> bool {
    let moves = |f: &Found| f.tone().is_some_and(|(_, kind)| kind.moves());
    let spent = earlier.iter().rposition(moves).map_or(0, |i| i + 1);
    earlier[spent..].iter().any(|f| match f.role {
        Role::Burden | Role::Risk => at - f.end() < BURDEN_WINDOW,
        Role::Tone { weight, .. } => weight < 0.0 && at - f.end() < NEGATIVE_WINDOW,
        _ => false,
    })
}

/// True if the object of the word of change that `from` begins with is a burden or something bad: 降低 成本, 新增 质押.
fn takes(from: &[Found]) -> bool {
    let [change, object, ..] = from else { return false };
    object.at - change.end() <= OBJECT_WINDOW
        && match object.role {
            Role::Burden | Role::Risk => true,
            Role::Tone { weight, kind } => weight < 0.0 && !kind.moves(),
            _ => false,
        }
}

/// True if the word that `from` begins with is what a risk behind it is about. A risk that itself moves (违约 风险 上升) is no
/// mere possibility any more.
fn risked(from: &[Found]) -> bool {
    let Some(i) = from.iter().position(|f| f.role == Role::Risk) else { return false };
    let moving = from[i + 1..].iter().any(|f| f.tone().is_some_and(|(_, kind)| kind.moves()));
    !moving && from[i].at - from[0].end() < RISK_WINDOW
}

/// The degree word directly after a tone word (增长 显著), unless it rather belongs to a next one (增长 显著 放缓).
fn after(from: &[Found]) -> Option<f32> {
    let [tone, degree, rest @ ..] = from else { return None };
    let taken = rest.first().is_some_and(|next| next.tone().is_some() && next.at == degree.end());
    degree_of(degree).filter(|_| degree.at == tone.end() && !taken)
}

fn degree_of(found: &Found) -> Option<f32> {
    if let Role::Degree(by) = found.role { Some(by) } else { None }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::lexicon::{Lexicon, LexiconParams};

    fn weights(text: &str) -> Vec<(String, f32)> {
        let tokens: Vec<&str> = text.split(' ').collect();
        let lexicon = Lexicon::new(&LexiconParams::default(), Path::new("")).unwrap();
        lexicon.explain(&tokens).into_iter().map(|hit| (hit.word, hit.weight)).collect()
    }

    fn owned(pairs: &[(&str, f32)]) -> Vec<(String, f32)> {
        pairs.iter().map(|&(word, weight)| (word.to_owned(), weight)).collect()
    }

    #[test]
    fn a_reversal_takes_its_event_with_it() {
        assert_eq!(weights("股东 放弃 本次 增持 计划"), owned(&[("放弃", -1.5)]));
        assert_eq!(weights("增持 计划 终止"), owned(&[("终止", -1.5)]));
        assert_eq!(weights("股东 提前 终止 减持 计划"), owned(&[("提前", 1.0), ("减持", 0.75)]));
        assert_eq!(weights("增长 不及 预期"), owned(&[("不及预期", -1.5)]));
        assert_eq!(weights("客户 信心 不足"), owned(&[("不足", -1.0)]));
        // Another clause is another matter.
        assert_eq!(weights("项目 终止 ， 股东 增持"), owned(&[("终止", -1.5), ("增持", 1.5)]));
    }

    #[test]
    fn an_event_that_was_called_off_stays_so() {
        assert_eq!(weights("取消 增持 。 此前 已 增持 两 万 股"), owned(&[("取消", -1.5)]));
        assert_eq!(weights("股东 增持 。 高管 增持"), owned(&[("增持", 1.5), ("增持", 1.5)]));
    }

    #[test]
    fn relief_takes_what_is_bad_and_a_fall_what_is_good() {
        assert_eq!(weights("资金 压力 有所 缓解"), owned(&[("缓解", 0.8)]));
        assert_eq!(weights("化解 库存 积压"), owned(&[("化解", 1.0)]));
        assert_eq!(weights("新签订单 明显 减少"), owned(&[("减少", -0.65)]));
    }

    #[test]
    fn the_object_of_a_change_turns_it() {
        assert_eq!(weights("公司 降低 成本"), owned(&[("降低", 1.0)]));
        assert_eq!(weights("公司 新增 亏损"), owned(&[("新增", -0.5), ("亏损", -1.5)]));
        assert_eq!(weights("收入 下滑 亏损 扩大"), owned(&[("下滑", -1.0), ("亏损", -1.5), ("扩大", -0.5)]));
    }

    #[test]
    fn a_risk_is_a_possibility() {
        assert_eq!(weights("关注 需求 下滑 的 风险 ； 存在 亏损 的 可能性"), []);
        assert_eq!(weights("股票 存在 退市 的 可能性"), owned(&[("退市", -1.0)]));
        assert_eq!(weights("亏损 风险 上升"), owned(&[("亏损", -1.5), ("上升", -1.0)]));
        assert_eq!(weights("优势 有助 抵御 周期 下行 风险"), owned(&[("优势", 1.0)]));
    }
}

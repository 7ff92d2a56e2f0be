//! The news wires: events of companies, told by fictional media and repeated by others minutes to days later.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use chrono::{Days, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Timelike};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::calendar::clock;
use super::grammar::Draft;
use super::rng::{Stream, pick, rng};
use super::story::{Story, World, spread};
use inkstone_base::data::Kind;
use inkstone_base::ensure;
use inkstone_base::language::Word;

/// News items at scale 1, reposts included (about).
const NEWS: f64 = 8000.0;
/// Share of stories that others repeat, and of those that are repeated twice.
const REPEATED: f64 = 0.15;
const TWICE: f64 = 0.25;
/// Share of stories about the whole market.
const MARKET_WIDE: f64 = 0.05;
/// Share of stories with a sentence of the opposite sign.
const BALANCED: f64 = 0.22;
/// Share of stories with placebo sentences.
const PLACEBO: f64 = 0.5;
/// Share of grave events that lock a name at its limit.
const SHOCKS: f64 = 0.25;

/// A kind of event, with the weights of its signs.
struct EventKind {
    name: String,
    weight: f64,
    signs: Vec<(char, f64)>,
}

/// The wires, asked for one calendar day after the other.
pub(super) struct Wires<'w> {
    world: &'w World,
    events: Vec<EventKind>,
    /// First stories on each calendar day.
    plan: Vec<usize>,
    first: NaiveDate,
    /// Written but not yet out, by time.
    pending: BTreeMap<(NaiveDateTime, u64), Story>,
    written: u64,
}

impl<'w> Wires<'w> {
    pub(super) fn new(world: &'w World, dates: &[NaiveDate], scale: f64) -> Result<Wires<'w>> {
        let weight = |d: &NaiveDate| if world.calendar.is_trading(*d) { 1.0 } else { 0.22 };
        let weights: Vec<f64> = dates.iter().map(weight).collect();
        let firsts = NEWS * scale / (1.0 + REPEATED * (1.0 + TWICE));
        Ok(Wires {
            world,
            events: world.grammar.lines("事件").iter().map(|l| event(l)).collect::<Result<_>>()?,
            plan: spread(firsts, &weights),
            first: dates[0],
            pending: BTreeMap::new(),
            written: 0,
        })
    }

    /// The news of a calendar day, in order of time. Days are asked for in order.
    pub(super) fn day(&mut self, date: NaiveDate) -> Result<Vec<Story>> {
        let number = date.signed_duration_since(self.first).num_days() as usize;
        let mut rng = rng(self.world.seed, Stream::News, number as u64);
        for _ in 0..self.plan[number] {
            let story = self.story(date, &mut rng)?;
            let copies = if !rng.random_bool(REPEATED) { 0 } else { 1 + usize::from(rng.random_bool(TWICE)) };
            for _ in 0..copies {
                let copy = self.repost(&story, &mut rng)?;
                self.pending.insert((copy.time, self.written), copy);
            }
            self.pending.insert((story.time, self.written), story);
        }
        let tomorrow =
            date.checked_add_days(Days::new(1)).context(Word("日历中应有的日期", "a date of the calendar"))?;
        let later = self.pending.split_off(&(tomorrow.and_time(NaiveTime::MIN), 0));
        Ok(std::mem::replace(&mut self.pending, later).into_values().collect())
    }

    fn id(&mut self) -> String {
        self.written += 1;
        format!("N{:07}", self.written)
    }

    fn story(&mut self, date: NaiveDate, rng: &mut ChaCha8Rng) -> Result<Story> {
        let id = self.id();
        let world = self.world;
        let time = date.and_time(if world.calendar.is_trading(date) { weekday_time(rng) } else { between(8, 23, rng) });
        let medium = pick(rng, &world.names.media);
        if rng.random_bool(MARKET_WIDE) {
            return self.market_story(id, time, medium, rng);
        }
        let event = weighted(&self.events, |e| e.weight, rng);
        let sign = weighted(&event.signs, |s| s.1, rng).0;
        let day = world.naming_day(date);
        let about = world.company(day, None, rng);
        let partner = (event.name == "合作").then(|| world.company(day, Some(about), rng));
        let setting = world.setting(Some(about), partner, time, medium, rng);

        let mut draft = Draft::default();
        let (titles, leads) = (format!("{}{sign}题", event.name), format!("{}{sign}文", event.name));
        let (n, m) = (world.grammar.alternatives(&titles), world.grammar.alternatives(&leads));
        ensure!(
            n > 0 && m > 0,
            "news.txt 没有规则 {titles:?} 或 {leads:?}",
            "news.txt has no rule {titles:?} or no rule {leads:?}"
        );
        let topic = rng.random_range(0..n);
        world.grammar.write_alternative(&titles, topic, &setting, rng, &mut draft)?;
        let title = std::mem::take(&mut draft.text);
        setting.in_title.set(false);
        let mut paragraphs = Vec::new();
        if rng.random_bool(0.6) {
            world.grammar.write("电头", &setting, rng, &mut draft)?;
        }
        // A title goes with the lead of its place; leads beyond the titles go round again.
        let first = topic % m;
        let lead = first + n * rng.random_range(0..=(m - 1 - first) / n);
        world.grammar.write_alternative(&leads, lead, &setting, rng, &mut draft)?;
        let more = format!("{}{sign}续", event.name);
        if sign != '0' && world.grammar.has(&more) {
            let n = rng.random_range(0..3);
            world.several(&more, n, &setting, rng, &mut draft, |_| ())?;
        }
        paragraphs.push(std::mem::take(&mut draft.text));
        if rng.random_bool(PLACEBO) {
            world.several("花絮", 1 + usize::from(rng.random_bool(0.3)), &setting, rng, &mut draft, |_| ())?;
        }
        world.several("续0", rng.random_range(1..3), &setting, rng, &mut draft, |_| ())?;
        paragraphs.push(std::mem::take(&mut draft.text));
        if sign != '0' && rng.random_bool(0.6) {
            world.several(&format!("续{sign}"), rng.random_range(1..3), &setting, rng, &mut draft, |_| ())?;
        }
        if rng.random_bool(BALANCED) {
            let others: &[char] = match sign {
                '+' => &['-'],
                '-' => &['+'],
                _ => &['+', '-'],
            };
            for other in others {
                world.grammar.write("转折", &setting, rng, &mut draft)?;
                world.grammar.write(&format!("续{other}"), &setting, rng, &mut draft)?;
            }
        }
        paragraphs.push(std::mem::take(&mut draft.text));
        if rng.random_bool(0.4) {
            world.grammar.write("尾注", &setting, rng, &mut draft)?;
            paragraphs.push(std::mem::take(&mut draft.text));
        }
        paragraphs.retain(|p| !p.is_empty());
        let tone = draft.tone();
        let grave = matches!(event.name.as_str(), "立案" | "并购") && tone.abs() > 0.6 && rng.random_bool(SHOCKS);
        let shock = if grave { tone.signum() * rng.random_range(0.12..0.28) } else { 0.0 };
        Ok(Story {
            id,
            kind: Kind::News,
            time,
            title,
            placebo: world.placebo_words(&paragraphs),
            paragraphs,
            about: std::iter::once(about).chain(partner).collect(),
            medium: medium.clone(),
            tone,
            shock,
            style: event.name.clone(),
            ..Story::default()
        })
    }

    fn market_story(&self, id: String, time: NaiveDateTime, medium: &str, rng: &mut ChaCha8Rng) -> Result<Story> {
        let world = self.world;
        let setting = world.setting(None, None, time, medium, rng);
        let mut draft = Draft::default();
        world.grammar.write("市场题", &setting, rng, &mut draft)?;
        let title = std::mem::take(&mut draft.text);
        setting.in_title.set(false);
        world.grammar.write("电头", &setting, rng, &mut draft)?;
        world.several("市场文", rng.random_range(1..4), &setting, rng, &mut draft, |_| ())?;
        let paragraphs = vec![draft.text];
        Ok(Story {
            id,
            kind: Kind::News,
            time,
            title,
            placebo: world.placebo_words(&paragraphs),
            paragraphs,
            medium: medium.to_owned(),
            style: "市场".to_owned(),
            ..Story::default()
        })
    }

    /// The same story by another medium, minutes to three days later, lightly edited. It bears the first one's tone
    /// and moves nothing.
    fn repost(&mut self, story: &Story, rng: &mut ChaCha8Rng) -> Result<Story> {
        let id = self.id();
        let world = self.world;
        let others: Vec<&String> = world.names.media.iter().filter(|m| **m != story.medium).collect();
        let medium = pick(rng, &others).as_str();
        let minutes = if rng.random_bool(0.75) { rng.random_range(2..240) } else { rng.random_range(240..4320) };
        let time = story.time + TimeDelta::seconds(minutes * 60 + rng.random_range(0..60));
        let setting = world.setting(story.about.first().copied(), None, time, medium, rng);
        let mut paragraphs = story.paragraphs.clone();
        let mut draft = Draft::default();
        if rng.random_bool(0.6) {
            world.grammar.write("转载头", &setting, rng, &mut draft)?;
            paragraphs[0].insert_str(0, &std::mem::take(&mut draft.text));
        }
        if rng.random_bool(0.7) {
            world.grammar.write("转载尾", &setting, rng, &mut draft)?;
            paragraphs.push(std::mem::take(&mut draft.text));
        }
        for (word, other) in [("近日", "日前"), ("公告，", "发布公告，"), ("公司表示，", "公司称，")]
        {
            if rng.random_bool(0.4) {
                paragraphs.iter_mut().for_each(|p| *p = p.replacen(word, other, 1));
            }
        }
        let title = if rng.random_bool(0.3) { format!("快讯：{}", story.title) } else { story.title.clone() };
        let medium = medium.to_owned();
        Ok(Story {
            id,
            time,
            title,
            paragraphs,
            medium,
            shock: 0.0,
            repost_of: Some(story.id.clone()),
            ..story.clone()
        })
    }
}

fn event(line: &str) -> Result<EventKind> {
    let bad = || format!("news.txt, 事件: {line:?} is not `name weight sign+weight ...`");
    let mut words = line.split_whitespace();
    let name = words.next().with_context(bad)?.to_owned();
    let weight = words.next().with_context(bad)?.parse().with_context(bad)?;
    let sign = |word: &str| -> Result<(char, f64)> {
        let sign = word.chars().next().filter(|c| "+-0".contains(*c)).with_context(bad)?;
        Ok((sign, word[1..].parse().with_context(bad)?))
    };
    Ok(EventKind { name, weight, signs: words.map(sign).collect::<Result<_>>()? })
}

fn weighted<'a, T>(items: &'a [T], weight: impl Fn(&T) -> f64, rng: &mut ChaCha8Rng) -> &'a T {
    let total: f64 = items.iter().map(&weight).sum();
    let mut x = rng.random_range(0.0..total);
    for item in items {
        x -= weight(item);
        if x < 0.0 {
            return item;
        }
    }
    &items[items.len() - 1]
}

/// A time of a trading day: a sixth before the opening, two fifths in the session, the rest after the close, and now
/// and then on the stroke of three.
fn weekday_time(rng: &mut ChaCha8Rng) -> NaiveTime {
    match rng.random_range(0..200) {
        0 => clock(15, 0),
        1..34 => between(6, 9, rng),
        34..114 => between(9, 15, rng),
        114..180 => between(15, 20, rng),
        _ => between(20, 24, rng),
    }
}

/// A time with seconds from one full hour to before another.
pub(super) fn between(from: u32, to: u32, rng: &mut ChaCha8Rng) -> NaiveTime {
    let time = clock(rng.random_range(from..to), rng.random_range(0..60));
    time.with_second(rng.random_range(0..60)).unwrap_or(time)
}

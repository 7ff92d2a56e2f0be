//! Small markets for the tests of the linter: posts, the prices that they move, and what is known of both.

use chrono::{Datelike, Days, NaiveDate, NaiveDateTime, TimeDelta, Weekday};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use crate::backtest;
use crate::factor::{self, Aggregate, Factor, Signal, Standardise, Winsorise};
use crate::lint::{DocumentEvidence, FittedModel, Masked, Subject, TextReading, Texts};
use inkstone_base::data::Kind;
use inkstone_base::job::Ctx;
use inkstone_market::{Cutoff, Market};

/// A post about one code, in the order of which documents are numbered.
#[derive(Clone, Debug)]
pub(super) struct Post {
    pub code: u32,
    /// Number of the trading day on which it is published, and the time of day.
    pub day: usize,
    pub hour: u32,
    pub minute: u32,
    pub value: f64,
    pub kind: Kind,
    /// Number of an earlier post whose document this is.
    pub document: Option<u32>,
    /// Days from publication to ingestion.
    pub delivered: i64,
}

impl Post {
    pub(super) fn new(code: u32, (day, hour, minute): (usize, u32, u32), value: f64) -> Post {
        Post { code, day, hour, minute, value, kind: Kind::News, document: None, delivered: 0 }
    }
}

/// Parameters of a market.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub names: usize,
    pub days: usize,
    /// Effect of a post of value 1 on the return from the open to the close of the next day.
    pub drift: f64,
    /// Effect of a post of value 1 on the return of its own day.
    pub same_day: f64,
    /// Effect of a name's fixed trait on each day; each of its posts has the trait in full.
    pub of_trait: f64,
    /// Effect of each post on the next day, whatever its value; up to four come on a day, of like values.
    pub attention: f64,
    /// Names that end in the middle.
    pub ended: usize,
    /// Every second post is delivered 60 days later, and it alone moves prices.
    pub restated: bool,
    /// Names that go ex rights, four for ten, in prices that are not adjusted.
    pub ex_days: usize,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            names: 50,
            days: 220,
            drift: 0.007,
            same_day: 0.0,
            of_trait: 0.0,
            attention: 0.0,
            ended: 3,
            restated: false,
            ex_days: 0,
        }
    }
}

/// A market, the posts about it, and a factor of them.
pub(super) struct World {
    pub market: Market,
    pub factor: factor::Params,
    pub backtest: backtest::Params,
    pub signals: Vec<Signal>,
    pub documents: Vec<DocumentEvidence>,
    pub models: Vec<FittedModel>,
    pub masked: Option<Vec<Signal>>,
    pub times_assumed: bool,
}

impl World {
    /// A market in which nothing moves, with posts that stand on the date of `rule`.
    pub(super) fn flat(names: usize, days: usize, posts: Vec<Post>, rule: impl Fn(&Post) -> Option<usize>) -> World {
        let mut prices = "date,code,open,close\n".to_owned();
        for date in calendar(days) {
            (0..names).for_each(|i| prices += &format!("{date},{},10,10\n", code(i)));
        }
        World::new(Market::of_text(&prices, &[]).unwrap(), posts, rule)
    }

    /// A market whose names have these prices (by day and name) from open to close, with a post on each every day.
    pub(super) fn priced(names: usize, days: usize, price: impl Fn(usize, usize) -> f64) -> World {
        let mut prices = "date,code,open,close\n".to_owned();
        let mut posts = Vec::new();
        for (t, date) in calendar(days).into_iter().enumerate() {
            for i in 0..names {
                let price = price(t, i);
                prices += &format!("{date},{},{price},{price}\n", code(i));
                posts.push(Post::new(i as u32, (t, 10, 30), i as f64));
            }
        }
        World::new(Market::of_text(&prices, &[]).unwrap(), posts, |post| Some(post.day))
    }

    /// A market that moves as planned, with posts that stand on the right date.
    pub(super) fn planted(plan: &Plan) -> World {
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        let mut normal = move || rng.sample::<f64, _>(StandardNormal);
        let cell = |t: usize, i: usize| t * plan.names + i;
        let traits: Vec<f64> = (0..plan.names).map(|_| normal()).collect();
        let mut moves: Vec<f64> = (0..plan.days * plan.names).map(|_| 0.02 * normal()).collect();
        let mut posts = Vec::new();
        for t in 0..plan.days {
            for i in 0..plan.names {
                moves[cell(t, i)] += plan.of_trait * traits[i];
                let many = if plan.attention > 0.0 { 4 } else { 1 };
                for k in 0..many {
                    if normal() < 0.0 {
                        continue;
                    }
                    let value = match () {
                        () if plan.of_trait > 0.0 => traits[i] + 0.3 * normal(),
                        () if plan.attention > 0.0 => 1.0 + 0.2 * normal(),
                        () => normal(),
                    };
                    let mut post = Post::new(i as u32, (t, 10, 30 + k as u32), value);
                    let late = plan.restated && posts.len() % 2 == 0;
                    post.delivered = if late { 60 } else { 0 };
                    posts.push(post);
                    let tone = if plan.restated && !late { 0.0 } else { value };
                    moves[cell(t, i)] += plan.same_day * tone;
                    if t + 1 < plan.days {
                        moves[cell(t + 1, i)] += plan.drift * tone + plan.attention;
                    }
                }
            }
        }
        let mut prices = "date,code,open,close\n".to_owned();
        let mut last = vec![10.0f64; plan.names];
        for (t, date) in calendar(plan.days).into_iter().enumerate() {
            for (i, last) in last.iter_mut().enumerate() {
                if i < plan.ex_days && t == 60 + 5 * i {
                    *last /= 1.4;
                }
                let open = *last;
                *last *= 1.0 + moves[cell(t, i)].clamp(-0.09, 0.09);
                if i >= plan.ended || t < plan.days / 2 {
                    prices += &format!("{date},{},{open},{last}\n", code(i));
                }
            }
        }
        World::new(Market::of_text(&prices, &[]).unwrap(), posts, |post| Some(post.day))
    }

    fn new(market: Market, posts: Vec<Post>, rule: impl Fn(&Post) -> Option<usize>) -> World {
        let until = NaiveDate::from_ymd_opt(2020, 12, 31).unwrap().and_hms_opt(15, 0, 0).unwrap();
        let begin = until - TimeDelta::days(365);
        let mut world = World {
            market,
            factor: factor::Params {
                name: "tone".into(),
                expression: "tone".parse().unwrap(),
                lookback: 1,
                aggregate: Aggregate::Sum,
                winsorise: Winsorise::None,
                standardise: Standardise::None,
                min_names: 1,
                ..factor::Params::default()
            },
            backtest: backtest::Params { horizons: vec![1], max_loss: 1.0, ..backtest::Params::default() },
            signals: Vec::new(),
            documents: Vec::new(),
            // Trained on the texts of the year before.
            models: vec![FittedModel { fitted_until: until, trained_on: Some((begin, until)) }],
            masked: None,
            times_assumed: false,
        };
        let mut numbers = Vec::new();
        for (k, post) in posts.iter().enumerate() {
            let published_at = world.market.dates()[post.day].and_hms_opt(post.hour, post.minute, 0).unwrap();
            let number = post.document.map_or(world.documents.len() as u32, |k| numbers[k as usize]);
            numbers.push(number);
            if number as usize == world.documents.len() {
                let ingested_at = Some(published_at + TimeDelta::days(post.delivered));
                world.documents.push(document(k as u32, post.kind, published_at, ingested_at));
            }
            if let Some(date) = rule(post).filter(|date| *date < world.market.dates().len()) {
                let (code, date) = (post.code, date as u32);
                let signal = Signal::of(code, date, published_at, post.value);
                world.signals.push(Signal { document: number, ..signal });
            }
        }
        // The year before, of stories of its own.
        for k in 0..100 {
            let story = (posts.len() + k) as u32;
            world.documents.push(document(story, Kind::News, begin + Days::new(k as u64), None));
        }
        world
    }

    /// Looks at the world as the linter does.
    pub(super) fn look<T>(&self, with: impl FnOnce(&Subject<'_>) -> T) -> T {
        let build = |signals: &[Signal]| {
            let ctx = Ctx::new(2, 1)?;
            let plan = factor::Plan::new(&self.factor)?;
            let inputs = factor::Inputs {
                market: &self.market,
                cutoff: Cutoff::Close,
                signals,
                factors: &[],
                graphs: Default::default(),
                events: &[],
            };
            Ok(factor::build(&plan, &inputs, &self.factor, &ctx)?.0)
        };
        let factor = build(&self.signals).unwrap();
        let masked: Option<Factor> = self.masked.as_ref().map(|signals| build(signals).unwrap());
        with(&Subject {
            factor: &factor,
            market: &self.market,
            backtest: &self.backtest,
            times_assumed: self.times_assumed,
            factors: Some(&[]),
            texts: Some(Texts {
                signals: &self.signals,
                documents: &self.documents,
                models: &self.models,
                cutoff: Cutoff::Close,
                readings: &[TextReading { features: vec![0], first_only: true }],
                crawled: &[],
                rebuild: &build,
            }),
            masked: masked.as_ref().map_or(Masked::Unknown, Masked::Factor),
            rewire: None,
        })
    }
}

fn document(
    story: u32,
    kind: Kind,
    published_at: NaiveDateTime,
    ingested_at: Option<NaiveDateTime>,
) -> DocumentEvidence {
    DocumentEvidence { id: format!("posts/{story}"), kind, published_at, ingested_at, story, models: vec![Some(0)] }
}

/// Weekdays from January 2021.
fn calendar(days: usize) -> Vec<NaiveDate> {
    let weekday = |date: &NaiveDate| !matches!(date.weekday(), Weekday::Sat | Weekday::Sun);
    NaiveDate::from_ymd_opt(2021, 1, 4).unwrap().iter_days().filter(weekday).take(days).collect()
}

fn code(i: usize) -> String {
    format!("60{i:04}.SH")
}

//! A project of invented text.

use std::sync::Arc;

use chrono::{Datelike, NaiveDate, NaiveDateTime, NaiveTime, Weekday};
use polars_core::prelude::{IntoColumn, NamedFrom, Series};
use tempfile::TempDir;

use super::empty;
use inkstone_base::code::Code;
use inkstone_base::data::{Document, Kind};
use inkstone_base::disk;
use inkstone_lab::backtest::{
    Alignment, Coverage, IcDecay, IcSeries, IcSummary, Layers, LongShort, Outcome, PortfolioFigures, Preset, Refusal,
    YearFigures,
};
use inkstone_market::Price;
use inkstone_tables::corpus::documents_to_frame;
use inkstone_tables::project::Project;

fn time(text: &str) -> NaiveDateTime {
    NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S").unwrap()
}

/// A project with 9 documents in two cleaned parts, one of them a repeat, and the backtest of the factor `tone`.
pub(crate) fn filled() -> Arc<TempDir> {
    let dir = empty();
    let project = Project::new(dir.path());
    project.own().unwrap();
    let document = |i: usize, kind, codes: &[&str], title: &str, body: &str| Document {
        doc_id: format!("news/{i}"),
        kind,
        codes: codes.iter().map(|c| Code::canonical(c)).collect(),
        title: title.to_owned(),
        body: body.to_owned(),
        source: "news".to_owned(),
        org: (kind == Kind::Report).then(|| "松岭证券".to_owned()),
        rating: (kind == Kind::Report).then(|| "买入".to_owned()),
        published_at: time(&format!("2024-03-{:02} 20:31:07", 10 + i)),
        ..Document::default()
    };
    let report = "投资要点：瑞禾电气发布业绩快报，2023 年实现营业收入 85.1 亿元，同比增长 12.4%，净利润 7.32 亿元。\n\
        我们认为公司储能订单充足，新产能将在二季度释放，上调盈利预测，维持“买入”评级。\n风险提示：原材料价格波动；下游需求不及预期。";
    let docs = [
        document(
            0,
            Kind::News,
            &["600517.SH"],
            "瑞禾电气：预计一季度净利润同比增长120%～150%",
            "瑞禾电气今日公告，订单饱满。",
        ),
        document(1, Kind::Report, &["600517.SH", "300731.SZ"], "瑞禾电气年报点评：储能放量，“稳”字当头", report),
        document(
            2,
            Kind::Announcement,
            &["300731.SZ"],
            "启澜生物：拟以自有资金2亿元至3亿元回购股份",
            "回购价格不超过 35 元/股。",
        ),
        document(
            3,
            Kind::News,
            &["600517.SH"],
            "【快讯】瑞禾电气预计一季度净利润增长120%～150%",
            "瑞禾电气今日公告，订单饱满。",
        ),
        document(4, Kind::Post, &[], "坐标上海\t今天\u{1b}[31m大盘\u{202e}怎么看", "看不懂，先观望。"),
        document(
            5,
            Kind::News,
            &["000001.SZ"],
            "A very long English headline about a listed company and its quarterly results",
            "Body.",
        ),
        document(6, Kind::News, &["430047.BJ"], "", "没有标题的一条。"),
        document(7, Kind::News, &["688001.SH"], "辰光股份股东减持计划实施完毕", "减持完毕。"),
        document(8, Kind::News, &["688001.SH"], "辰光股份：回购进展公告", "已回购 120 万股。"),
    ];
    for (i, docs) in docs.chunks(5).enumerate() {
        project.documents().write(i, &mut documents_to_frame(docs).unwrap()).unwrap();
        let first = docs.iter().map(|d| if d.doc_id == "news/3" { "news/0" } else { d.doc_id.as_str() });
        let first = Series::new("first_mention".into(), first.collect::<Vec<_>>()).into_column();
        let mut clean = documents_to_frame(docs).unwrap();
        clean.hstack_mut(&[first]).unwrap();
        project.clean().write(i, &mut clean).unwrap();
    }
    disk::write_json(&project.backtest("tone"), &outcome(false)).unwrap();
    let reject = |row: u64, reason: &str, raw: &str| {
        serde_json::json!({"file": "data/新闻_gbk.csv", "row": row, "column": "published_at", "reason": reason,
            "value": "2024-13-01", "raw": raw})
    };
    let rejects = [
        reject(17, "no such date or time", "600517,2024-13-01,瑞禾电气"),
        reject(1203, "empty title and body", "000001,,"),
    ];
    let lines: String = rejects.iter().map(|r| format!("{r}\n")).collect();
    disk::write_atomic(&project.rejects(), |out| Ok(std::io::Write::write_all(out, lines.as_bytes())?)).unwrap();
    dir
}

pub(crate) fn outcome(lookahead: bool) -> Outcome {
    let weekdays = |d: &NaiveDate| !matches!(d.weekday(), Weekday::Sat | Weekday::Sun);
    let first = NaiveDate::from_ymd_opt(2023, 1, 3).unwrap();
    let dates: Vec<NaiveDate> = first.iter_days().filter(weekdays).take(480).collect();
    let noise = |i: usize, step: usize| ((i * step) % 23) as f64 / 11.0 - 1.0;
    let series = |mean: f64, step| -> Vec<f64> {
        (0..dates.len()).map(|i| mean + 0.1 * noise(i, step) + 0.08 * ((i / 21) as f64 * 0.9).sin()).collect()
    };
    let ic = |horizon, mean| {
        let rank_ic_summary = IcSummary {
            n: 480,
            mean,
            std: 0.11,
            icir: mean / 0.11,
            t: 9.0,
            t_nw: 6.94,
            p: 1e-6,
            positive: 0.64,
            skew: 0.1,
            kurtosis: -0.2,
        };
        let (ic, rank_ic) = (series(mean, 5), series(mean, 7));
        let names = vec![41; dates.len()];
        IcSeries { horizon, dates: dates.clone(), ic, rank_ic, names, ic_summary: rank_ic_summary, rank_ic_summary }
    };
    let wealth = |drift: f64, step| -> Vec<f64> {
        let mut w = 1.0;
        (0..dates.len())
            .map(|i| {
                w *= 1.0 + drift + 0.004 * noise(i, step);
                w
            })
            .collect()
    };
    let net: Vec<f64> = (0..dates.len()).map(|i| 0.0004 + 0.006 * noise(i, 9)).collect();
    let total = PortfolioFigures {
        annual_return: 0.142,
        volatility: 0.088,
        sharpe: 1.61,
        max_drawdown: -0.073,
        calmar: 1.95,
        hit_rate: 0.55,
    };
    Outcome {
        factor: "tone".to_owned(),
        alignment: Alignment {
            delay: 1,
            price: Price::Open,
            known_before: NaiveTime::from_hms_opt(9, 30, 0).unwrap(),
            horizons: vec![1, 5],
            preset: Preset::Default,
        },
        lookahead,
        refused: Refusal { values: 12, examples: Vec::new() },
        coverage: Coverage { dates: dates.clone(), names: vec![41; dates.len()], universe: vec![200; dates.len()] },
        ic: vec![ic(1, 0.031), ic(5, 0.046)],
        layers: Layers {
            horizons: vec![1, 5],
            mean: vec![vec![-0.0008, -0.0002, 0.0, 0.0003, 0.0009], vec![-0.004, -0.001, 0.0002, 0.0015, 0.0045]],
            dates: dates.clone(),
            wealth: (0..5).map(|q| wealth(0.0006 * (q as f64 - 1.8), 3 + q)).collect(),
            demeaned: true,
            ..Layers::default()
        },
        long_short: LongShort {
            dates: dates.clone(),
            gross: net.clone(),
            net,
            turnover: vec![0.114; dates.len()],
            total,
            by_year: vec![YearFigures { year: 2023, figures: total }, YearFigures { year: 2024, figures: total }],
            ..LongShort::default()
        },
        new_names: 0.114,
        decay: IcDecay {
            lags: (1..=20).collect(),
            rank_ic: (0..20).map(|lag| 0.05 * 0.8_f64.powi(lag) - 0.004).collect(),
            half_life: 3.4,
        },
        ..Outcome::default()
    }
}

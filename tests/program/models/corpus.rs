//! A small invented corpus for every model: pieces of news with id, title, label, return, time and group.

use std::fmt::Write;

const COMPANIES: [&str; 6] = ["岚石新能", "霁川药业", "瀚海智联", "澄江股份", "云岫材料", "砚北科技"];
const GOOD: [&str; 6] = [
    "净利润同比大幅增长",
    "订单充足产能扩张顺利",
    "拟回购股份彰显信心",
    "中标重大项目合同金额创新高",
    "新产品获批上市销售超预期",
    "上调全年业绩指引",
];
const BAD: [&str; 6] = [
    "净利润同比大幅下滑",
    "股东计划减持股份",
    "收到监管问询函要求说明",
    "计提减值准备导致亏损扩大",
    "主要客户流失订单减少",
    "下调全年业绩指引",
];
const FLAT: [&str; 4] = ["公司召开年度股东大会", "公告董事会换届情况", "披露募集资金使用进展", "变更会计师事务所"];

/// Vectors of some of its words, in word2vec's format of text.
pub(super) const VECTORS: &str =
    "6 2\n公司 0.1 -0.3\n增长 0.9 0.2\n净利润 0.4 0.5\n股份 -0.2 0.6\n订单 0.3 0.1\n减持 -0.8 0.4\n";

/// `n` documents, a line each; every field that a model can ask for is there.
pub(super) fn jsonl(n: usize) -> String {
    let mut text = String::new();
    for i in 0..n {
        let (company, flat) = (COMPANIES[i * 7 % 6], FLAT[i * 5 % 4]);
        let good = (i * i + i / 3) % 2 == 0;
        let tone = if good { GOOD } else { BAD }[i * 11 % 6];
        let more = if good { GOOD } else { BAD }[(i * 13 + 2) % 6];
        let value = (if good { 1.0 } else { -1.0 }) * (0.01 + 0.001 * (i % 9) as f64);
        let (day, hour) = (1 + i % 28, 9 + i % 6);
        let month = 1 + i / 28 % 12;
        let _ = writeln!(
            text,
            r#"{{"id":"n{i}","title":"{company}{tone}","text":"{company}{tone}，{more}。{flat}，市场关注后续进展。","label":"{label}","value":{value:.4},"time":"2024-{month:02}-{day:02} {hour:02}:30:00","group":"g{group}"}}"#,
            label = if good { "up" } else { "down" },
            group = i / 2,
        );
    }
    text
}

/// Their texts alone, a line each.
pub(super) fn text(n: usize) -> String {
    let documents = jsonl(n);
    let texts = documents.lines().map(|line| {
        let document: serde_json::Value = serde_json::from_str(line).expect("the corpus is JSON");
        format!("{}\n", document["text"].as_str().unwrap_or_default())
    });
    texts.collect()
}

/// The same, cut, a line a document.
pub(super) fn tokens(n: usize) -> String {
    let mut text = String::new();
    for line in self::text(n).lines() {
        let words: Vec<String> = line.chars().map(String::from).collect();
        text.push_str(&words.chunks(2).map(|pair| pair.concat()).collect::<Vec<_>>().join(" "));
        text.push('\n');
    }
    text
}

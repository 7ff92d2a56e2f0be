//! The texts of the page of the ledger, in Chinese and English.

use inkstone_base::language::Language;
use inkstone_base::words;

pub(super) use crate::words::{
    AGAIN, DAYS, DRAWDOWN, FILTER, ICIR, LEDGER, NAME, RANK_IC, SHARPE, SORT as KIND, T_NW as T, TURNOVER, VOLATILITY,
};

words! {
    NO_BENCH: "这个工作台没有打开项目配置，看不到台账。", "This workbench was opened without a configuration: there is no ledger to look at.";
    NO_LEDGER: "台账还是空的：每跑一次回测就记一笔。在 workbench.toml 里写 [[factor]]，到任务页按 r 运行。", "The ledger is empty: every backtest is recorded in it. Write a [[factor]] in workbench.toml and press r on the page of jobs.";
    READING: "读取中…（另一次运行占着台账时，最多等 10 秒）", "reading… (up to 10 seconds where another run holds the ledger)";
    TRIALS: "次试验", "trials";
    INTACT: "✓ 校验完好", "✓ seal intact";
    BROKEN: "✗ 校验不符", "✗ seal broken";
    MORE: "另有", "and more:";
    NOTHING_LEFT: "没有符合筛选的条目：/ 改筛选，清空则全列。", "No entry matches the filter: / changes it, an empty filter lists all.";
    NUMBER: "编号", "id";
    WHEN: "时间", "recorded";
    BACKTEST: "回测", "backtest";
    CELL: "实验单元", "experiment";
    RULES: "规则", "rules";
    RUNS: "运行数", "runs";
    DSR: "DSR", "DSR";
    Q: "q", "q";
    DELETED: "已删除", "deleted";
    GONE: "内容缺失", "content missing";
    OPEN: "开", "open";
    CLOSE: "收", "close";
    VWAP: "均", "vwap";
    PARTICULARS: "详情", "details";
    IS_MARKED: "已标记：选另一条即并列比较，再按 m 取消", "is marked: select another one to compare them, m again to end";
    OTHER_SETTINGS: "不同的设置", "settings that differ";
    SAME_SETTINGS: "没有：设置完全相同", "none: all settings are the same";
    DELETED_SETTINGS: "有一条已删除，设置不在了", "one of them is deleted, and its settings are gone";
    DIFFERENCE: "差", "difference";
    SUMMARY: "总评", "summary";
    HISTOGRAM: "分布", "histogram";
    RAN: "运行次数", "runs";
    KEPT: "其中保留", "kept in full";
    VERSION: "版本", "version";
    LOOKAHEAD: "⚠ 未来函数：数字不可用", "⚠ LOOK-AHEAD: do not trust the figures";
    ANNUAL: "年化", "annual";
    PSR: "PSR", "PSR";
    LUCK: "纯运气上限", "best by luck";
    NEEDED: "需天数", "days needed";
    INPUTS: "输入", "inputs";
    TRIAL: "试验键", "trial";
    SEAL: "校验", "seal";
    GROUP: "同一想法", "same idea as";
    PARAMETERS: "参数", "parameters";
    ONLY_FIGURES: "名称、参数与数字都已删去；它试过、结果与收益如何，仍在这里计数。", "Name, parameters and figures are gone; the trial, its result and its returns still count.";
    WEALTH: "多空净值", "long-short wealth";
    NO_RETURNS: "没有保存收益序列", "no returns are kept";
    DELETE: "删除", "Delete";
    REASON: "理由", "reason";
    TYPE_REASON: "写明为什么删除；理由会留在台账里", "say why; the ledger keeps the reason";
    WHAT_GOES: "会删去：名称、参数、数字，不能恢复；收益仍计入统计。", "Deleted for good: name, parameters and figures. The returns still count.";
    WHAT_STAYS: "会留下：何时试过、夏普与 p。它仍算一次试验，其他结果照样要为它打折扣。", "Kept: when it was tried, its Sharpe ratio and p. It still counts as a trial against all others.";
    OTHER_RUNS: "同一试验的其他运行不受影响，还有", "Other runs of the same trial are kept:";
    HOW: "Enter 删除，Esc 放弃", "Enter deletes, Esc cancels";
    NEEDS_REASON: "先写理由：删除会连同理由留在台账里", "a reason first: the ledger keeps it with the deletion";
    DELETING: "正在删除…", "deleting…";
    IS_DELETED: "已删除；仍计入", "is deleted; it still counts among";
    MARK_LUCK: "▲ 零假设下最好者的期望", "▲ best under the null";
    ALL_SHARPES: "全部试验的年化夏普", "annual Sharpe ratios of all trials";
    NO_SHARPES: "还没有一次试验有多空收益。", "No trial has long-short returns yet.";
    TALLEST: "最高", "tallest";
}

/// The sentence on the number of trials and their cost.
pub(super) fn counted(language: Language, [trials, ideas, runs, deleted, missing]: &[String; 5]) -> String {
    match language {
        Language::Zh => format!(
            "试了 {trials} 次（{ideas} 个不同的想法），运行 {runs} 次，删除 {deleted} 条，缺失 {missing} 行。试得越多，靠运气撞上好结果的机会越大。"
        ),
        Language::En => format!(
            "{trials} trials ({ideas} different ideas), {runs} runs, {deleted} deleted, {missing} lines missing. The more you try, the likelier luck looks like skill."
        ),
    }
}

/// The sentence on the Sharpe ratio that luck alone would give the best trial.
pub(super) fn luck(language: Language, best: &str) -> String {
    match language {
        Language::Zh => {
            format!("零假设下最好的夏普 {best}：这些试验即使都没有真实预测力，最好的一个平均也会有这么高。")
        }
        Language::En => format!(
            "Best Sharpe ratio under the null {best}: without any skill the best of these trials would have this on average."
        ),
    }
}

/// The deflated Sharpe ratio of the selected trial.
pub(super) fn deflated(language: Language, number: u64, value: &str) -> String {
    match language {
        Language::Zh => format!("#{number} 的 DSR {value}：真实夏普高过上述运气的概率，0.95 以上才站得住。"),
        Language::En => format!(
            "DSR of #{number} {value}: probability that its true Sharpe ratio exceeds that luck; from 0.95 on it stands."
        ),
    }
}

pub(super) fn overfitting(language: Language, value: &str, trials: &str) -> String {
    match language {
        Language::Zh => {
            format!("PBO {value}（{trials} 次试验）：在一半日子里最好的，在另一半落入后半的比例；0.5 等于抛硬币。")
        }
        Language::En => format!(
            "PBO {value} (of {trials} trials): how often the best of half the days is in the lower half on the others; 0.5 is a coin."
        ),
    }
}

/// The rate of false discoveries.
pub(super) fn discoveries(language: Language, bh: &str, by: &str) -> String {
    match language {
        Language::Zh => {
            format!("FDR 5 %：BH 下有 {bh} 次算发现，BY（允许相依）下 {by} 次；即这些发现里预期至多 5 % 是假的。")
        }
        Language::En => format!(
            "FDR 5 %: {bh} trials count as discoveries by BH, {by} by BY (any dependence): of these 5 % at most are expected to be false."
        ),
    }
}

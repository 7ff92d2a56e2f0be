//! The one table of commands: the key handler, the bottom line and the help all read it.

mod docs;
mod keys;
mod palette;

pub(crate) use docs::markdown;
pub(crate) use keys::{Key, Keymap, sequence};
pub(crate) use palette::{Palette, leads_there};

use super::app::App;
use super::page::Page;
use super::words::Word;

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    // Corpus
    Open,
    Search,
    Cut,

    // Text

    // Models

    // ONNX

    // Features

    // Experiments
    OpenDocument,
    PreviousStrategy,
    NextStrategy,
    Previous,
    Next,
    RunExperiments,

    // Factor
    NextFactor,
    PreviousFactor,
    Horizon,
    Layers,
    Drill,
    Sort,
    Quantile,
    Left,
    Right,

    // Ledger

    // Jobs
    Rejects,
    Panes,
    FindInLog,
    NextJob,
    PreviousJob,

    // Everywhere
    Start,
    Pause,
    Cancel,
    Back,
    Down,
    Up,
    PageDown,
    PageUp,
    First,
    Last,
    Show(Page),
    NextPage,
    PreviousPage,
    Copy,
    CopyTable,
    CopyMarkdown,
    Save,
    Palette,
    Theme,
    Language,
    Help,
    Quit,
}

/// A row of the table.
pub(crate) struct Command {
    /// Its name in the configuration and in the palette.
    pub(crate) id: &'static str,
    /// What it does.
    pub(crate) action: Action,
    /// Keys that do it unless the configuration gives others, the one to show first; written as in the configuration.
    pub(crate) keys: &'static [&'static str],
    /// A word for the bottom line.
    pub(crate) name: Word,
    /// A sentence for the help.
    pub(crate) help: Word,
    /// Pages that have it.
    pub(crate) pages: &'static [Page],
    /// Whether it can be done now; only then does its key do it and the bottom line show it.
    pub(crate) enabled: fn(&App) -> bool,
    /// Whether the bottom line shows it. Moving about is known to everybody and left to the help.
    pub(crate) bar: bool,
}

const ALL: &[Page] = &Page::ALL;
const CORPUS: &[Page] = &[Page::Corpus];
const TEXT: &[Page] = &[Page::Text];
const MODELS: &[Page] = &[Page::Models];
const ONNX: &[Page] = &[Page::Onnx];
const FEATURES: &[Page] = &[Page::Features];
const LEDGER: &[Page] = &[Page::Ledger];
const JOBS: &[Page] = &[Page::Jobs];
const FACTOR: &[Page] = &[Page::Factor];
const EXPERIMENTS: &[Page] = &[Page::Experiments];
const PIPELINE: &[Page] = &[Page::Corpus, Page::Factor, Page::Jobs];
const ALWAYS: fn(&App) -> bool = |_| true;

macro_rules! command {
    ($id:literal, $action:expr, [$($key:expr),+], $zh:literal $en:literal, $help_zh:literal $help_en:literal, $pages:expr, $enabled:expr, $bar:literal) => {
        Command {
            id: $id,
            action: $action,
            keys: &[$($key),+],
            name: Word($zh, $en),
            help: Word($help_zh, $help_en),
            pages: $pages,
            enabled: $enabled,
            bar: $bar,
        }
    };
}

use Action as A;

/// All commands, in the order of the help and of the bottom line.
#[rustfmt::skip]
pub(crate) static COMMANDS: &[Command] = &[
    // Corpus
    command!("read", A::Open, ["enter"], "阅读" "read", "进入正文，j/k 滚动" "move into the text, j/k scroll it", CORPUS, |a| a.corpus.can_open(), true),
    command!("search", A::Search, ["/"], "搜索" "search", "按标题或代码搜索，边输入边查" "search titles and codes while you type", CORPUS, |a| a.corpus.has_documents(), true),
    command!("tokens", A::Cut, ["t"], "切词" "tokens", "正文：原样、按字、jieba 分词" "text as it is, in characters, in jieba words", CORPUS, |a| a.corpus.has_documents(), true),

    // Text

    // Models

    // ONNX

    // Features

    // Experiments
    command!("open-document", A::OpenDocument, ["enter"], "文档" "document", "看一篇文档：每个策略保留与丢弃的部分" "a document, as each strategy cuts it", EXPERIMENTS, |a| a.experiments.can_open(), true),
    command!("previous-strategy", A::PreviousStrategy, ["left", "h"], "前一策略" "before", "文档：前一个策略" "in a document: the strategy before", EXPERIMENTS, App::can_go_back, false),
    command!("next-strategy", A::NextStrategy, ["right", "l"], "后一策略" "strategy", "文档：后一个策略" "in a document: the next strategy", EXPERIMENTS, App::can_go_back, true),
    command!("next-experiment", A::Next, ["]", "n"], "下一个" "next", "下一个实验；文档中为下一篇" "the next experiment; in a document the next one", EXPERIMENTS, |a| a.experiments.has_next(), true),
    command!("previous-experiment", A::Previous, ["[", "p"], "上一个" "previous", "上一个实验；文档中为上一篇" "the experiment before; in a document the one before", EXPERIMENTS, |a| a.experiments.has_next(), false),
    command!("run-experiments", A::RunExperiments, ["r"], "运行实验" "run", "运行全部实验；已读过的窗口不会重读" "run the experiments; what was read is not read twice", EXPERIMENTS, |a| !a.jobs.busy_from(Page::Experiments) && a.workspace.laboratory.is_some(), true),

    // Factor
    command!("drill", A::Drill, ["enter"], "下钻" "behind", "看光标日期的名字，再看文档、句子" "the names of the date, then documents, sentences", FACTOR, |a| a.factor.can_drill(a.workspace.tracing.is_some()), true),
    command!("order-names", A::Sort, ["s"], "排序" "order", "当日名字：按值、收益、文档数轮换" "names of a date: by value, return, documents", FACTOR, |a| a.factor.lists_names(), true),
    command!("one-layer", A::Quantile, ["f"], "分层" "layer", "当日名字：全部或只看一层" "names of a date: all, or one layer alone", FACTOR, |a| a.factor.lists_names(), true),
    command!("left", A::Left, ["left", "h"], "前一日" "day before", "前一个日期；句子中为前一列" "the date before; among sentences the column before", FACTOR, |a| a.factor.has_dates(), false),
    command!("right", A::Right, ["right", "l"], "后一日" "day after", "后一个日期；句子中为后一列" "the date after; among sentences the next column", FACTOR, |a| a.factor.has_dates(), false),
    command!("next-factor", A::NextFactor, ["]", "n"], "下一因子" "next factor", "看下一个因子" "look at the next factor", FACTOR, |a| a.workspace.factors.len() > 1, true),
    command!("previous-factor", A::PreviousFactor, ["[", "p"], "上一因子" "previous", "看上一个因子" "look at the factor before", FACTOR, |a| a.workspace.factors.len() > 1, false),
    command!("horizon", A::Horizon, ["d"], "持有期" "horizon", "换一个持有天数" "another holding period", FACTOR, |a| a.factor.horizons() > 1 && a.factor.shows_returns(), true),
    command!("layers", A::Layers, ["v"], "分层图" "layers", "分层净值、分层平均收益、逐日 RankIC 轮换" "wealth by layer, mean by layer, RankIC by day", FACTOR, |a| a.factor.has_dates() && !a.can_go_back(), true),

    // Ledger

    // Jobs
    command!("job-panes", A::Panes, ["v"], "换栏" "panes", "步骤、日志、拒收的行轮换" "stages, log, rows set aside", JOBS, ALWAYS, true),
    command!("find-in-log", A::FindInLog, ["/"], "搜日志" "find", "在日志里查找，边输入边查" "search the log while you type", JOBS, ALWAYS, true),
    command!("rejects", A::Rejects, ["x"], "拒收" "rejects", "导入时拒收的行：文件、行号、原因、原文" "rows that ingest set aside, and why", JOBS, ALWAYS, true),
    command!("next-job", A::NextJob, ["]", "n"], "下一任务" "next job", "看下一个任务的步骤" "look at the next job of the list", JOBS, |a| a.jobs.list().len() > 1, true),
    command!("previous-job", A::PreviousJob, ["[", "p"], "上一任务" "previous job", "看上一个任务的步骤" "look at the job before", JOBS, |a| a.jobs.list().len() > 1, false),

    // The pipeline
    command!("run", A::Start, ["r"], "运行" "run", "从未完成的一步开始运行整条流水线" "run the stages that are not up to date", PIPELINE, |a| !a.jobs.busy_from(Page::Jobs), true),
    command!("pause", A::Pause, ["P"], "暂停" "pause", "暂停或继续任务；暂停不计入用时" "hold a job or let it go on; this counts in no time", ALL, App::can_pause, true),
    command!("cancel", A::Cancel, ["c"], "取消" "cancel", "停止任务（先询问），已完成的保留；等待中的移出队列" "stop a job (asks first), or take it out of the queue", ALL, App::can_cancel, true),

    // Everywhere
    command!("back", A::Back, ["esc"], "返回" "back", "离开正文、文档、搜索结果、拒收列表；下钻中返回上一层" "leave the text, document, search, rejects; a level up", ALL, App::can_go_back, true),
    command!("down", A::Down, ["down", "j"], "下" "down", "下移一行" "one line down", ALL, ALWAYS, false),
    command!("up", A::Up, ["up", "k"], "上" "up", "上移一行" "one line up", ALL, ALWAYS, false),
    command!("page-down", A::PageDown, ["pgdn", "space"], "下页" "page down", "下移一页；运行页滚动详情；因子曲线后移 21 日" "a page down; along a factor's curve 21 days on", ALL, ALWAYS, false),
    command!("page-up", A::PageUp, ["pgup", "b"], "上页" "page up", "上移一页；运行页滚动详情；因子曲线前移 21 日" "a page up; along a factor's curve 21 days back", ALL, ALWAYS, false),
    command!("first", A::First, ["home", "g"], "开头" "first", "到开头" "to the beginning", ALL, ALWAYS, false),
    command!("last", A::Last, ["end", "G"], "末尾" "last", "到末尾" "to the end", ALL, ALWAYS, false),
    command!("show-corpus", A::Show(Page::Corpus), ["1"], "语料" "corpus", "语料页：文档表与阅读" "the corpus: a table and a reader", ALL, ALWAYS, false),
    command!("show-text", A::Show(Page::Text), ["2"], "文本" "text", "文本页：一篇文档的多种切词与截断" "a document under tokenisers and truncations", ALL, ALWAYS, false),
    command!("show-models", A::Show(Page::Models), ["3"], "模型" "models", "模型页：训练、近邻、困惑度" "models: training, neighbours, perplexity", ALL, ALWAYS, false),
    command!("show-onnx", A::Show(Page::Onnx), ["4"], "ONNX" "onnx", "ONNX 页：模型、设备、填空" "contextual models, devices, fill-mask", ALL, ALWAYS, false),
    command!("show-features", A::Show(Page::Features), ["5"], "特征" "features", "特征页：特征集、覆盖、近邻" "feature sets: coverage, health, neighbours", ALL, ALWAYS, false),
    command!("show-experiments", A::Show(Page::Experiments), ["6"], "实验" "experiments", "实验页：截断策略的比较" "experiments: strategies of truncation", ALL, ALWAYS, false),
    command!("show-factor", A::Show(Page::Factor), ["7"], "因子" "factor", "因子页：检验与下钻" "the factor: its tests, and what is behind", ALL, ALWAYS, false),
    command!("show-ledger", A::Show(Page::Ledger), ["8"], "账本" "ledger", "账本页：每一次回测" "the ledger: every backtest that ran", ALL, ALWAYS, false),
    command!("show-jobs", A::Show(Page::Jobs), ["9"], "任务" "jobs", "任务页：进度、日志、拒收" "jobs: progress, log, rejects", ALL, ALWAYS, false),
    command!("next-page", A::NextPage, ["tab"], "换页" "pages", "下一页" "the next page", ALL, ALWAYS, true),
    command!("previous-page", A::PreviousPage, ["shift-tab"], "前一页" "page before", "前一页" "the page before", ALL, ALWAYS, false),
    command!("copy-command", A::Copy, ["y"], "复制命令" "copy", "复制无界面等价命令（终端须支持 OSC 52）" "copy the command without a screen (OSC 52)", ALL, ALWAYS, false),
    command!("copy-table", A::CopyTable, ["Y"], "复制表格" "copy table", "把本页的表以 CSV 复制" "copy what the page lists as CSV", ALL, App::has_table, false),
    command!("copy-markdown", A::CopyMarkdown, ["M"], "复制为 Markdown" "copy as Markdown", "把本页的表以 Markdown 复制" "copy what the page lists as Markdown", ALL, App::has_table, false),
    command!("save", A::Save, ["S"], "存图" "save", "把图表存为 SVG 与 PNG；没有图表时存整个画面" "save the charts as SVG and PNG, or else the screen", ALL, ALWAYS, false),
    command!("palette", A::Palette, [":", "ctrl-p"], "命令" "commands", "按几个字母、汉字或拼音首字母找命令" "find a command by a few letters", ALL, ALWAYS, true),
    command!("theme", A::Theme, ["T"], "明暗" "theme", "切换深色与浅色" "switch between dark and light", ALL, ALWAYS, false),
    command!("language", A::Language, ["L"], "English" "中文", "切换中文与英文" "switch between Chinese and English", ALL, ALWAYS, true),
    command!("help", A::Help, ["?"], "帮助" "help", "全部按键" "all keys", ALL, ALWAYS, true),
    command!("quit", A::Quit, ["q"], "退出" "quit", "退出；运行中先询问" "leave; asks first while a run is under way", ALL, ALWAYS, true),
];

/// The command that shows a page.
pub(crate) fn shows(page: Page) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.action == Action::Show(page))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::tui::Language;

    #[test]
    fn the_keys_of_the_table_are_keys_and_none_has_two_meanings_on_a_page() {
        Keymap::new(&BTreeMap::new()).unwrap();
    }

    #[test]
    fn every_command_has_keys_a_page_and_help_in_both_languages() {
        let mut seen = Vec::new();
        for command in COMMANDS {
            assert!(!command.keys.is_empty() && !command.pages.is_empty());
            assert!(!seen.contains(&command.action), "{:?} stands twice", command.action);
            seen.push(command.action);
            assert_eq!(
                COMMANDS.iter().filter(|other| other.id == command.id).count(),
                1,
                "{} stands twice",
                command.id
            );
            for language in [Language::Zh, Language::En] {
                assert!(!command.name.to(language).is_empty(), "{:?} has no name", command.action);
                let help = command.help.to(language);
                assert!(help.chars().count() >= 3, "{:?} has no help in {language:?}", command.action);
                let chinese = help.chars().any(|c| ('一'..='龥').contains(&c));
                assert_eq!(chinese, language == Language::Zh, "the languages of {:?} are mixed up", command.action);
            }
        }
    }
}

//! The one table of commands: the key handler, the bottom line and the help all read it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::app::{App, Page};
use super::words::Word;

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Show(Page),
    NextPage,
    Down,
    Up,
    PageDown,
    PageUp,
    First,
    Last,
    Left,
    Right,
    Open,
    Back,
    Search,
    Cut,
    Start,
    Cancel,
    Rejects,
    OpenDocument,
    PreviousStrategy,
    NextStrategy,
    Previous,
    Next,
    RunExperiments,
    NextFactor,
    PreviousFactor,
    Horizon,
    Layers,
    Drill,
    Sort,
    Quantile,
    Copy,
    Language,
    Help,
    Quit,
}

/// A row of the table.
pub(crate) struct Command {
    /// What it does.
    pub(crate) action: Action,
    /// Keys that do it, the one to show first.
    pub(crate) keys: &'static [KeyCode],
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
const RUN: &[Page] = &[Page::Run];
const FACTOR: &[Page] = &[Page::Factor];
const EXPERIMENTS: &[Page] = &[Page::Experiments];
const PIPELINE: &[Page] = &[Page::Corpus, Page::Run, Page::Factor];
const ALWAYS: fn(&App) -> bool = |_| true;

macro_rules! command {
    ($action:expr, [$($key:expr),+], $zh:literal $en:literal, $help_zh:literal $help_en:literal, $pages:expr, $enabled:expr, $bar:literal) => {
        Command {
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
use KeyCode::{BackTab, Char, Down, End, Enter, Esc, Home, Left, PageDown, PageUp, Right, Tab, Up};

/// All commands, in the order of the help and of the bottom line.
#[rustfmt::skip]
pub(crate) static COMMANDS: &[Command] = &[
    command!(A::Open, [Enter], "阅读" "read", "进入正文，j/k 滚动" "move into the text, j/k scroll it", CORPUS, |a| a.corpus.can_open(), true),
    command!(A::Back, [Esc], "返回" "back", "离开正文、文档、搜索结果、拒收列表；下钻中返回上一层" "leave the text, document, search, rejects; a level up", ALL, App::can_go_back, true),
    command!(A::Search, [Char('/')], "搜索" "search", "按标题或代码搜索，边输入边查" "search titles and codes while you type", CORPUS, |a| a.corpus.has_documents(), true),
    command!(A::Cut, [Char('t')], "切词" "tokens", "正文：原样、按字、jieba 分词" "text as it is, in characters, in jieba words", CORPUS, |a| a.corpus.has_documents(), true),
    command!(A::Start, [Char('r')], "运行" "run", "从未完成的一步开始运行整条流水线" "run the stages that are not up to date", PIPELINE, |a| !a.run.busy(), true),
    command!(A::Cancel, [Char('c')], "取消" "cancel", "停止运行（先询问），已完成的保留" "stop the run (asks first), keep what is done", ALL, |a| a.run.busy(), true),
    command!(A::Rejects, [Char('x')], "拒收" "rejects", "导入时拒收的行：文件、行号、原因、原文" "rows that ingest set aside, and why", RUN, ALWAYS, true),
    command!(A::OpenDocument, [Enter], "文档" "document", "看一篇文档：每个策略保留与丢弃的部分" "a document, as each strategy cuts it", EXPERIMENTS, |a| a.experiments.can_open(), true),
    command!(A::PreviousStrategy, [Left, Char('h')], "前一策略" "before", "文档：前一个策略" "in a document: the strategy before", EXPERIMENTS, |a| a.experiments.can_go_back(), false),
    command!(A::NextStrategy, [Right, Char('l')], "后一策略" "strategy", "文档：后一个策略" "in a document: the next strategy", EXPERIMENTS, |a| a.experiments.can_go_back(), true),
    command!(A::Next, [Char(']'), Char('n')], "下一个" "next", "下一个实验；文档中为下一篇" "the next experiment; in a document the next one", EXPERIMENTS, |a| a.experiments.has_next(), true),
    command!(A::Previous, [Char('['), Char('p')], "上一个" "previous", "上一个实验；文档中为上一篇" "the experiment before; in a document the one before", EXPERIMENTS, |a| a.experiments.has_next(), false),
    command!(A::RunExperiments, [Char('r')], "运行实验" "run", "运行全部实验；已读过的窗口不会重读" "run the experiments; what was read is not read twice", EXPERIMENTS, |a| !a.run.busy() && a.workspace.laboratory.is_some(), true),
    command!(A::Drill, [Enter], "下钻" "behind", "看光标日期的名字，再看文档、句子" "the names of the date, then documents, sentences", FACTOR, |a| a.factor.can_drill(a.workspace.tracing.is_some()), true),
    command!(A::Sort, [Char('s')], "排序" "order", "当日名字：按值、收益、文档数轮换" "names of a date: by value, return, documents", FACTOR, |a| a.factor.lists_names(), true),
    command!(A::Quantile, [Char('f')], "分层" "layer", "当日名字：全部或只看一层" "names of a date: all, or one layer alone", FACTOR, |a| a.factor.lists_names(), true),
    command!(A::Left, [Left, Char('h')], "前一日" "day before", "前一个日期；句子中为前一列" "the date before; among sentences the column before", FACTOR, |a| a.factor.has_dates(), false),
    command!(A::Right, [Right, Char('l')], "后一日" "day after", "后一个日期；句子中为后一列" "the date after; among sentences the next column", FACTOR, |a| a.factor.has_dates(), false),
    command!(A::NextFactor, [Char(']'), Char('n')], "下一因子" "next factor", "看下一个因子" "look at the next factor", FACTOR, |a| a.workspace.factors.len() > 1, true),
    command!(A::PreviousFactor, [Char('['), Char('p')], "上一因子" "previous", "看上一个因子" "look at the factor before", FACTOR, |a| a.workspace.factors.len() > 1, false),
    command!(A::Horizon, [Char('d')], "持有期" "horizon", "换一个持有天数" "another holding period", FACTOR, |a| a.factor.horizons() > 1 && a.factor.shows_returns(), true),
    command!(A::Layers, [Char('v')], "分层图" "layers", "分层净值、分层平均收益、逐日 RankIC 轮换" "wealth by layer, mean by layer, RankIC by day", FACTOR, |a| a.factor.has_dates() && !a.factor.can_go_back(), true),
    command!(A::Down, [Down, Char('j')], "下" "down", "下移一行" "one line down", ALL, ALWAYS, false),
    command!(A::Up, [Up, Char('k')], "上" "up", "上移一行" "one line up", ALL, ALWAYS, false),
    command!(A::PageDown, [PageDown, Char(' ')], "下页" "page down", "下移一页；运行页滚动详情；因子曲线后移 21 日" "a page down; along a factor's curve 21 days on", ALL, ALWAYS, false),
    command!(A::PageUp, [PageUp, Char('b')], "上页" "page up", "上移一页；运行页滚动详情；因子曲线前移 21 日" "a page up; along a factor's curve 21 days back", ALL, ALWAYS, false),
    command!(A::First, [Home, Char('g')], "开头" "first", "到开头" "to the beginning", ALL, ALWAYS, false),
    command!(A::Last, [End, Char('G')], "末尾" "last", "到末尾" "to the end", ALL, ALWAYS, false),
    command!(A::Show(Page::Corpus), [Char('1')], "语料" "corpus", "语料页" "the corpus page", ALL, ALWAYS, false),
    command!(A::Show(Page::Run), [Char('2')], "运行" "run", "运行页" "the run page", ALL, ALWAYS, false),
    command!(A::Show(Page::Factor), [Char('3')], "因子" "factor", "因子页" "the factor page", ALL, ALWAYS, false),
    command!(A::Show(Page::Experiments), [Char('4')], "实验" "experiments", "实验页" "the page of experiments", ALL, ALWAYS, false),
    command!(A::NextPage, [Tab, BackTab], "换页" "pages", "下一页" "the next page", ALL, ALWAYS, true),
    command!(A::Copy, [Char('y')], "复制命令" "copy", "复制无界面等价命令（终端须支持 OSC 52）" "copy the command without a screen (OSC 52)", ALL, ALWAYS, false),
    command!(A::Language, [Char('L')], "English" "中文", "切换中文与英文" "switch between Chinese and English", ALL, ALWAYS, true),
    command!(A::Help, [Char('?')], "帮助" "help", "全部按键" "all keys", ALL, ALWAYS, true),
    command!(A::Quit, [Char('q')], "退出" "quit", "退出；运行中先询问" "leave; asks first while a run is under way", ALL, ALWAYS, true),
];

/// The action bound to the key on the page shown, when it can be done now.
pub(crate) fn bound(app: &App, key: &KeyEvent) -> Option<Action> {
    if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
        return None;
    }
    let command = COMMANDS.iter().find(|c| c.pages.contains(&app.page) && c.keys.contains(&key.code))?;
    (command.enabled)(app).then_some(command.action)
}

/// How a key is written.
pub(crate) fn key_name(key: KeyCode) -> String {
    match key {
        Char(' ') => "Space".to_owned(),
        Char(c) => c.to_string(),
        Left => "←".to_owned(),
        Right => "→".to_owned(),
        Up => "↑".to_owned(),
        Down => "↓".to_owned(),
        PageDown => "PgDn".to_owned(),
        PageUp => "PgUp".to_owned(),
        BackTab => "Shift-Tab".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::tui::Language;

    #[test]
    fn no_key_has_two_meanings_on_a_page() {
        for page in Page::ALL {
            let mut seen = HashSet::new();
            for key in COMMANDS.iter().filter(|c| c.pages.contains(&page)).flat_map(|c| c.keys) {
                assert!(seen.insert(*key), "{} is bound twice on {page:?}", key_name(*key));
            }
        }
    }

    #[test]
    fn every_command_has_keys_a_page_and_help_in_both_languages() {
        let mut seen = Vec::new();
        for command in COMMANDS {
            assert!(!command.keys.is_empty() && !command.pages.is_empty());
            assert!(!seen.contains(&command.action), "{:?} stands twice", command.action);
            seen.push(command.action);
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

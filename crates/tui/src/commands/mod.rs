//! The one table of commands: the key handler, the bottom line and the help all read it.

mod docs;
mod keys;
mod palette;

pub(crate) use docs::markdown;
pub(crate) use keys::KeyPress;
pub(crate) use keys::Keymap;
pub use keys::sequence;
pub(crate) use palette::{Palette, PaletteEntry, PalettePlaces, leads_there};

use super::action::Action;
use super::page::Page;
use super::words::Word;

/// A row of the table.
pub(crate) struct Command {
    /// Name in the configuration and in the palette.
    pub id: &'static str,
    pub action: Action,
    /// Keys that do it unless the configuration gives others, the one to show first; written as in the configuration.
    pub keys: &'static [&'static str],
    /// A word for the bottom line.
    pub name: Word,
    pub help: Word,
    pub pages: &'static [Page],
    /// True if the bottom line shows it. Moving about is known to everybody and left to the help.
    pub bar: bool,
}

impl Command {
    /// True if the bottom line of the page shows it. The bottom lines of the experiments and of the factor have no room for the commands of all tables.
    pub(crate) fn is_in_bar(&self, page: Page) -> bool {
        self.bar
            && self.pages.contains(&page)
            && !(matches!(page, Page::Experiments | Page::Factor) && self.action.is_of_table())
    }
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
const STOCK: &[Page] = &[Page::Stock];
const ZOOMED: &[Page] = &[Page::Models, Page::Stock];
const BARE: &[Page] = &[Page::Features, Page::Factor];
const WITH_DOCUMENT: &[Page] = &[Page::Corpus, Page::Text];
/// Pages with a table of the kit.
const TABLES: &[Page] = &[Page::Corpus, Page::Onnx, Page::Features, Page::Ledger, Page::Jobs];
/// Pages with a table, some of them with keys of their own for its order and the mark among its columns.
const LISTS: &[Page] =
    &[Page::Corpus, Page::Onnx, Page::Features, Page::Experiments, Page::Factor, Page::Ledger, Page::Jobs];
/// Pages whose tables are sorted by the column with the mark.
const SORTED: &[Page] = &[Page::Corpus, Page::Onnx, Page::Features, Page::Experiments, Page::Ledger, Page::Jobs];
const PIPELINE: &[Page] = &[Page::Corpus, Page::Factor, Page::Jobs];

macro_rules! command {
    ($id:literal, $action:expr, [$($key:expr),+], $zh:literal $en:literal, $help_zh:literal $help_en:literal, $pages:expr, $bar:literal) => {
        Command {
            id: $id,
            action: $action,
            keys: &[$($key),+],
            name: Word($zh, $en),
            help: Word($help_zh, $help_en),
            pages: $pages,
            bar: $bar,
        }
    };
}

use Action as A;

/// All commands, in the order of the help and of the bottom line.
#[rustfmt::skip]
pub(crate) static COMMANDS: &[Command] = &[
    // Corpus
    command!("read", A::Open, ["enter"], "阅读" "read", "进入正文，j/k 滚动" "move into the text, j/k scroll it", CORPUS, true),
    command!("search", A::Search, ["/"], "搜索" "search", "搜索标题、代码与正文；re: 为正则表达式，~ 为按词排序" "search titles, codes, bodies; re: begins an expression, ~ words that rank", CORPUS, true),
    command!("filter", A::Filter, ["f"], "筛选" "filter", "筛选：类型:研报 2024-01.. 字数>500 机构:中信 tone<0 -重复 词" "filter: kind:report 2024-01.. length>500 tone<0 -repeats word", CORPUS, true),
    command!("turn-order", A::TurnOrder, ["o"], "倒序" "turn", "升序与降序互换" "reverse the order", CORPUS, false),
    command!("fold", A::Fold, ["z"], "折叠" "fold", "把重复折叠进首发的一篇，×3 为篇数；再按展开" "fold repeats into their first mention, with their count", CORPUS, true),
    command!("unfold", A::Unfold, ["x"], "展开" "unfold", "展开或收起光标处一篇的重复" "show or hide the repeats of the document at the cursor", CORPUS, true),
    command!("next-hit", A::NextHit, ["n"], "下一处" "next hit", "正文中的下一处命中" "the next hit in the text", CORPUS, true),
    command!("previous-hit", A::PreviousHit, ["N"], "上一处" "hit before", "正文中的上一处命中" "the previous hit in the text", CORPUS, false),
    command!("on-text-page", A::OnTextPage, ["v"], "文本页" "text page", "在文本页打开这篇：多种切词与截断" "open it on the text page: tokenisers, truncations", CORPUS, true),
    command!("compare-documents", A::CompareDocuments, ["="], "并排" "compare", "标记这篇；在另一篇上再按，两篇并排，差异着色" "mark it; on another document, see both with what differs in colour", CORPUS, true),
    command!("tokens", A::Cut, ["t"], "切词" "tokens", "正文：原样、按字、jieba 分词" "text as it is, in characters, in jieba words", CORPUS, true),
    command!("note", A::AddNote, ["a"], "笔记" "note", "给这篇文档写一条笔记，存在项目里；筛选 有:笔记" "a note on the document, kept in the project; filter has:note", CORPUS, true),

    // Text
    command!("text-focus", A::Focus, ["f"], "焦点" "focus", "换焦点：原文、切词、截断" "to the text, the tokens, the strategies", TEXT, true),
    command!("tokeniser", A::Tokeniser, ["m"], "分词器" "tokeniser", "换分词器；截断按它的词元计数" "the next tokeniser; limits count its tokens", TEXT, true),
    command!("next-token", A::NextToken, ["right", "l"], "词元" "token", "后一个词元；其他分词器同步" "the next token; all tokenisers follow", TEXT, true),
    command!("previous-token", A::PreviousToken, ["left", "h"], "前一词元" "token before", "前一个词元；其他分词器同步" "the token before; all tokenisers follow", TEXT, false),
    command!("next-document", A::DocumentAfter, ["]", "n"], "下一篇" "next", "语料中的下一篇文档" "the next document of the corpus", TEXT, true),
    command!("previous-document", A::DocumentBefore, ["[", "p"], "上一篇" "previous", "语料中的上一篇文档" "the document of the corpus before", TEXT, false),
    command!("own-text", A::OwnText, ["/", "i"], "输入文本" "own text", "输入或粘贴一段文本来切；Esc 回到文档" "type or paste a text to cut; Esc leads back", TEXT, true),
    command!("add-strategy", A::AddStrategy, ["a"], "加策略" "add", "加一个截断策略，如 head+tail:128+382" "add a strategy of truncation, as tail:256", TEXT, true),
    command!("budget", A::Budget, ["t"], "预算" "budget", "没有写长度的策略用多少词元：128 至 1024" "tokens of strategies without a limit: 128 to 1024", TEXT, true),
    command!("drop-strategy", A::DropStrategy, ["x"], "删策略" "drop", "删去自己加的策略" "drop a strategy of your own", TEXT, true),

    // Models
    command!("ask-model", A::AskModel, ["enter"], "提问" "ask", "提问；以标出的词再问；表单中开始训练；训练后看模型" "ask; ask for the marked word; in the form start; then see the model", MODELS, true),
    command!("type", A::Type, ["/"], "输入" "type", "输入要问的词或句子；表单中改一项" "type what to ask; in the form change a line", MODELS, true),
    command!("train", A::Train, ["t"], "训练" "train", "在本项目的语料或别的文件上训练；训练中看损失曲线" "train on this project's documents or a file; see the loss", MODELS, true),
    command!("nearest", A::Nearest, ["n"], "近邻" "nearest", "与一个词余弦最大的词" "the words nearest to a word, by cosine", MODELS, true),
    command!("analogy", A::Analogy, ["a"], "类比" "analogy", "三个词 A B C：求 D，使 D 之于 C 如 B 之于 A" "three words A B C: D is to C as B is to A", MODELS, true),
    command!("plane", A::Plane, ["p"], "投影" "plane", "最常见的词或一个词的近邻，画在平面上（PCA；再按为 t-SNE）" "frequent words, or a word's nearest, in the plane (PCA; again: t-SNE)", MODELS, true),
    command!("following", A::Following, ["w"], "续写" "follows", "一段话之后最可能的词及其概率" "the words that most probably follow a text", MODELS, true),
    command!("surprise", A::Surprise, ["u"], "困惑度" "surprise", "一句话中每个词元的意外程度（比特），与困惑度" "bits of surprise of each token, and the perplexity", MODELS, true),
    command!("next-model", A::NextModel, ["]"], "下一个" "next", "下一个模型；提问时以同样的问题问它" "the next model; while asking, ask it the same", MODELS, false),
    command!("previous-model", A::PreviousModel, ["["], "上一个" "previous", "上一个模型；提问时以同样的问题问它" "the model before; while asking, ask it the same", MODELS, false),
    command!("next-choice", A::NextChoice, ["right", "l"], "换" "change", "表单：下一个选项；投影：右边的词" "in the form the next choice, in the plane the word to the right", MODELS, false),
    command!("previous-choice", A::PreviousChoice, ["left", "h"], "换回" "change back", "表单：上一个选项；投影：左边的词" "in the form the choice before, in the plane the word to the left", MODELS, false),

    command!("colour-plane", A::ColourPlane, ["v"], "着色" "colours", "投影：按聚类着色，再按按语气词典" "in the plane: words coloured by their cluster, again by the tone of the lexicon", MODELS, true),
    command!("keep-curve", A::KeepCurve, ["m"], "留曲线" "keep curve", "留住这条损失曲线，与下一次训练的画在一起" "keep this loss curve, to see that of the next training beside it", MODELS, true),

    // ONNX
    command!("enter-model", A::EnterModel, ["enter"], "打开" "open", "进入下面的视图，j/k 滚动" "move into the view, j/k scroll it", ONNX, true),
    command!("model-view", A::OtherPane, ["v"], "切换视图" "view", "张量、测速、填空轮换" "tensors, speed, fill-mask in turn", ONNX, true),
    command!("ask-contextual", A::Ask, ["/"], "填空" "ask", "输入一句：填 [MASK]、分类，或两句用 | 隔开求余弦" "a sentence: fill [MASK], classify, a | b compares", ONNX, true),
    command!("measure", A::Measure, ["m"], "测速" "measure", "按批大小量篇/秒、词元/秒与内存，Esc 停止" "speed and memory by batch size, Esc stops it", ONNX, true),
    command!("measure-with", A::MeasureWith, ["t"], "文本" "texts", "测速用的文本：语料或固定长度" "measure with the corpus or with texts of a length", ONNX, true),

    // Pages without anything
    command!("add-tone", A::AddTone, ["a"], "添加语气因子" "add tone", "在空的页上：添加情感词典特征与因子 tone，并运行" "on a page without anything: add a feature of tone with its factor, and run", BARE, true),
    command!("add-ridge", A::AddRidge, ["A"], "添加学习因子" "add ridge", "在空的页上：添加 TF-IDF 与岭回归及其因子，并运行" "on a page without anything: add TF-IDF and ridge regression with its factor, and run", BARE, true),
    command!("add-experiment", A::AddExperiment, ["a"], "添加实验" "add experiment", "没有实验时：添加截断策略的对照实验，并运行" "where there is no experiment: add a comparison of truncations, and run", EXPERIMENTS, true),
    // Features
    command!("look-into-set", A::FeatureOpen, ["enter"], "查看" "open", "读选中的特征集；近邻中打开那篇文档" "look into the set; among neighbours open the document", FEATURES, true),
    command!("feature-view", A::FeatureView, ["v"], "切换视图" "view", "体检、近邻、文件轮换" "health, neighbours, files in turn", FEATURES, true),
    command!("find-document", A::FeatureFind, ["/"], "找文档" "find", "按标题、编号或代码找一篇文档，看它的近邻" "find a document by title, id or code for its neighbours", FEATURES, true),
    command!("distance", A::FeatureMeasure, ["e"], "度量" "measure", "近邻：余弦或欧氏距离" "neighbours by cosine or by Euclidean distance", FEATURES, true),
    command!("past-only", A::FeaturePast, ["p"], "只看过去" "past only", "近邻：只看更早发布的文档，或不论先后" "neighbours: earlier documents alone, or all", FEATURES, true),
    command!("sets-of-checks", A::FeatureChecks, ["z"], "检查用集" "check sets", "显示或隐藏检查与实验生成的特征集" "show or hide sets that checks and experiments made", FEATURES, true),
    command!("reread-features", A::FeatureReread, ["u"], "重读" "reread", "再读一次特征库" "read the feature store again", FEATURES, true),

    // Experiments
    command!("open-document", A::OpenDocument, ["enter"], "文档" "document", "看一篇文档：每个策略保留与丢弃的部分" "a document, as each strategy cuts it", EXPERIMENTS, true),
    command!("view-cells", A::View, ["v"], "切换视图" "view", "列表、网格、前沿、效应轮换；宽屏上并列，换焦点" "list, grid, frontier, effects; side by side where there is room", EXPERIMENTS, true),
    command!("previous-strategy", A::PreviousStrategy, ["left", "h"], "前一列" "column before", "文档：前一个单元；网格与列表：前一列" "in a document the cell before, in grid and list the column", EXPERIMENTS, false),
    command!("next-strategy", A::NextStrategy, ["right", "l"], "后一列" "column", "文档：后一个单元；网格与列表：后一列" "in a document the next cell, in grid and list the next column", EXPERIMENTS, true),
    command!("next-experiment", A::Next, ["]", "n"], "下一个" "next", "下一个实验；文档中为下一篇" "the next experiment; in a document the next one", EXPERIMENTS, true),
    command!("previous-experiment", A::Previous, ["[", "p"], "上一个" "previous", "上一个实验；文档中为上一篇" "the experiment before; in a document the one before", EXPERIMENTS, false),
    command!("run-experiments", A::RunExperiments, ["r"], "运行实验" "run", "运行全部实验；已读过的窗口不会重读" "run the experiments; what was read is not read twice", EXPERIMENTS, true),

    // Factor
    command!("drill", A::Drill, ["enter"], "下钻" "drill", "看一层的日期或光标日的个股，再到文档、句子、词" "dates of a layer or names of a date, then documents, words", FACTOR, true),
    command!("order-names", A::Sort, ["s"], "排序" "order", "日期：按日期或收益；个股：按值、收益、文档数；其他：按选中的列" "dates: by date, return; names: by value, return, documents; else the marked column", FACTOR, true),
    command!("one-layer", A::Quantile, ["f"], "分层" "layer", "在日期光标与分层柱之间换焦点；当日个股：只看一层" "from the dates to the layers' bars and back; names of one layer", FACTOR, true),
    command!("left", A::Left, ["left"], "前一个" "before", "前一个日期或分层；句子与列表中为前一列" "the date or layer before; among sentences and in lists the column before", FACTOR, false),
    command!("right", A::Right, ["right"], "后一个" "after", "后一个日期或分层；句子与列表中为后一列" "the date or layer after; among sentences and in lists the next column", FACTOR, false),
    command!("next-factor", A::NextFactor, ["]", "n"], "下一因子" "next factor", "看下一个因子" "look at the next factor", FACTOR, true),
    command!("previous-factor", A::PreviousFactor, ["[", "p"], "上一因子" "previous", "看上一个因子" "look at the factor before", FACTOR, false),
    command!("horizon", A::Horizon, ["d"], "持有期" "horizon", "换一个持有天数" "another holding period", FACTOR, true),
    command!("layers", A::Layers, ["v"], "分层图" "layers", "分层净值、分层平均收益、逐日 RankIC 轮换" "wealth by layer, mean by layer, RankIC by day", FACTOR, true),
    command!("checks", A::Checks, ["l"], "检查" "checks", "列出未来函数检查的结论；没有结论时开始检查，再按重查" "verdicts of the look-ahead checks; starts them where there are none, again checks anew", FACTOR, true),
    command!("tear-sheet", A::TearSheet, ["m"], "月度" "months", "月度收益、回撤、滚动指标、风格与行业暴露；再按返回" "monthly returns, drawdowns, rolling figures, styles and industries; again to go back", FACTOR, true),
    command!("compare-factors", A::Compare, ["x"], "比较" "compare", "全部因子两两比较：值与 IC 的相关、顶层重合；Enter 看两个因子的净值" "all factors beside one another: values, ICs, top layers; Enter shows two", FACTOR, true),
    command!("export", A::Export, ["e"], "导出" "export", "运行到导出：因子与回测的表" "run up to the export: tables of factors and backtests", FACTOR, true),
    command!("report", A::Report, ["R"], "报告" "report", "运行到报告：每个因子一页，中英文" "run up to the report: a page on each factor", FACTOR, true),

    // Stock
    command!("read-document", A::ReadDocument, ["enter"], "阅读" "read", "在语料页的阅读器中打开光标处的文档" "open the marked document in the reader of the corpus", STOCK, true),
    command!("earlier-document", A::EarlierDocument, ["left", "h"], "前一篇" "before", "前一篇关于这只股票的文档" "the document on this stock before", STOCK, false),
    command!("later-document", A::LaterDocument, ["right", "l"], "后一篇" "next", "后一篇关于这只股票的文档" "the next document on this stock", STOCK, true),
    command!("zoom-in", A::ZoomIn, ["+", "="], "放大" "zoom in", "个股：更少的交易日；投影：标出的词周围更小的一块" "of a stock fewer days; of the plane a smaller part around the marked word", ZOOMED, true),
    command!("zoom-out", A::ZoomOut, ["-"], "缩小" "zoom out", "个股：更多的交易日；投影：更大的一块" "of a stock more days; of the plane a larger part", ZOOMED, true),
    command!("other-factor", A::OtherFactor, ["f"], "因子" "factor", "换一个因子的值与分层" "value and layer of another factor", STOCK, true),
    command!("find-stock", A::FindStock, ["/"], "找股票" "find", "按代码、简称或拼音首字母找一只股票" "find a stock by code, name or pinyin initials", STOCK, true),
    command!("next-stock", A::NextStock, ["]", "n"], "下一只" "next stock", "来处列表中的下一只股票" "the next stock of the list that led here", STOCK, true),
    command!("previous-stock", A::PreviousStock, ["[", "p"], "上一只" "stock before", "来处列表中的上一只股票" "the stock before in the list that led here", STOCK, false),

    // Ledger
    command!("ledger-open", A::LedgerOpen, ["enter"], "详情" "details", "进入下方窗格，j/k 滚动" "move into the pane below, j/k scroll it", LEDGER, true),
    command!("ledger-view", A::LedgerView, ["v"], "切换视图" "view", "详情、总评、直方图轮换" "details, summary, histogram in turn", LEDGER, true),
    command!("ledger-filter", A::LedgerFilter, ["/"], "筛选" "filter", "按名称、参数、理由筛选，边输入边筛" "filter by name, parameters or reason while you type", LEDGER, true),
    command!("ledger-delete", A::LedgerDelete, ["d"], "删除" "delete", "删除选中的一条（须写理由；它仍计入次数）" "delete the entry, with a reason; it still counts", LEDGER, true),
    command!("mark-trial", A::MarkTrial, ["m"], "比较" "compare", "标记这一次试验，与随后选中的并列：先列不同的设置，再列指标与差" "mark the trial, to see others beside it: settings that differ, figures", LEDGER, true),
    command!("ledger-reread", A::LedgerReread, ["u"], "重读" "reread", "再读一次台账" "read the ledger again", LEDGER, true),

    // Jobs
    command!("open-rejects", A::OpenReject, ["enter"], "打开" "open", "拒收：列出这一组的行" "among rejects: the rows of the group", JOBS, true),
    command!("job-panes", A::Panes, ["v"], "切换视图" "view", "阶段、日志、拒收的行轮换" "stages, log, rejected rows", JOBS, true),
    command!("find-in-log", A::FindInLog, ["/"], "搜日志" "find", "在日志里查找，边输入边查" "search the log while you type", JOBS, true),
    command!("rejects", A::Rejects, ["x"], "拒收" "rejects", "导入时拒收的行：文件、行号、原因、原文" "rows that ingest rejected, and why", JOBS, true),
    command!("watch-workers", A::Watch, ["w"], "工作进程" "workers", "显示计划中的特征由各工作进程算到哪里" "how far the workers are with the features that were planned", JOBS, false),
    command!("next-job", A::NextJob, ["]", "n"], "下一任务" "next job", "看下一个任务的阶段" "look at the next job of the list", JOBS, true),
    command!("previous-job", A::PreviousJob, ["[", "p"], "上一任务" "previous job", "看上一个任务的阶段" "look at the job before", JOBS, false),

    // Tables
    command!("sort-table", A::SortTable, ["s"], "排序" "sort", "按选中的列排序，再按反向；点表头也可" "by the column with the mark, again turns it; a click on a title does so too", SORTED, true),
    command!("column-left", A::ColumnLeft, ["left", "h"], "前一列" "column before", "选中前一列；放不下的列随之移入" "the mark to the column before; columns that do not fit come into sight", TABLES, false),
    command!("column-right", A::ColumnRight, ["right", "l"], "后一列" "next column", "选中后一列；放不下的列随之移入" "the mark to the next column; columns that do not fit come into sight", TABLES, false),
    command!("choose-columns", A::ChooseColumns, ["C"], "列" "columns", "选列：显示、隐藏、移动；语料页含单列特征的得分" "show, hide and move columns; on the corpus page scores of features too", LISTS, true),
    command!("hide-column", A::HideColumn, ["-"], "隐藏列" "hide column", "隐藏选中的列" "hide the column with the mark", LISTS, false),
    command!("frequencies", A::Frequencies, ["F"], "频次" "frequencies", "选中列各值的频次，数按分位；Enter 只列这一组" "how often each value of the column comes, numbers by quantiles; Enter lists that group", LISTS, true),
    command!("summary", A::Summary, ["I"], "概况" "summary", "选中列的缺失、不同值、均值、分位" "missing and distinct values, mean and quantiles of the column", LISTS, false),
    command!("only-marked", A::OnlyMarked, ["*"], "仅标记" "marked only", "只列标记的行；再按全列" "list marked rows alone; again lists all", LISTS, false),

    // The pipeline
    command!("run", A::Start, ["r"], "运行" "run", "从未完成的一步开始运行整条流水线" "run the stages that are not up to date", PIPELINE, true),
    command!("pause", A::Pause, ["P"], "暂停" "pause", "暂停或继续任务；暂停不计入用时" "pause or resume a job; a pause does not count as time used", ALL, true),
    command!("cancel", A::Cancel, ["c"], "取消" "cancel", "停止任务（先询问），已完成的保留；等待中的移出队列" "stop a job (asks first), or take it out of the queue", ALL, true),

    // Everywhere
    command!("back", A::Back, ["esc"], "返回" "back", "离开正文、文档、搜索结果、拒收列表；下钻中返回上一层" "leave the text, document, search, rejects; a level up", ALL, true),
    command!("down", A::Down, ["down", "j"], "下" "down", "下移一行" "one line down", ALL, false),
    command!("up", A::Up, ["up", "k"], "上" "up", "上移一行" "one line up", ALL, false),
    command!("page-down", A::PageDown, ["pgdn", "ctrl-f"], "下页" "page down", "下移一页；任务页滚动详情；因子曲线后移 21 日" "a page down; along a factor's curve 21 days on", ALL, false),
    command!("page-up", A::PageUp, ["pgup", "b", "ctrl-b"], "上页" "page up", "上移一页；任务页滚动详情；因子曲线前移 21 日" "a page up; along a factor's curve 21 days back", ALL, false),
    command!("half-page-down", A::HalfDown, ["ctrl-d"], "下半页" "half down", "下移半页" "half a page down", ALL, false),
    command!("half-page-up", A::HalfUp, ["ctrl-u"], "上半页" "half up", "上移半页" "half a page up", ALL, false),
    command!("mark-row", A::MarkRow, ["space"], "标记" "mark", "表中：标记一行或取消；别处下移一页" "in a table: mark the row or take the mark away; elsewhere a page down", ALL, false),
    command!("first", A::First, ["home", "g"], "开头" "first", "到开头" "to the beginning", ALL, false),
    command!("last", A::Last, ["end", "G"], "末尾" "last", "到末尾" "to the end", ALL, false),
    command!("show-corpus", A::Show(Page::Corpus), ["1"], "语料" "corpus", "语料页：文档表与阅读" "the corpus: a table and a reader", ALL, false),
    command!("show-text", A::Show(Page::Text), ["2"], "文本" "text", "文本页：一篇文档的多种切词与截断" "a document under tokenisers and truncations", ALL, false),
    command!("show-models", A::Show(Page::Models), ["3"], "模型" "models", "模型页：训练、近邻、困惑度" "models: training, neighbours, perplexity", ALL, false),
    command!("show-onnx", A::Show(Page::Onnx), ["4"], "ONNX" "onnx", "ONNX 页：模型、设备、填空" "contextual models, devices, fill-mask", ALL, false),
    command!("show-features", A::Show(Page::Features), ["5"], "特征" "features", "特征页：特征集、覆盖、近邻" "feature sets: coverage, health, neighbours", ALL, false),
    command!("show-experiments", A::Show(Page::Experiments), ["6"], "实验" "experiments", "实验页：各种设置的比较" "experiments: settings compared", ALL, false),
    command!("show-factor", A::Show(Page::Factor), ["7"], "因子" "factor", "因子页：检验与下钻" "the factor: its tests, and what is behind", ALL, false),
    command!("show-ledger", A::Show(Page::Ledger), ["8"], "台账" "ledger", "台账页：每一次回测" "the ledger: every backtest that ran", ALL, false),
    command!("show-jobs", A::Show(Page::Jobs), ["9"], "任务" "jobs", "任务页：进度、日志、拒收" "jobs: progress, log, rejects", ALL, false),
    command!("next-page", A::NextPage, ["tab"], "换页" "pages", "下一页" "the next page", ALL, true),
    command!("previous-page", A::PreviousPage, ["shift-tab"], "前一页" "page before", "前一页" "the page before", ALL, false),
    command!("pane-alone", A::ZoomPane, ["V"], "单窗格" "pane alone", "光标所在的窗格占满整页；再按或 Esc 恢复" "give the whole page to the pane with the focus; again, or Esc, shows all", ALL, false),
    command!("stock", A::Stock, ["K"], "个股" "stock", "个股：价格、成交量、文档与因子在同一时间轴上；列表中取光标处的代码，别处输入代码" "one stock: prices, volume, documents and a factor on one axis; of the marked line, or typed", ALL, true),
    command!("copy-command", A::Copy, ["y"], "复制命令" "copy", "复制等价命令（终端须支持 OSC 52）" "copy the CLI command (OSC 52)", ALL, false),
    command!("copy-table", A::CopyTable, ["Y"], "复制表格" "copy table", "把本页的表以 CSV 复制" "copy what the page lists as CSV", ALL, false),
    command!("copy-markdown", A::CopyMarkdown, ["M"], "复制为 Markdown" "copy as Markdown", "把本页的表以 Markdown 复制" "copy what the page lists as Markdown", ALL, false),
    command!("copy-text", A::CopyText, ["X"], "复制原文" "copy text", "复制光标处文档的标题与正文" "copy title and body of the document at the cursor", WITH_DOCUMENT, false),
    command!("copy-id", A::CopyId, ["#"], "复制编号" "copy id", "复制光标处文档的编号" "copy the id of the document at the cursor", WITH_DOCUMENT, false),
    command!("edit-configuration", A::EditConfiguration, ["E"], "编辑配置" "edit", "用编辑器（EDITOR）打开 workbench.toml，光标停在本页所看的一节" "open workbench.toml in your editor (EDITOR), at the section of what the page shows", ALL, false),
    command!("undo-change", A::UndoChange, ["Z"], "撤销改动" "undo", "撤销本程序对 workbench.toml 的上一次改动；可再按" "undo the last change that this program made to workbench.toml; again for the one before", ALL, false),
    command!("open-report", A::OpenReport, ["O"], "打开报告" "open report", "在浏览器中打开所看因子的报告" "open the report on the factor shown in a browser", ALL, false),
    command!("save", A::Save, ["S"], "存图" "save", "把图表存为 SVG 与 PNG；没有图表时存整个画面" "save the charts as SVG and PNG, or else the screen", ALL, false),
    command!("draw-charts", A::DrawCharts, ["W"], "看图" "pictures", "以真正的图片看本页的图表（终端须能显示图片）" "see the charts of the page as pictures, where the terminal shows them", ALL, false),
    command!("palette", A::Palette, [":", "ctrl-p"], "命令" "commands", "按几个字母、汉字或拼音首字母找命令" "find a command by a few letters", ALL, true),
    command!("theme", A::Theme, ["T"], "明暗" "theme", "切换深色与浅色" "switch between dark and light", ALL, false),
    command!("language", A::Language, ["L"], "English" "中文", "切换中文与英文" "switch between Chinese and English", ALL, true),
    command!("settings", A::Settings, [","], "设置" "settings", "改配置：每个键的值、默认与说明，保存后立即生效" "change the configuration: values, defaults, what they are", ALL, false),
    command!("tour", A::Tour, ["U"], "导览" "tour", "八屏导览：每页看什么、按什么键" "a tour in eight screens: what to look at, which key", ALL, false),
    command!("help", A::Help, ["?"], "帮助" "help", "全部按键" "all keys", ALL, true),
    command!("quit", A::Quit, ["q"], "退出" "quit", "退出；运行中先询问" "leave; asks first while a run is under way", ALL, true),
];

/// True if the page has a table of the kit.
pub(crate) fn has_table(page: Page) -> bool {
    LISTS.contains(&page)
}

pub(crate) fn shows(page: Page) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.action == Action::Show(page))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Language;

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

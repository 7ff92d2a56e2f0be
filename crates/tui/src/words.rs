//! The texts that several pages share, in Chinese and English.

use super::Language;
use inkstone_base::data::Kind;
use inkstone_base::words;
use inkstone_lab::backtest::{Alignment, Outcome, Preset};
use inkstone_market::Price;

pub(crate) use inkstone_base::language::Word;

words! {
    CORPUS: "语料", "Corpus";
    TEXT: "文本", "Text";
    MODELS: "模型", "Models";
    ONNX: "ONNX", "ONNX";
    FEATURES: "特征", "Features";
    EXPERIMENTS: "实验", "Experiments";
    FACTOR: "因子", "Factor";
    LEDGER: "台账", "Ledger";
    JOBS: "任务", "Jobs";
    STOCK: "个股", "Stock";
    PIPELINE: "整条流水线", "the whole pipeline";

    DARK: "深色", "dark";
    LIGHT: "浅色", "light";
    PALETTE: "命令", "Commands";
    PALETTE_HINT: "Enter 执行 · Esc 关闭 · 汉字、英文或拼音首字母", "Enter run · Esc close";
    PALETTE_EMPTY: "没有这样的命令", "no such command";
    NOT_NOW: "现在不能", "not now";
    SAVED: "已存到", "saved in";
    SAVE_FAILED: "保存失败", "not saved";

    READING: "读取中…", "reading…";
    FILTER: "筛选", "filter";
    MODEL: "模型", "model";
    COSINE: "余弦", "cosine";
    PATH: "路径", "path";
    NO_TITLE: "（无标题）", "(no title)";
    BOILERPLATE: "套话", "boilerplate";
    AGAIN: "按 u 再读一次。", "Press u to read again.";
    SECONDS: "秒", "seconds";
    TOKEN: "词元", "token";
    SIZE: "大小", "size";
    KEY: "键", "key";
    CHOOSE: "选择", "choose";
    MOVE: "移动", "move";
    SORT: "种类", "kind";
    TOO_SMALL: "窗口太小：至少 60 列 16 行", "The window is too small: 60 columns and 16 rows at least";
    HELP: "全部按键", "All keys";
    HELP_HINT: "j/k 滚动 · Esc 关闭", "j/k scroll · Esc close";
    NO_GRAPHICS: "此终端（或 tmux）不显示图片：按 S 存为 SVG 与 PNG，按 O 看报告", "this terminal, or tmux, shows no pictures: S saves SVG and PNG, O opens the report";
    NO_CHARTS: "本页没有图表", "this page has no charts";
    NEXT_PICTURE: "Esc 返回，其他键看下一张", "Esc back, any other key for the next";
    LAST_PICTURE: "任意键返回", "any key goes back";
    NO_REPORT: "这个因子还没有报告：按 R 生成", "there is no report on this factor yet: press R";
    OPENED: "已打开", "opened";
    LINE: "行", "line";
    FILTER_BY: "筛选文档", "documents with";
    OWN_COLOURS: "自己的配色", "your own colours";
    YES_NO: "y 是 · n 否", "y yes · n no";
    ASK_LIBRARY: "这个项目的配置（[onnx] library）指定了一个本机代码库。加载它，就是以你的权限运行其中的代码。信任并加载吗？这个回答会记住，文件改变后再问。",
        "The configuration of this project names a library of native code ([onnx] library). Loading it runs its code with your rights. Trust it? A yes is kept until the file changes.";
    ASK_CHANGED_LIBRARY: "配置（[onnx] library）指定的本机代码库，在你同意之后被改动过。加载它，就是以你的权限运行其中的代码。仍然信任吗？",
        "The library of native code that the configuration names ([onnx] library) has changed since you agreed to it. Loading it runs its code with your rights. Trust it as it is now?";
    CRASHED: "工作台因自身的错误而退出，报告在", "The workbench ended by an error of its own; the report is";
    CRASHED_SILENTLY: "工作台因自身的错误而退出，报告无法写入", "The workbench ended by an error of its own; the report cannot be written";
    NO_SCREEN: "等价命令", "CLI";
    COPIED: "已送往剪贴板", "sent to the clipboard";

    NO_CORPUS: "还没有语料：按 r 运行流水线，或在 workbench.toml 的 [[source]] 里指定文件。", "There are no documents yet: press r to run the pipeline, or name files under [[source]] in workbench.toml.";
    CLEANED: "已清洗", "cleaned";
    AS_INGESTED: "未清洗", "as ingested";
    TIME: "发布时间", "published";
    CODE: "代码", "code";
    KIND: "类型", "kind";
    REPEAT: "重", "≈";
    TITLE: "标题", "title";
    NEWS: "新闻", "news";
    REPORT: "研报", "report";
    ANNOUNCEMENT: "公告", "notice";
    POST: "帖子", "post";
    CHARACTERS: "字", "characters";
    CUT_CHARACTERS: "按字", "characters";
    CUT_WORDS: "jieba", "jieba";
    REPEATS: "重复于", "repeats";
    SEARCH: "搜索", "search";
    SEARCHING: "查找中…", "searching…";
    SEARCH_KEYS: " Enter 确定  Esc 取消  Ctrl-U 清空", " Enter keep  Esc cancel  Ctrl-U clear";

    NO_RUN: "本次还没有运行。按 r 开始；没有变化的阶段会跳过。", "Nothing has run yet. Press r to start; stages that are up to date are skipped.";
    NOT_STARTED: "未开始", "not started";
    LAST_RUN: "上次运行的报告", "last run";
    AFTER_LAST_RUN: "以下是上次运行的报告；按 r 运行，没有变化的阶段会跳过。", "These are the reports of the last run. Press r to run; stages that are up to date are skipped.";
    RUNNING: "进行中", "running";
    STOPPING: "正在停止…", "stopping…";
    DONE: "完成", "done";
    FAILED: "失败", "failed";
    CANCELLED: "已取消", "cancelled";
    UNCHANGED: "无变化，已跳过", "unchanged, skipped";
    UNCHANGED_SHORT: "无变化", "unchanged";
    YES: "是", "yes";
    NO: "否", "no";
    LEFT_OUT: "略过，见详情", "skipped, see details";
    STAGE: "阶段", "stage";
    PROGRESS: "进度", "progress";
    ROWS: "处理", "rows";
    OUT: "输出", "out";
    IN: "输入", "in";
    DROPPED: "剔除", "dropped";
    RATE: "速度", "rate";
    TIME_LEFT: "用时/余", "time/left";
    PARTICULARS: "详情", "Details";
    AFTER_FAILURE: "按 r 重试：已完成的阶段不会重算。按 x 看导入时拒收的行。", "Press r to try again: finished stages are not computed twice. Press x for the rejected rows.";
    AFTER_CANCEL: "已按要求停止；按 r 从停下的地方继续。", "Stopped as asked; press r to go on from there.";
    AFTER_RUN: "按 7 看因子，按 1 看语料，按 x 看拒收的行。", "Press 7 for the factor, 1 for the corpus, x for the rejected rows.";
    REJECTS: "拒收的行", "Rejected rows";
    NO_REJECTS: "没有拒收的行。", "No rows were rejected.";
    SHOWN_FIRST: "仅列出前", "showing the first";
    ROWS_REJECTED: "行数", "rows";
    REJECT_GROUPS: "按原因与文件", "by reason and file";
    FILE: "文件", "file";
    ROW: "行", "row";
    COLUMN: "列", "column";
    REASON: "原因", "reason";
    VALUE: "值：", "value:";

    NO_FACTOR: "还没有因子。按 a 添加情感词典的因子 tone 并运行，按 A 添加 TF-IDF 与岭回归的因子（都需要价格）；或在 workbench.toml 里写 [[factor]]，再按 r。", "There is no factor yet. a adds the factor of tone and runs it, A adds one of TF-IDF and ridge regression (both need prices); or write a [[factor]] in workbench.toml and press r.";
    NO_BACKTEST: "这个因子还没有回测：按 r 运行。", "This factor has not been tested yet: press r to run.";
    LOOKAHEAD: "⚠ 未来函数：收益开始之后才知道的值参与了检验，以下数字不可用于决策。", "⚠ LOOK-AHEAD: values known only after their return had begun were used. Do not trust these figures.";
    HORIZON: "持有期", "horizon";
    RANK_IC: "RankIC", "RankIC";
    ICIR: "ICIR", "ICIR";
    T_NW: "t(NW)", "t(NW)";
    POSITIVE: "IC>0", "IC>0";
    DAYS: "天数", "days";
    ANNUAL: "年化多空", "annual";
    SHARPE: "夏普", "Sharpe";
    DRAWDOWN: "回撤", "drawdown";
    TURNOVER: "日换手", "turnover a day";
    COVERAGE: "覆盖", "coverage";
    OPEN: "开盘价", "open";
    CLOSE: "收盘价", "close";
    VWAP: "均价", "vwap";
    REFUSED: "因未来信息剔除的值", "values rejected as late";
    BY_WEEK: "周均", "by week";
    BY_MONTH: "月均", "by month";
    BY_QUARTER: "季均", "by quarter";
    BY_YEAR: "年均", "by year";
    SUM_OF_IC: "累计 RankIC", "Sum of RankIC";
    SUM: "累计", "sum";
    LAYER_WEALTH: "分层净值", "Layers";
    LAYER_MEANS: "分层平均收益", "Mean return by layer";
    DECAY: "逐日 RankIC", "RankIC by day after";
    HALF_LIFE: "半衰期", "half-life";
    DEMEANED: "去均值", "demeaned";
    LONG_SHORT: "多空净值", "Long-short";
    NET: "净值", "net";
    FALL: "回撤", "dd";
    NAMES: "覆盖", "names";
    DAY_RETURN: "当日", "day";
    BY_CALENDAR_YEAR: "分年度", "By year";
    YEAR: "年", "year";
    VOLATILITY: "波动", "volatility";
    CALMAR: "卡玛", "Calmar";
    HIT_RATE: "胜率", "days > 0";
    BY_VALUE: "按值", "by value";
    BY_RETURN: "按收益", "by return";
    BY_DOCUMENTS: "按文档数", "by documents";
    NAMES_UNIT: "只", "names";
    RETURN: "收益", "ret ";
    NAME: "名称", "name";
    WORTH: "值", "value";
    RAW: "原值", "raw";
    DOCUMENTS_SHORT: "文档", "docs";
    FIRST: "首发", "1st";
    FIRST_SHORT: "首", "1";
    TOP_DOCUMENT: "贡献最大的文档", "top document";
    KNOWN_AT: "可知时间", "known at";
    GAVE: "贡献", "contribution";
    WEIGHT: "权重", "weight";
    AGE: "距今", "age";
    SOURCE: "来源", "source";
    READING_OF: "读数", "reading";
    NEIGHBOUR: "邻居", "neighbour";
    SHARE: "份额", "share";
    REGRESSED_OUT: "仅用于中性化", "regressed out";
    NOT_SHARED_OUT: "标准差不能分摊到单篇", "a standard deviation has no parts";
    NO_DOCUMENTS_BEHIND: "这个值背后没有文档：它是填补的，或只由价格与其他因子算出。", "There are no documents behind this value: it was filled in, or is made of prices and other factors alone.";
    NOTHING_READ_OF_MODELS: "这个读数没有用到特征的列（例如只数篇数、评级或长度），没有可解释的词。", "This reading uses no column of a feature (it counts documents, or takes ratings or lengths): there are no words to explain.";
    INTERCEPT: "截距", "intercept";
    REST: "其余", "rest";
    WORDS_THAT_MOVED: "推动得分的词", "Words that moved the score";
    NO_WORDS: "这一句没有推动得分的词", "no word of this sentence moved the score";
    NEGATED: "否定", "negated";
    LOOK_AHEAD_CHECK: "未来函数检查", "look-ahead checks";
    TRIED: "已试验", "trials";
    LEDGER_CHANGED: "台账被改动过", "the ledger was changed";
    NO_LABORATORY: "还没有实验。按 a 添加一个截断策略的对照实验（比较因子 tone 的 RankIC）并运行；或在 workbench.toml 里写 [[experiment]]。", "There are no experiments. a adds a comparison of truncations by the RankIC of the factor of tone and runs it; or write an [[experiment]] in workbench.toml.";
    NO_EXPERIMENT: "实验还没有运行过：按 r 运行。", "No experiment was run yet. Press r to run them.";
    AFTER_EXPERIMENT_FAILED: "按 r 重试：已读过的部分不会重读。", "Press r to try again: what was read is not read twice.";
    EXPERIMENT: "实验", "Experiment";
    DOCUMENTS: "篇文档", "documents";
    CELLS: "单元", "Cells";
    STRATEGY: "策略", "strategy";
    FIGURE_DIFFERENCE: "差", "diff";
    INTERVAL: "区间", "interval";
    TOKENS: "词元", "tokens";
    P_ADJUSTED: "校正p", "adj. p";
    NOTHING_KEPT: "无内容", "nothing kept";
    DOCUMENT: "文档", "Document";
    WINDOWS: "窗口", "windows";
    SCORE: "得分", "score";
    KEEPS_NOTHING: "这个策略不保留任何内容。", "This strategy keeps nothing of this document.";
    NO_SCORES: "没有得分", "no scores";
    NO_STRATEGY: "这篇文档没有可看的策略。", "No strategy reads this document.";
    NO_SUCH_DOCUMENT: "实验没有这篇文档：语料在实验之后变了。按 Esc 返回，按 r 重新运行。", "The experiment has no such document: the corpus has changed since. Press Esc to go back and r to run again.";
    NO_OTHER_DOCUMENT: "没有更多文档", "there are no more documents";

    MOVE_CURSOR: "←/→ 移动日期光标，PgUp/PgDn 一个月，Enter 看当日", "←/→ move along the dates, PgUp/PgDn by a month, Enter for the names";
}

/// Which return a value is paired with, in the language of the screen.
pub(crate) fn alignment(language: Language, outcome: &Outcome) -> String {
    let Alignment { delay, price, known_before, horizons, preset } = &outcome.alignment;
    let price = match price {
        Price::Open => OPEN,
        Price::Close => CLOSE,
        Price::Vwap => VWAP,
    }
    .to(language);
    let day = if *delay == 0 { "t".to_owned() } else { format!("t{delay:+}") };
    let time = known_before.format("%H:%M");
    let held = horizons.iter().map(usize::to_string).collect::<Vec<_>>().join("/");
    let rules = match preset {
        Preset::Default => "",
        Preset::Alphalens => " · alphalens",
        Preset::Qlib => " · qlib",
    };
    match (language, outcome.lookahead) {
        (Language::Zh, false) => {
            format!("t 日的值须在 {day} 日 {time} 前可知 · {day} 日{price}买入 · {held} 日后卖出{rules}")
        }
        (Language::Zh, true) => {
            format!("t 日的值有些到 {day} 日 {time} 才可知 · {day} 日{price}买入 · {held} 日后卖出{rules}")
        }
        (Language::En, false) => {
            format!("value of t known before {time} of {day} · bought at its {price} · held {held} days{rules}")
        }
        (Language::En, true) => {
            format!("values of t known after {time} of {day} · bought at its {price} · held {held} days{rules}")
        }
    }
}

pub(crate) fn kind(kind: Kind) -> Word {
    match kind {
        Kind::News => NEWS,
        Kind::Report => REPORT,
        Kind::Announcement => ANNOUNCEMENT,
        Kind::Post => POST,
    }
}

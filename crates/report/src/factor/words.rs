//! Every sentence of the report on a factor, in Chinese and English.

use inkstone_base::language::{Language, Word};
use inkstone_base::words;
use inkstone_lab::backtest::Outcome;
use inkstone_lab::backtest::events::{EventStudy, Model};
use inkstone_lab::factor::TracedDate;

words! {
    REPORT: "因子研究报告", "Factor report";
    LOOKAHEAD: "⚠ 未来函数：收益开始之后才知道的值参与了检验，数字不可用于决策。", "⚠ LOOK-AHEAD: values known only after their return had begun were used. Do not trust these figures.";
    CONTENTS: "目录", "Contents";

    FINDING: "结论", "Finding";
    HEADLINE: "主要数字", "Headline figures";
    VERDICTS: "未来函数检查", "Checks for look-ahead";
    IC: "信息系数", "Information coefficient";
    DECAY: "信息衰减", "IC decay";
    LAYERS: "分层", "Layers";
    LONG_SHORT: "多空组合", "Long-short portfolio";
    PORTFOLIOS: "组合与基准", "Portfolios and benchmark";
    MONTHS_AND_DRAWDOWNS: "月度收益与回撤", "Months and drawdowns";
    MONTHS: "月度收益", "Monthly returns";
    YEARS: "年度收益", "Annual returns";
    ROLLING: "滚动 RankIC 与夏普比率", "Rolling RankIC and Sharpe ratio";
    STYLES: "风格与行业", "Styles and industries";
    BESIDE: "与其他因子", "Beside the other factors";
    OTHER_FACTOR: "因子", "factor";
    WITHOUT_OTHERS: "剔除其他因子后", "less the other factors";
    SAMPLES: "分样本", "Sub-samples";
    COVERAGE: "覆盖与稳定性", "Coverage and stability";
    EVENTS: "事件研究", "Event study";
    EVIDENCE: "值背后的文档", "Documents behind the values";
    EXECUTION: "成交与容量", "Execution and capacity";
    REFUSED: "因未来信息剔除的值", "Values refused for look-ahead";
    LOOKS: "试验了多少次", "Number of trials";
    FRONTIER: "截断：效果与成本", "Truncation: what is gained for what is read";
    MANIFEST: "清单", "Manifest";
    METHOD: "如何阅读", "How to read this";

    RANK_IC: "RankIC", "RankIC";
    MEAN_RANK_IC: "RankIC 均值", "mean RankIC";
    SUM_OF_RANK_IC: "累计 RankIC", "sum of RankIC";
    KIND: "口径", "kind";
    PEARSON: "IC（Pearson）", "IC (Pearson)";
    SPEARMAN: "RankIC（Spearman）", "RankIC (Spearman)";
    HORIZON: "持有期", "horizon";
    MEAN: "均值", "mean";
    STD: "标准差", "std";
    ICIR: "ICIR", "ICIR";
    T: "t", "t";
    T_NW: "t(NW)", "t(NW)";
    P: "p", "p";
    Q: "q（多重检验校正）", "q (corrected for all trials)";
    POSITIVE: "大于零的日期", "dates above zero";
    SKEW: "偏度", "skew";
    KURTOSIS: "超额峰度", "excess kurtosis";
    DATES: "日期数", "dates";
    NAMES: "个股数", "names";

    ANNUAL_RETURN: "年化收益", "annual return";
    VOLATILITY: "年化波动", "volatility";
    SHARPE: "夏普", "Sharpe";
    MAX_DRAWDOWN: "最大回撤", "max drawdown";
    CALMAR: "卡玛", "Calmar";
    HIT_RATE: "盈利日占比", "days above zero";
    TURNOVER: "换手", "turnover";
    COST: "日均成本", "cost a day";
    MEAN_COVERAGE: "覆盖率", "coverage";
    BOOK: "组合", "portfolio";
    YEAR: "年份", "year";
    WHOLE_YEAR: "全年", "year";
    ANNUAL_RETURN_UNIT: "年化收益 %", "annual return, %";
    ROLLING_RANK_IC: "近 60 个因子日的 RankIC 均值", "mean RankIC of the last 60 dates";
    ROLLING_SHARPE: "近 126 个交易日的年化夏普", "annual Sharpe ratio of the last 126 days";
    DEPTH: "回撤", "drawdown";
    FIRST_DAY_BELOW: "首日", "first day";
    LOWEST_DAY: "最低日", "lowest day";
    LAST_DAY_BELOW: "末日", "last day";
    DAYS_BELOW: "天数", "days";
    NOT_RECOVERED: "尚未恢复", "not recovered";
    STYLE: "风格", "style";
    RANK_CORRELATION: "秩相关", "rank correlation";
    BOTTOM_IN_STYLE: "底层的秩", "rank of the bottom";
    TOP_IN_STYLE: "顶层的秩", "rank of the top";
    WITH_STYLES: "因子", "factor";
    WITHOUT_STYLES: "剔除风格与行业后", "less styles and industries";
    INDUSTRY: "行业", "industry";
    SHARE_OF_NAMES: "占全部个股", "share of names";
    SHARE_OF_TOP: "占顶层", "share of the top";
    MORE_IN_TOP: "差（百分点）", "difference, points";
    BY_YEAR: "分年度", "by year";
    AFTER_COSTS: "扣费后", "after costs";
    BENCHMARK: "基准", "benchmark";
    UNIVERSE: "全部可交易股票等权", "equal-weighted universe";
    LONG_SHORT_NAME: "多空", "long-short";
    NET: "扣费后", "after costs";
    GROSS: "扣费前", "before costs";
    FALL: "回撤 %", "drawdown %";
    WEALTH: "净值（起点 1）", "NAV (start 1)";
    EXCESS_WEALTH: "超额净值（起点 1）", "excess NAV (start 1)";
    LONG_LEG: "多头", "long leg";
    SHORT_LEG: "空头（名义）", "short leg (notional)";
    TURNOVER_UNIT: "单边日换手 %", "one-way turnover a day %";

    LAYERS_WEALTH: "各层净值", "NAV by layer";
    LAYERS_MEAN: "各层平均收益", "Mean return by layer";
    DEMEANED: "收益已减去当日全部股票的均值。", "Returns are less the mean of all names of the date.";
    RAW_RETURNS: "收益未减去当日均值。", "Returns are not demeaned.";
    LEGS: "多头与空头", "Long and short legs";
    TURNOVER_BY_MONTH: "换手", "Turnover";
    COVERAGE_BY_MONTH: "覆盖", "Coverage";
    STANDARD_ERROR: "标准误", "error";
    EXCESS_KIND: "超额（信息比率）", "excess (Sharpe: information ratio)";
    SPREAD_UNIT: "顶层减底层 %", "top minus bottom %";
    NEW_AT_BOTTOM: "底层新进比例", "new at the bottom";
    NEW_AT_TOP: "顶层新进比例", "new at the top";
    CAR_PERCENT: "CAR %", "CAR %";
    DAYS_PER_YEAR: "每年交易日", "trading days a year";
    NO_EXAMPLES: "没有例子。", "There are no examples.";
    QUANTILE: "分层", "layer";
    SPREAD: "顶层减底层", "top minus bottom";
    RETURN_UNIT: "平均收益 %", "mean return %";
    LAG: "买入后第几天", "day after the entry";
    NO_HALF_LIFE: "在所看的天数内，RankIC 没有降到首日的一半，因此没有半衰期。", "Within the days looked at, the RankIC does not fall to half of the first day's: there is no half-life.";
    BY_MONTH: "RankIC，月均", "RankIC, mean of the month";
    HALF_LIFE: "半衰期", "half-life";
    NAMES_UNIT: "个股数", "names";
    WITH_VALUE: "有值的个股", "names with a value";
    TRADED: "当日交易的个股", "names that traded";
    PERIOD: "间隔（因子日）", "period (dates of the factor)";
    BOTTOM: "底层", "bottom";
    TOP: "顶层", "top";
    AUTOCORRELATION: "秩自相关", "rank autocorrelation";
    SAMPLE: "样本", "sample";
    GROUP: "组", "group";
    ALL_NAMES: "全部个股", "all names";
    INTERVAL: "95% 区间", "95 % interval";

    EVENT_DAY: "相对事件的交易日", "trading days from the event";
    CAR_UNIT: "累计异常收益 %", "cumulative abnormal return %";
    VALUES: "因子值", "values";
    EVENT_COUNT: "事件数", "events";
    DAYS: "窗口", "days";
    TEST: "检验", "test";
    STATISTIC: "统计量", "statistic";
    MODEL: "正常收益模型", "model of expected returns";
    WINDOW: "事件窗", "event window";
    ESTIMATION: "估计窗", "estimation window";
    COUNT: "数量", "count";
    EXCLUDED: "剔除的事件", "Events set aside";

    ORDERS: "委托", "orders";
    FILLED: "成交", "filled";
    NOT_FILLED: "未能成交，及当日买不进的值", "Not filled, and values that could not be bought on their day";
    DELISTED: "退市的持仓", "holdings delisted";
    DELISTING_RETURN: "假定的退市收益", "assumed delisting return";
    CAPITAL: "每边资金（元）", "capital of a leg (CNY)";
    SHARES_OF_CAPITAL: "按比例持仓，不取整手", "weights alone, no lots";
    IDLE: "取整手留下的现金", "left in cash by lots";
    CAPACITY_SHARE: "单笔不超过当日成交额的", "max order, share of daily turnover";
    CAPACITY_MEDIAN: "容量：中位日（元/边）", "capacity, median day (CNY a leg)";
    CAPACITY_LOW: "容量：最差的二十分之一日（元/边）", "capacity, worst day in twenty (CNY a leg)";
    CAPACITY_DAYS: "有委托的日子", "days with orders";

    DATE: "日期", "date";
    CODE: "代码", "code";
    SECURITY: "个股", "name";
    DOCUMENT_COUNT: "文档数", "documents";
    STRONGEST: "贡献最大的文档", "document that gives most";
    KNOWN: "可知时间", "known at";
    BEGAN: "收益开始", "return began";

    CHECK: "检查", "check";
    STANDING: "结论", "verdict";
    NUMBER: "数值", "number";
    LIMIT: "界限", "limit";
    WHAT: "发现", "finding";
    FURTHER: "更多数字", "further figures";
    LINT: "未来函数检查", "checks for look-ahead";

    TRIALS: "不同的试验", "different trials";
    RUNS: "回测次数", "backtests run";
    DELETED: "已删除的记录", "entries deleted";
    EXPECTED_BEST: "零假设下最大夏普的期望", "expected max Sharpe under the null";
    PSR: "夏普大于零的概率", "probability that Sharpe exceeds 0";
    DSR: "DSR（概率）", "DSR (probability)";
    PBO: "回测过拟合概率", "probability of overfitting";

    KEY: "项", "key";
    VALUE: "值", "value";
    RAW: "原始 JSON", "raw JSON";
    PARAMETERS: "参数", "parameters";
    INPUTS: "输入的散列", "input hashes";
    SEED: "随机种子", "seed";
    KNOWN_AT: "可知时间的规则", "known-at rule";
    VERSIONS: "版本", "versions";
    RAN: "模型在何处运行", "where models ran";
    CREATED: "生成时间", "made at";

    NO_IC: "没有一个日期有足够的股票来计算信息系数。", "No date has enough names for a correlation.";
    NO_DECAY: "没有逐日的信息系数。", "There are no correlations by day after the entry.";
    NO_LAYERS: "没有一个日期有足够的股票来分层。", "No date has enough names for layers.";
    NO_BOOK: "多空组合没有开仓。", "The long-short portfolio never held anything.";
    NO_PORTFOLIOS: "没有其他组合。", "There are no other portfolios.";
    NO_YEARS: "没有分年度的数字。", "There are no figures by year.";
    NO_OTHER_FACTORS: "没有其他因子可比较。", "There are no other factors to compare with.";
    NO_DRAWDOWNS: "多空组合没有回撤。", "The long-short portfolio has no drawdowns.";
    TOO_SHORT_TO_ROLL: "日期太少：滚动 RankIC 需要 60 个因子日，滚动夏普比率需要 126 个交易日。", "Too few dates: a rolling RankIC needs 60 dates, a rolling Sharpe ratio 126 days.";
    NO_STYLES: "没有可比较的风格：价格表太短。", "There are no styles to compare with: the price table is too short.";
    NO_SAMPLES: "没有按规模、行业或覆盖划分的样本。", "There are no samples by size, industry or coverage.";
    NO_EVIDENCE: "没有可列出的文档：因子不来自文本，或未在项目中计算。", "There are no documents to show: the factor does not come from texts, or was not built in a project.";
    NO_COVERAGE: "因子没有值。", "The factor has no values.";
    NO_STABILITY: "没有稳定性的数字。", "There are no figures on stability.";
    NO_TURNOVER: "没有换手。", "There is no turnover.";
    NO_EVENTS: "没有做事件研究。", "There is no event study.";
    NO_EVENT_GROUPS: "没有一个事件可用。", "No event could be used.";
    NO_TESTS: "没有检验。", "There are no tests.";
    NO_EXCLUDED: "没有剔除事件。", "No event was set aside.";
    NO_BLOCKED: "所有委托都已成交。", "Every order was filled.";
    NO_CAPACITY: "没有成交额，算不出容量。", "Without traded values there is no capacity.";
    NO_REFUSED: "没有因未来信息剔除的值：每个值在收益开始之前都已可知。", "No value was refused: each was known before its return began.";
    NO_VERDICTS: "没有做未来函数检查，因此不能排除未来函数。", "The checks for look-ahead were not done, so look-ahead is not ruled out.";
    NO_LOOKS: "没有研究台账：不知道试验了多少次，p 值没有为此校正。", "There is no research ledger: the number of trials is not known, and p is not corrected for it.";
    NO_EXPERIMENTS: "没有对比实验。", "There is no experiment.";
    NO_MANIFEST: "没有清单。", "There is no manifest.";
    CUT_MANIFEST: "只列出前 200 项，全部见导出文件夹里的 manifest.json。", "The first 200 are listed; manifest.json in the folder of exports has all.";

    IC_CAPTION: "上：每根柱为一个月的 RankIC 均值（日期少时为逐日值），蓝为正，橙为负，不预设方向。下：RankIC 的累计和，每个持有期一条。单位：相关系数。", "Above: mean RankIC of each month (of each date where these are few), blue above zero and orange below; no sign is presumed. Below: the running sum of RankIC, a line per horizon. Unit: correlation.";
    DECAY_CAPTION: "买入后第 n 天当日收益与因子值的 RankIC 均值；各天的收益不重叠。单位：相关系数。", "Mean RankIC of the value with the return of the n-th day after the entry alone; the returns of different days do not overlap. Unit: correlation.";
    WEALTH_CAPTION: "各层等权持有、扣费前的净值，起点 1；1 层因子值最低。", "NAV (start 1) of each layer, equal weights, before costs; layer 1 has the lowest values.";
    MEANS_CAPTION: "各层在每个持有期的平均收益，单位 %；须线为均值的 95% 区间（±1.96 个标准误）。1 层因子值最低；各图刻度不同。", "Mean return of each layer over each horizon in %; whiskers are 95 % intervals of the mean (1.96 standard errors). Layer 1 has the lowest values; scales differ from plot to plot.";
    LONG_SHORT_CAPTION: "上：做多顶层、做空底层的净值，起点 1。下：扣费后净值自最高点的回撤，单位 %。", "Above: NAV (start 1), long the top layer and short the bottom one. Below: drawdown of the NAV after costs in %.";
    LEGS_CAPTION: "多头与空头各自的净值，起点 1，扣费前；空头为名义，所持股票下跌时上升，A 股未必能融到券。", "NAV (start 1) of each leg, before costs; the short leg is notional, rises when its names fall, and may not be borrowable in A shares.";
    TURNOVER_CAPTION: "每月的平均单边日换手，取多头与空头的平均，单位为组合的 %。", "Mean one-way turnover a day by month, mean of the two legs, in % of the book.";
    COVERAGE_CAPTION: "每月平均：有因子值的股票（蓝）与当日交易的个股（灰）。没有新闻是没有值，不是零。", "Means of months: names with a value (blue) of the names that traded (grey). No news is no value, not zero.";
    PORTFOLIOS_CAPTION: "上：各组合扣费后与基准的净值，起点 1。下：减去基准收益后的净值；没有基准时没有下图。", "Above: NAV (start 1) after costs, and of the benchmark. Below: NAV of the return less the benchmark's; left out without a benchmark.";
    MONTHS_CAPTION: "多空组合扣费后各月的复利收益，单位 %，末列为全年。蓝为正，橙为负，越深越大。", "Compound returns of the long-short portfolio after costs by month in %, the whole year in the last column. Blue is above zero, orange below; the darker, the larger.";
    YEARS_CAPTION: "多空组合扣费后各年的年化收益。", "Annualised returns of the long-short portfolio after costs, by year.";
    ROLLING_CAPTION: "上：最近 60 个因子日 RankIC 的均值。下：多空组合扣费后最近 126 个交易日的年化夏普比率。", "Above: mean RankIC of the last 60 dates of the factor. Below: annual Sharpe ratio of the long-short portfolio after costs over the last 126 trading days.";
    STYLES_CAPTION: "因子与各风格的截面秩相关，逐日平均。风格都只用当日收盘前的价格：动量为 20 日收益，反转为 5 日收益的相反数，波动率为 20 日收益的标准差，成交额为 20 日日均成交额，换手率为它与市值之比。", "Rank correlation of the factor with each style, mean over dates. Styles use prices up to the close of the date: momentum is the return over 20 days, reversal the return over 5 days turned round, volatility the standard deviation of 20 daily returns, traded value its mean a day over 20 days, turnover that over the capitalisation.";
    SAMPLES_CAPTION: "每点为一个样本的 RankIC 均值，须线为 95% 区间（±1.96 个 Newey-West 标准误）；虚线为全部股票的均值。样本越多，越可能有一个只因偶然而突出。", "One point a sample: mean RankIC, the whiskers its 95 % interval (1.96 Newey-West standard errors); the dashed line is the mean over all names. Of many samples one stands out by chance.";
    EVENTS_CAPTION: "各组事件的平均累计异常收益，单位 %；第 1 组因子值最低。阴影为 95% 区间，竖线为第 0 日：文档最早可交易的那一天。", "Mean cumulative abnormal return of the events of each group in %; group 1 has the lowest values. Bands are 95 % intervals, the upright line is day 0: the first day on which the document could be traded on.";
    METHOD_TEXT: "RankIC 为每个日期截面上因子值与收益的 Spearman 相关；t(NW) 用滞后为持有期减一的 Newey-West 标准误；ICIR 不年化。收益为简单收益。年化用文中所写的每年交易日数，夏普不减无风险利率。区间与 p 值只说偶然，不说未来。", "RankIC is Spearman's correlation of value and return over the names of a date; t(NW) has Newey-West errors with a lag of the horizon less one; ICIR is not annualised. Returns are simple. Annual figures take the stated trading days per year, Sharpe has no risk-free rate. Intervals and p speak of chance, not of the future.";
}

/// The return that a value is paired with; none where no return was looked at.
pub(super) fn alignment(outcome: &Outcome, language: Language) -> String {
    if outcome.alignment.horizons.is_empty() {
        return String::new();
    }
    let words = outcome.alignment_in_words();
    match language {
        Language::Zh => format!("对齐：{}。", words.zh),
        Language::En => format!("Alignment: {}.", words.en),
    }
}

/// Date of the values, and the command that goes on to the sentences behind one of them.
pub(super) fn evidence_note(newest: &TracedDate, code: &str, language: Language) -> String {
    let TracedDate { factor, date, .. } = newest;
    match language {
        Language::Zh => format!(
            "{date} 的值，最高与最低各五只有文档的个股。查看文档、句子和词：inkstone trace {factor} --date {date} --code {code}"
        ),
        Language::En => format!(
            "Values of {date}: the five highest and the five lowest that documents stand behind. For the documents, sentences and \
             words: inkstone trace {factor} --date {date} --code {code}"
        ),
    }
}

/// Trading days in words.
pub(super) fn days(n: usize, language: Language) -> String {
    match language {
        Language::Zh => format!("{n} 日"),
        Language::En if n == 1 => "1 day".to_owned(),
        Language::En => format!("{n} days"),
    }
}

/// A layer's name: its number, and which end it is.
pub(super) fn layer(number: usize, quantiles: usize, language: Language) -> String {
    match (number, language) {
        (1, _) => format!("1 {}", BOTTOM.to(language)),
        (n, _) if n == quantiles => format!("{n} {}", TOP.to(language)),
        (n, _) => n.to_string(),
    }
}

/// A portfolio's name; one that is not known is shown unchanged.
pub(super) fn portfolio(name: &str, language: Language) -> String {
    match (name, name.strip_prefix("top_")) {
        ("long", _) => LONG_LEG.to(language).to_owned(),
        ("short", _) => SHORT_LEG.to(language).to_owned(),
        ("factor_weighted", _) => Word("因子加权", "factor-weighted").to(language).to_owned(),
        (_, Some(n)) if n.parse::<usize>().is_ok() => match language {
            Language::Zh => format!("前 {n} 只"),
            Language::En => format!("best {n}"),
        },
        _ => name.to_owned(),
    }
}

pub(super) fn benchmark(name: &str, language: Language) -> &str {
    if name == "universe" { UNIVERSE.to(language) } else { name }
}

/// Name of a style.
pub fn style_name(name: &str, language: Language) -> &str {
    let word = match name {
        "size" => Word("市值", "size"),
        "momentum" => Word("20 日动量", "20-day momentum"),
        "reversal" => Word("5 日反转", "5-day reversal"),
        "volatility" => Word("波动率", "volatility"),
        "traded_value" => Word("成交额", "traded value"),
        "turnover" => Word("换手率", "turnover"),
        other => return other,
    };
    word.to(language)
}

/// Name of a criterion of samples or of a group; one that is not known, as an industry, is shown unchanged.
pub(super) fn sample(name: &str, language: Language) -> &str {
    let word = match name {
        "size" => Word("规模", "size"),
        "industry" => Word("行业", "industry"),
        "coverage" => Word("文本覆盖", "coverage by texts"),
        "small" => Word("小", "small"),
        "middle" => Word("中", "middle"),
        "large" => Word("大", "large"),
        "few" => Word("少", "few"),
        "some" => Word("中等", "some"),
        "many" => Word("多", "many"),
        other => return other,
    };
    word.to(language)
}

/// Name of a model of expected returns.
pub(super) fn model(model: Model) -> Word {
    match model {
        Model::MarketAdjusted => Word("市场调整", "market-adjusted"),
        Model::MarketModel => Word("市场模型", "market model"),
        Model::MeanAdjusted => Word("均值调整", "mean-adjusted"),
    }
}

/// Days relative to an event, from the first to the last.
pub(super) fn window((first, last): (i32, i32)) -> String {
    let day = |day: i32| if day == 0 { "0".to_owned() } else { format!("{day:+}") };
    format!("[{}, {}]", day(first), day(last))
}

/// Benchmark of abnormal returns.
pub(super) fn expected(study: &EventStudy, language: Language) -> String {
    let (model, window) = (model(study.model).to(language), window(study.estimation));
    match language {
        Language::Zh => format!("正常收益：{model}，估计窗 {window}。"),
        Language::En => format!("Expected returns: {model}, estimated over the days {window}."),
    }
}

/// A test of an event study; one that is not known is shown unchanged.
pub(super) fn test(name: &str, language: Language) -> &str {
    let word = match name {
        "cross_section" => Word("截面 t 检验", "cross-sectional t"),
        "bmp" => Word("BMP 标准化截面检验", "BMP, standardised cross-section"),
        "kolari_pynnonen" => Word("Kolari-Pynnönen（校正聚集）", "Kolari-Pynnönen (for clustering)"),
        "corrado" => Word("Corrado 秩检验", "Corrado rank"),
        "sign" => Word("符号检验", "sign"),
        other => return other,
    };
    word.to(language)
}

/// Reason for an order that was not filled or a value that was not bought; an unknown reason is shown unchanged.
pub(super) fn blocked(reason: &str, language: Language) -> String {
    if language == Language::En {
        return reason.to_owned();
    }
    let (subject, why) = reason.split_once(": ").unwrap_or(("", reason));
    let subject = match subject {
        "long leg" => "多头：",
        "short leg" => "空头：",
        "value" => "值：",
        _ => return reason.to_owned(),
    };
    let why = match why {
        "could not be entered" => "买不进（或卖空不了）",
        "could not be left" => "卖不出（或平不了）",
        "locked at the upper limit on the day of entry" => "买入日涨停",
        "not traded on the day of entry" => "买入日没有交易",
        other => other,
    };
    format!("{subject}{why}")
}

/// A key of the manifest; one that is not known is shown unchanged.
pub(super) fn key(key: &str) -> Option<Word> {
    let word = match key {
        "parameters" => PARAMETERS,
        "inputs" | "hashes" => INPUTS,
        "seed" => SEED,
        "known_at" => KNOWN_AT,
        "versions" => VERSIONS,
        "ran" => RAN,
        "created" => CREATED,
        _ => return None,
    };
    Some(word)
}

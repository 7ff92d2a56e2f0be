//! The texts of the factor page, in Chinese and English.

use inkstone_base::words;

pub(super) use crate::words::{LOOK_AHEAD_CHECK as JOB_LINT, NEGATED, WEIGHT as WEIGHT_OF_WORD};

words! {
    TESTS: "检验", "Tests";
    KNOWN_FROM: "日期", "dates";
    ALIGNED: "对齐", "aligned";
    PLANTED: "植入的真值", "planted";
    PLANTED_NOTHING: "植入的真值：没有效应", "planted: no effect";
    PLANTED_AT: "植入的真值见持有期（按 d）", "the planted truth is shown for (press d)";
    MEASURED: "测得", "found";
    INSIDE: "✓ 在 95 % 区间内", "✓ inside the 95 % interval";
    OUTSIDE: "✗ 在 95 % 区间外", "✗ outside the 95 % interval";
    FOUND_NOTHING: "✓ 与零无异", "✓ no different from 0";
    FOUND_SOMETHING: "! 显著（二十次里约有一次）", "! significant (about once in twenty)";
    UNLINTED: "未做，按 l 检查", "not done: press l";
    AFTER_TRADE: "买入后第 n 日", "day after the trade";
    ALL_YEARS: "全部", "all";
    OF_ONE: "起点 1", "start = 1";
    AFTER_COSTS: "扣费后", "after costs";
    MEAN_RETURN: "平均收益", "mean ret";
    STANDARD_ERROR: "标准误", "std. error";
    CHOOSE_BAR: "←/→ 选层，Enter 看这一层的各个日期，f 回到日期光标", "←/→ choose a layer, Enter for its dates, f back to the dates";

    DATE: "日期", "date";
    UP: "上涨占比", "share up";
    NEW_DOCUMENTS: "当日文档", "new docs";
    DATES_UNIT: "个日期", "dates";
    LATEST_FIRST: "按日期", "by date";
    EACH_ALIKE: "个股等权，未去均值；当日文档指发布日归于该日的", "equal-weighted, not demeaned; new docs are those of the date itself";
    NO_DATES: "这一层没有任何日期：每日个股太少，或取值相同太多，分不出这一层。", "This layer has no dates: each date has too few names, or too many equal values.";

    WORD: "词", "word";
    WORDS_LEVEL: "词", "words";
    SHARE: "占比", "share";
    DEGREE: "程度", "degree";
    TIMES: "次数", "times";
    SENTENCE: "句", "sentence";
    TEXT_OF: "原文", "text";
    WHOLE_WEIGHT: "权重合计", "weights sum to";
    NO_TOKENS: "这一句没有词的权重。", "No word of this sentence has a weight.";

    CHECKS: "未来函数检查", "Look-ahead checks";
    CHECK: "检查", "check";
    STANDING: "结论", "verdict";
    NUMBER: "数值", "number";
    LIMIT: "界限", "limit";
    FINDING: "发现", "finding";
    NO_CHECKS: "还没有做过未来函数检查。按 l 开始；做完后结论列在这里。", "The look-ahead checks have not run yet. Press l to start them; the verdicts are listed here.";
    CHECKS_UNDER_WAY: "检查进行中：进度见任务页（9）。", "The checks are running: see the jobs page (9).";
    CHECK_AGAIN: "l 再查一次 · Esc 返回", "l check again · Esc back";
    TEAR_SHEET: "月度、回撤与风格", "Months, drawdowns and styles";
    MONTH: "月份", "month";
    RETURN: "收益", "return";
    MONTHS: "多空组合扣费后的月度收益 %", "Monthly returns of the long-short portfolio after costs, %";
    WHOLE_YEAR: "全年", "year";
    FALLS: "最大的回撤：首日 → 最低日 → 末日", "Deepest drawdowns: first day → lowest → last";
    DAYS_BELOW: "天", "days";
    NOT_RECOVERED: "尚未恢复", "not recovered";
    ROLLING: "滚动指标（最近一次）", "Rolling figures, the last ones";
    LAST_RANK_IC: "近 60 个因子日 RankIC", "RankIC of 60 dates";
    LAST_SHARPE: "近 126 日夏普", "Sharpe of 126 days";
    STYLES: "与风格的秩相关", "Rank correlation with styles";
    BEFORE_STYLES: "因子", "the factor";
    AFTER_STYLES: "剔除风格与行业后", "less styles, industries";
    INDUSTRIES: "顶层多于全体的行业（百分点）", "Industries of the top layer, points above their share";
    COMPARED: "因子两两比较", "Factors compared";
    COMPARED_KEYS: "v 值与 IC 互换 · Enter 看两个因子 · Esc 返回", "v values or ICs · Enter both factors · Esc back";
    ONE_FACTOR: "只有一个因子做过回测，没有可比的。", "Only one factor has been tested: there is nothing to compare it with.";
    VALUE_CORRELATION: "值的秩相关", "rank correlation of values";
    IC_CORRELATION: "逐日 RankIC 相关", "correlation of daily RankICs";
    ROLLING_IC: "RankIC 相关", "RankIC correlation";
    TOP_OVERLAP: "顶层重合", "overlap of top layers";
    BOTH_WEALTH: "多空净值（扣费后，起点 1）", "long-short after costs, start = 1";
    LAST: "最近", "last";
    SHARED_NAMES: "只共有个股", "names of both";
    FACTOR_A: "因子甲", "factor A";
    FACTOR_B: "因子乙", "factor B";
    NO_STAGES: "这里没有可运行的项目", "there is no project to run here";
    JOB_EXPORT: "导出因子与回测表", "export of the tables";
    JOB_REPORT: "因子报告", "reports on the factors";
    STARTED: "已开始，见任务页（9）", "started: see the jobs page (9)";
}

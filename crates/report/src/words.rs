//! Every sentence of the reports, in Chinese and English.

use inkstone_base::language::{Language, Word};
use inkstone_base::words;
use inkstone_corpus::structure::Section;
use inkstone_features::experiment::{Findings, OverlapRule, Target};

words! {
    EXPERIMENT: "对比实验", "Experiment";
    SWITCH: "语言", "Language";
    FINDING: "结论", "Finding";
    ASKED: "实验设定", "Set-up";
    FRONTIER: "前沿：效果与成本", "Frontier: what is gained for what is read";
    DIFFERENCES: "与基线之差", "Differences to the baseline";
    EFFECTS: "各设置的边际效应", "What each setting does";
    CELLS: "全部单元", "All cells";
    KEPT: "各章节保留的比例", "What each cell reads, by section";
    OVERLAP: "训练与测试共有的文本", "Texts that training and test share";
    DROPPED: "剔除的文档", "Documents set aside";
    SKIPPED: "未能计算的单元", "Cells that could not be computed";
    METHOD: "如何阅读", "How to read this";

    TARGET: "目标", "target";
    TO_FACTOR: "因子的预测力", "the factor's predictive power";
    TO_LABEL: "文档的标签", "the documents' labels";
    TO_RATING: "研报的评级", "the reports' ratings";
    MEASURE: "指标", "measure";
    MACRO_F1: "宏平均 F1", "macro F1";
    FACTOR: "因子规则", "rules of factor";
    DEFAULT_RULES: "默认规则", "default rules";
    HORIZON: "持有期（交易日）", "horizon (trading days)";
    CLASSES: "类别（文档数）", "classes (documents)";
    DOCUMENTS: "文档数", "documents";
    OBSERVATIONS_DATES: "观测（交易日）", "observations (dates)";
    OBSERVATIONS_DOCUMENTS: "观测（文档）", "observations (documents)";
    BLOCK: "自助法区块", "block of the bootstrap";
    DRAWS: "抽样次数", "draws";
    CONFIDENCE: "置信度", "confidence";
    TRIED: "试验的单元", "cells tried";
    BASELINE: "基线", "baseline";

    FEATURE: "特征", "feature";
    CELL: "单元", "cell";
    SETTING: "设置", "setting";
    VALUE: "取值", "value";
    STRATEGY: "截断", "truncate";
    MEAN: "均值", "mean";
    P_BEST: "MCS p 值", "MCS p";
    TOKENS: "词元/篇", "tokens/doc";
    SECONDS: "秒", "seconds";
    DEVICE: "设备", "device";
    INTERVAL: "区间", "interval";
    DIFFERENCE: "差", "difference";
    P: "p", "p";
    P_ADJUSTED: "校正 p", "adjusted p";
    ON_FRONTIER: "前沿", "frontier";
    NOTHING_KEPT: "无内容", "nothing kept";
    REASON: "原因", "reason";
    COUNT: "篇数", "documents";
    CELL_COUNT: "单元数", "cells";
    YES: "是", "yes";

    AXIS_COST: "每篇文档读取的词元数（对数刻度）", "tokens read of a document (log scale)";
    STANDS_ABOVE: "校正后仍高于基线", "above the baseline, corrected";
    STANDS_BELOW: "校正后仍低于基线", "below the baseline, corrected";
    NOT_SHOWN: "差异不能排除偶然", "may be chance";
    NO_FIGURES: "没有一个单元得出数值，因此没有图。", "No cell has a figure, so there is nothing to draw.";
    NO_DIFFERENCES: "没有可与基线比较的单元。", "There is no cell to compare with the baseline.";
    NO_DROPPED: "没有剔除文档。", "No document was set aside.";
    NO_SKIPPED: "每个单元都算出来了。", "Every cell could be computed.";
    NO_SHARES: "没有按章节统计的数据。", "Nothing was counted by section.";
    NO_TEST: "没有测试文档可供比对。", "There were no test documents to look at.";

    FRONTIER_CAPTION: "每点一个单元：颜色为策略或首个设置的取值，形状为特征，竖线为置信区间；成本相同的点并排画开。阶梯线为前沿：没有成本更低而数值更高的单元。", "One point a cell: colour is the strategy or the value of the first setting, shape the feature, the bar its interval; points of equal cost stand side by side. The stepped line is the frontier: nothing cheaper is better.";
    DIFFERENCES_CAPTION: "在相同的抽样上与基线成对比较；须线为置信区间，右侧为按比较数校正的 p 值。", "Compared with the baseline in pairs, on the same draws; whiskers are intervals, at the right the p corrected for how many were compared.";
    EFFECTS_CAPTION: "一个设置取某值时，对其余设置的所有组合取平均；差值与该设置的基线取值逐组合配对，用同一批抽样，p 按该设置的取值个数校正。", "The mean of all cells with a value, over every combination of the other settings; the difference to the baseline's value of the setting is paired by combination, on the same draws, its p corrected for the values of the setting.";
    CELLS_CAPTION: "秒数只计本单元新读的窗口：已为其他单元读过的不再计。", "Seconds count what was read for the cell itself: windows that another cell had read cost nothing again.";
    KEPT_CAPTION: "一个章节的词元中被保留的份额；多个窗口重叠处只计一次。", "Share of a section's tokens that is kept; what several windows hold counts once.";
    METHOD_TEXT: "区间与 p 值来自移动区块自助法：成块抽取相邻的观测，所有单元用同一批抽样。校正 p 用 Romano 与 Wolf（2005）的逐步法，计入比较了多少单元；不超过 1 减置信度的差异才说成立。MCS p 值来自 Hansen、Lunde 与 Nason（2011）的模型置信集：大于 1 减置信度的单元都可能是最好的，其中已计入“最好”是从同一批观测里挑出来的。成本是模型每篇读取的词元，含特殊词元。", "Intervals and p come from the moving-block bootstrap: neighbouring observations are drawn in blocks, all cells on the same draws. The adjusted p is that of the step-down of Romano and Wolf (2005), which counts how many cells were compared; only a difference whose adjusted p is at most 1 less the confidence is said to stand. The MCS p is the p of the model confidence set of Hansen, Lunde and Nason (2011): every cell above 1 less the confidence may be the best, and it is counted that the best was chosen on the same observations. Cost is the tokens that the model reads of a document, special ones included.";

    TEST_DOCUMENTS: "测试文档", "test documents";
    EXACT: "文本相同的训练文档", "of which the same text trains";
    NEAR: "文本近似的训练文档", "of which nearly the same text trains";
    SHARE: "份额", "share";
    RULE: "处理", "rule";
    REMOVED: "因此移出训练", "left out of training";
    RULE_REFUSE: "超过上限则拒绝", "refuse above the limit";
    RULE_REMOVE: "移出训练集", "remove from training";
    RULE_REPORT: "仅报告", "report only";
}

pub fn section(section: Section) -> Word {
    match section {
        Section::Title => Word("标题", "title"),
        Section::Header => Word("文首", "header"),
        Section::Rating => Word("评级", "rating"),
        Section::Summary => Word("摘要", "summary"),
        Section::Body => Word("正文", "body"),
        Section::Forecast => Word("预测", "forecast"),
        Section::Risk => Word("风险", "risk"),
        Section::Disclaimer => Word("免责", "disclaimer"),
    }
}

/// Name of the measure that cells are judged by.
pub(crate) fn target(target: Target) -> Word {
    match target {
        Target::Factor => TO_FACTOR,
        Target::Label => TO_LABEL,
        Target::Rating => TO_RATING,
    }
}

/// Rule for texts that training and test share.
pub(crate) fn rule(rule: OverlapRule) -> Word {
    match rule {
        OverlapRule::Refuse => RULE_REFUSE,
        OverlapRule::Remove => RULE_REMOVE,
        OverlapRule::Report => RULE_REPORT,
    }
}

/// The name of the figure that cells are judged by; an unknown name is shown unchanged.
pub fn measure(findings: &Findings, language: Language) -> &str {
    match findings.measure.as_str() {
        "rank_ic" => "RankIC",
        "macro_f1" => MACRO_F1.to(language),
        other => other,
    }
}

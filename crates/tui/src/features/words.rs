//! The texts of the page of features, in Chinese and English.

use inkstone_base::words;

pub(super) use crate::words::{
    AGAIN, CODE, COSINE, DOCUMENTS, KEY, MODEL, NAME, NO_TITLE, SIZE, TIME as PUBLISHED, TITLE,
};

words! {
    SETS: "特征集", "Feature sets";
    NO_BENCH: "这个工作台没有打开项目配置，看不到特征库。", "This workbench was opened without a configuration: there is no feature store to look at.";
    NO_FEATURES: "还没有特征：在 workbench.toml 里写一个 [[feature]]（例如 name = \"tone\"、model = \"lexicon\"），再到任务页按 r 运行。", "There are no features yet: add a [[feature]] to workbench.toml (name = \"tone\", model = \"lexicon\", for instance), then press r on the page of jobs.";
    UNREADABLE: "⚠ 特征库读不出：数字出自上次运行的报告", "⚠ the feature store cannot be read: figures are those of the last run";
    NOT_READ: "读不出特征库，读不到这个集。按 u 再试。", "The feature store cannot be read, and so the set cannot either. Press u to try again.";
    COLUMNS: "列", "cols";
    ROWS: "行", "rows";
    COVERAGE: "覆盖%", "cover%";
    STATE: "状态", "state";
    SEEN: "数据截至", "trained to";
    FOLDS: "折", "folds";
    CURRENT: "✓ 最新", "✓ current";
    STALE: "! 过期", "! stale";
    MISSING: "· 未算", "· not computed";
    OF_CHECKS: "检查用", "for checks";
    UNUSED: "– 无引用", "– unused";
    SPARSE: "稀疏", "sparse";
    STORE: "特征库", "store";
    LIVE: "有效", "live";
    OTHER: "其余", "other";
    HEALTH: "体检", "health";
    NEAR: "近邻", "neighbours";
    FILES: "文件", "files";
    ASK_HEALTH: "按 Enter 从头到尾读一遍这个集：缺失、零、分布、重复行、逐月覆盖。", "Press Enter to read the set from end to end: what is missing, zeros, distributions, repeats, months.";
    ASK_NEAR: "按 Enter 找出与一篇文档最近的文档；/ 按标题或编号找那一篇。", "Press Enter for the documents nearest to one; / finds that one by title or id.";
    NOT_MADE: "这个特征还没有算：到任务页按 r 运行。", "This feature was not computed yet: press r on the page of jobs.";
    READING: "正在读取", "reading";
    WITH_VALUE: "有值", "with a value";
    REPEATS: "重复行", "repeated rows";
    AMONG_FIRST: "仅比较前", "of the first";
    CONSTANT: "常数列", "constant columns";
    EMPTY_COLUMNS: "全空列", "empty columns";
    STRAYS: "行在当前语料中找不到文档：语料变了，请重新运行流水线", "rows have no document in the corpus, which has changed: run the pipeline";
    EXACT: "四分位与直方图出自全部行", "quartiles and histograms are of all rows";
    SAMPLED: "四分位与直方图出自抽样行（种子固定）", "quartiles and histograms are of sampled rows (fixed seed)";
    FIRST_COLUMNS: "只列前", "showing the first";
    FULLEST: "只列项数最多的", "showing the fullest";
    OF_ALL: "共", "of";
    COLUMN: "列名", "column";
    MISSING_SHARE: "缺失%", "miss%";
    ZERO_SHARE: "零%", "zero%";
    MEAN: "均值", "mean";
    STD: "标准差", "std";
    MIN: "最小", "min";
    FIRST_QUARTILE: "25%", "25%";
    MEDIAN: "中位", "median";
    THIRD_QUARTILE: "75%", "75%";
    MAX: "最大", "max";
    HISTOGRAM: "分布", "shape";
    ENTRIES: "（每行项数）", "(entries a row)";
    LENGTH: "（行长度）", "(length of row)";
    BY_MONTH: "逐月覆盖", "cover";
    QUERY: "查询", "query";
    EUCLID: "欧氏距离", "distance";
    PAST_ONLY: "只看更早发布的", "only what was published before";
    ANY_TIME: "⚠ 不论先后（含未来）", "⚠ at any time, the future included";
    COMPARED: "比较", "compared";
    LATER: "更晚不计", "later ones left out";
    NO_ROWS: "这个集没有一行有值。", "No row of this set has a value.";
    NO_ROW: "这篇文档在这个集里没有值（模型没有读它，或没有已知的词）。按 / 换一篇。", "This document has no value in this set (its model did not read it, or knew no word of it). Press / for another.";
    ALONE: "没有可比的文档：没有更早发布且有值的。按 p 不论先后。", "There is nothing to compare it with: none with a value was published before. Press p to compare with all.";
    ONE_COLUMN: "只有一列时余弦只分正负：按 e 用距离。", "The cosine of a single column shows only the sign: press e for distances.";
    FIND: "找文档", "find a document";
    TYPE_TO_FIND: "标题、编号或代码，Enter 查找", "a title, an id or a code, then Enter";
    FINDING: "查找中…", "looking…";
    NONE_FOUND: "没有文档的标题、编号或代码含有", "No title, id or code contains";
    CHOOSE: "选一篇，Enter 查它的近邻", "choose one, Enter for its neighbours";
    PART: "分片", "part";
    BLOCKS: "块", "blocks";
    PER_ROW: "字节/行", "bytes/row";
    DIGEST: "校验", "digest";
    TOOK: "用时", "took";
    WITHOUT: "没有值", "without a value";
    COMPACT: "inkstone store compact 收回其余", "inkstone store compact frees the rest";
    UNTIL: "数据截至", "data until";
    SEARCH: "参数搜索", "search";
    OUT_OF_FOLD: "折外", "out of fold";
    TRIED: "每折试过的组合", "combinations tried in each fold";
    NOT_FITTED: "没有拟合", "nothing fitted";
}

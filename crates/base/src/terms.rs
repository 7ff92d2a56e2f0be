//! The words of stages, units, facts and reasons, which files and JSON have in English, in both languages for people.
//!
//! A stage names what it counts by a key in English: the reason of a row set aside, the name of a fact. The keys stay as they are in
//! files; fronts show [`term`]. A test reads the sources and fails on a key that has no Chinese words.

mod facts;

use crate::language::Message;
use facts::FACTS;

/// The words of a key. A key of several parts, `extract tone` or `value: not traded`, is shown part by part; what is no key, such as the
/// name of a feature, stays as it is.
pub fn term(key: &str) -> Message {
    if let Some(zh) = chinese(key) {
        return Message { zh, en: key.replace('_', " ") };
    }
    if let Some((stage, of)) = key.split_once(' ')
        && let Some((_, zh)) = STAGES.iter().find(|(english, _)| *english == stage)
    {
        return Message { zh: format!("{zh} {}", derived(of.strip_prefix("of ").unwrap_or(of))), en: key.to_owned() };
    }
    if let Some((first, rest)) = key.split_once(": ")
        && let (Some(first), Some(rest)) = (chinese(first), chinese(rest))
    {
        return Message { zh: format!("{first}：{rest}"), en: key.to_owned() };
    }
    Message { zh: key.to_owned(), en: key.to_owned() }
}

/// The note of a stage at work. Figures with names, as `epoch 2, loss 0.2413, lr 0.02100`, are translated; other text stays as it is.
pub fn note(text: &str) -> Message {
    let part = |part: &str| match part.split_once(' ') {
        Some(("epoch", n)) => format!("第 {n} 轮"),
        Some(("loss", loss)) => format!("损失 {loss}"),
        Some(("lr", rate)) => format!("学习率 {rate}"),
        _ => part.to_owned(),
    };
    Message { zh: text.split(", ").map(part).collect::<Vec<_>>().join("，"), en: text.to_owned() }
}

/// The name of a feature; that of its variant with masked names says so.
fn derived(name: &str) -> String {
    name.strip_suffix(" · masked").map_or_else(|| name.to_owned(), |name| format!("{name} · 遮盖公司名"))
}

fn chinese(key: &str) -> Option<String> {
    let exact = |(english, _): &&(&str, &str)| *english == key;
    let tables = || STAGES.iter().chain(UNITS).chain(REASONS).chain(FACTS);
    if let Some((_, zh)) = tables().find(exact) {
        return Some((*zh).to_owned());
    }
    REASONS.iter().chain(FACTS).find_map(|(english, zh)| {
        // A `*` stands for a number or a name.
        let (before, after) = english.split_once('*')?;
        let middle = key.strip_prefix(before)?.strip_suffix(after)?;
        Some(zh.replace('*', middle))
    })
}

const STAGES: &[(&str, &str)] = &[
    ("ingest", "读取"),
    ("clean", "清洗"),
    ("link", "关联证券"),
    ("structure", "结构"),
    ("rewrite", "改写"),
    ("extract", "特征"),
    ("factor", "因子"),
    ("backtest", "回测"),
    ("event-list", "事件列表"),
    ("events", "事件研究"),
    ("lint", "检查"),
    ("detached run", "后台运行"),
    ("export", "导出"),
    ("report", "报告"),
    ("fetch", "获取数据"),
    ("notify", "通知"),
    ("generate", "生成数据"),
    ("train", "训练"),
    ("experiment", "实验"),
    ("audit", "审查"),
    ("read", "读取"),
    ("count", "统计"),
    ("fit", "拟合"),
    ("eval", "评估"),
    ("embed", "向量化"),
    ("sample", "采样"),
    ("shift", "词义变迁"),
    ("projection", "投影"),
    ("keywords", "关键词"),
    ("convert", "转换"),
    ("install", "安装"),
    ("rows", "各行"),
    ("cut", "切分"),
    ("tokenize", "分词"),
    ("worker", "工作进程"),
    ("model", "模型"),
    ("index", "检索索引"),
    ("clusters", "聚类"),
    ("lists", "词表"),
    ("documents", "文档"),
    ("securities", "证券"),
    ("signals", "信号"),
    ("facts", "事实"),
    ("leave out", "剔除"),
    ("weigh layers", "各层加权"),
    ("read tokens", "读取词元"),
    ("read documents", "读取文档"),
    ("fit vectors", "拟合向量"),
    ("count words", "统计词频"),
    ("boilerplate", "套话"),
    ("revisions", "修订"),
    ("nearest", "近邻"),
    ("explain", "解释"),
    ("store", "特征库"),
    ("workbench", "工作台"),
    ("t-sne", "t-SNE"),
    ("word2vec", "word2vec"),
    ("glove", "GloVe"),
    ("ppmi", "PPMI"),
    ("cw", "CW"),
    ("vintages", "分期训练"),
    ("fasttext", "fastText"),
    ("fasttext-supervised", "fastText 分类"),
];

const UNITS: &[(&str, &str)] = &[
    ("docs", "篇"),
    ("rows", "行"),
    ("dates", "个日期"),
    ("names", "只"),
    ("words", "词"),
    ("windows", "窗口"),
    ("bytes", "字节"),
    ("cells", "单元"),
    ("files", "文件"),
    ("features", "特征"),
    ("events", "事件"),
    ("epochs", "轮"),
    ("pairs", "对"),
    ("texts", "篇"),
    ("tokens", "词元"),
    ("tasks", "任务"),
    ("steps", "步"),
    ("draws", "次抽样"),
    ("checks", "项"),
    ("sentences", "句"),
    ("parts", "份"),
    ("tables", "个表"),
    ("trials", "次"),
    ("folds", "折"),
    ("vintages", "期"),
    ("batches", "批"),
];

const REASONS: &[(&str, &str)] = &[
    // Rows of files.
    ("empty title and body", "标题与正文皆空"),
    ("duplicate id", "编号重复"),
    ("duplicate date and code", "日期与代码重复"),
    ("duplicate code and first day", "代码与首日重复"),
    ("relation that an earlier row has", "前面的行已有该关系"),
    ("event that an earlier row has", "前面的行已有该事件"),
    ("number below zero", "数字小于 0"),
    ("relation of a security to itself", "证券与自身的关系"),
    ("weight that is not above 0", "权重不大于 0"),
    ("no time of ingestion (known_at = \"ingested\")", "没有入库时间（known_at = \"ingested\"）"),
    ("no such date or time", "日期或时间不存在"),
    ("time in the future", "时间在未来"),
    ("wrong number of fields", "字段数不对"),
    ("not JSON: cut short", "不是 JSON：不完整"),
    ("not JSON: nested more than 127 deep", "不是 JSON：嵌套超过 127 层"),
    ("not JSON: syntax", "不是 JSON：语法错误"),
    ("not JSON: NaN is no number there, write null", "不是 JSON：NaN 不是数字，请写 null"),
    ("price that a source before has", "前面的来源已有该价格"),
    ("record over 8 MB", "一行超过 8 MB"),
    ("bytes that are not *", "有字节不属于 *"),
    ("encrypted: needs a password", "已加密：需要密码"),
    ("no text (a scan?): needs OCR", "没有文本（扫描件？）：需要 OCR"),
    ("damaged or unsupported PDF", "PDF 损坏或不受支持"),
    ("damaged or unsupported DOCX", "DOCX 损坏或不受支持"),
    ("nested more than 1000 deep", "嵌套超过 1000 层"),
    ("unpacks to more than 96 MB beyond its own size", "解压后比自身大 96 MB 以上"),
    ("file over 256 MB", "文件超过 256 MB"),
    ("more than * pages ([ingest] max_pages)", "超过 * 页（[ingest] max_pages）"),
    ("more than * % unmapped or garbled ([ingest] max_garbled)", "乱码超过 * %（[ingest] max_garbled）"),
    ("quote never closes", "引号没有闭合"),
    ("text behind a closing quote", "右引号之后还有文本"),
    ("file ends in the middle of the array", "文件在数组中间结束"),
    ("not one JSON array", "不是一个 JSON 数组"),
    ("neither a JSON object nor an array", "既不是 JSON 对象也不是数组"),
    ("not a number", "不是数字"),
    ("not a time", "不是时间"),
    ("not a security code", "不是证券代码"),
    ("no code", "没有代码"),
    ("no kind", "没有类型"),
    ("no name", "没有名称"),
    ("no date", "没有日期"),
    ("no time", "没有时间"),
    ("ends before it begins", "止日早于起日"),
    ("neither true nor false", "既不是 true 也不是 false"),
    ("price not positive", "价格不大于 0"),
    ("price below zero", "价格小于 0"),
    ("negative amount", "成交量额为负"),
    ("high below low", "最高价低于最低价"),
    ("sealed", "在封存期内"),
    ("line over 64 MB", "一行超过 64 MB"),
    ("not UTF-8", "不是 UTF-8"),
    ("unknown format", "格式未知"),
    ("cannot read the file", "无法读取文件"),
    ("no regular file: a pipe, a socket, a device or a folder", "不是普通文件：是管道、套接字、设备或文件夹"),
    ("a table: rows of tables are read by ingest", "是表格：表格的行由 ingest 读取"),
    ("there already", "已有"),
    ("cut off when the program ended", "程序结束时被截断"),
    // Documents and rows of features.
    ("left out", "略过"),
    ("without text", "没有文本"),
    ("without words", "没有词"),
    ("with entities that overlap or are empty", "实体重叠或为空"),
    ("with an entity that has no kind", "实体没有类别"),
    ("a line of the sentence has no label behind its character", "句中有一行的字后没有标签"),
    ("a label of the sentence is none of B, I, M, E, S and O", "句中有标签不是 B、I、M、E、S 或 O"),
    ("the sentence has labels of words and of names", "句中兼有词与名称的标签"),
    ("without a value", "没有值"),
    ("without an event of the kinds", "没有所列类型的事件"),
    ("without a label", "没有标签"),
    ("without entities", "没有实体"),
    ("without a rewritten text", "没有改写的文本"),
    ("without a row of any input", "任何输入都没有它的行"),
    ("without what is to be learned", "没有学习目标"),
    ("without a weight of 0 or more", "没有非负的权重"),
    ("without a text and its summary or title", "没有文本及其摘要或标题"),
    ("without a question and a list of answers", "没有问题与答案列表"),
    ("without text that both models read", "没有两个模型都读的文本"),
    ("without text, or with a question that leaves no room for one", "没有文本，或问题太长"),
    ("with answers that do not stand in its text", "答案不在文本中"),
    ("with answers that the tokenizer drops", "答案被分词器丢弃"),
    (
        "with entities that are not kind, start and end of a part of its text, in bytes",
        "实体不是文本片段的类别、起、止字节",
    ),
    (
        "with too little text in the window before (vintages.min_train_documents)",
        "此前窗口的文本太少（vintages.min_train_documents）",
    ),
    (
        "with too few documents in the window before (surprise.min_train_documents)",
        "此前窗口的文档太少（surprise.min_train_documents）",
    ),
    (
        "with too few documents in the window before (clusters.min_train_documents)",
        "此前窗口的文档太少（clusters.min_train_documents）",
    ),
    ("with numbers that are not in the document (min_numbers_kept)", "数字与原文不符（min_numbers_kept）"),
    ("of which truncation keeps nothing", "截断后不剩内容"),
    ("of which the encoder gives no vector", "编码器没有给出向量"),
    ("of which the model wrote nothing", "模型没有写出内容"),
    ("that do not fit into the prompt", "放不进提示词"),
    ("for which the model gave values that are no numbers", "模型给出的值不是数"),
    ("of a kind that is not read", "不读取的类型"),
    ("of a kind that is not counted", "不计的类型"),
    ("of a kind that is not rewritten, or without text", "不改写的类型，或没有文本"),
    ("of a kind that is not read, or of which truncation keeps nothing", "不读取的类型，或截断后不剩内容"),
    ("of dates before a model behind them was fitted", "所在日期早于所用模型的拟合"),
    ("of a part that killed each worker that began it", "所在的一份使每个工作进程终止"),
    ("of a fit that killed each worker that began it", "所在的拟合使每个工作进程终止"),
    ("not near an event of its security (within)", "附近没有所属证券的事件（within）"),
    ("without what the condition asks for (only)", "不满足条件（only）"),
    ("without a value of the condition (only)", "没有条件所需的值（only）"),
    ("about no security of the price table", "与行情表的证券无关"),
    ("before the first test window", "早于首个测试窗口"),
    ("between test windows", "在测试窗口之间"),
    ("published before the price table begins", "发布早于行情表"),
    ("published after the price table ends", "发布晚于行情表"),
    ("not read, or nothing kept", "不读取，或不剩内容"),
    ("whose rows are there", "已有其行"),
    ("whose results are there", "已有其结果"),
    ("cannot be computed so", "不能这样计算"),
    ("later than --until", "晚于 --until"),
    ("no time, with --until given", "给了 --until 而没有时间"),
    ("no object with a text, or a field of another type", "不是带文本的对象，或字段类型不对"),
    ("the time cannot be read", "时间无法读取"),
    ("no score", "没有得分"),
    ("*, written as an empty line", "*，写成空行"),
    ("another number of cells than --tsv names columns", "单元格数与 --tsv 的列数不同"),
    ("named before", "前面已写"),
    ("the model does not know the word", "模型不认识该词"),
    ("a vector of zeros", "零向量"),
    ("not two words and a number", "不是两个词加一个数"),
    ("not four words", "不是四个词"),
    ("in too few documents", "所在文档太少"),
    ("letters alone", "全是字母"),
    ("function word at an edge", "首尾为虚词"),
    ("function word inside", "中间有虚词"),
    ("compound of known words", "由已知词组成"),
    ("new word with a known word", "新词加已知词"),
    ("ends within letters", "止于字母中间"),
    ("too few neighbours", "邻字太少"),
    ("fragment of a longer word", "是更长的词的片段"),
    ("too few training samples (min_train_rows)", "训练样本太少（min_train_rows）"),
    (
        "no training sample of the first or the last class (classes.labels)",
        "没有首类或末类的训练样本（classes.labels）",
    ),
    // Values and trades.
    ("value", "因子值"),
    ("long leg", "多头"),
    ("short leg", "空头"),
    ("top", "前列组合"),
    ("repeat of an earlier document", "重复较早的文档"),
    ("security without prices from then on", "此后证券没有行情"),
    ("not known before the return begins", "收益开始前尚不可知"),
    ("value not known before the opening auction of day +1", "+1 日集合竞价前尚不可知"),
    ("value as on the day before", "与前一日的值相同"),
    ("not traded on the day of entry", "买入日未交易"),
    ("locked at the upper limit on the day of entry", "买入日封涨停"),
    ("one price all day, the upper limit, on the day of entry", "买入日一字涨停"),
    ("listed for too few days on the day of entry", "买入日上市天数不足"),
    ("no trading day to enter on", "没有可买入的交易日"),
    ("value of the benchmark", "是基准的值"),
    ("no later price at a horizon", "持有期末没有价格"),
    ("date with too few names", "当日个股太少"),
    ("date whose quantiles have no distinct edges", "当日分层边界重合"),
    ("no value that could be used", "没有可用的值"),
    ("could not be entered", "无法买入"),
    ("could not be entered, one price all day", "一字板，无法买入"),
    ("could not be left", "无法卖出"),
    ("could not be left, one price all day", "一字板，无法卖出"),
    ("no cash was left to buy", "没有剩余资金可买入"),
    ("less than a lot", "不足一手"),
    ("no value", "没有值"),
    ("code not in the price table", "代码不在行情表中"),
    ("date not in the price table", "日期不在行情表中"),
    ("could not be tested", "未能检验"),
    ("could not be done", "未做"),
    ("program failed", "程序失败"),
    // Events.
    ("too few returns in the estimation window", "估计期的收益太少"),
    ("the benchmark does not vary in the estimation window", "估计期内基准没有变化"),
    ("abnormal returns do not vary in the estimation window", "估计期内异常收益没有变化"),
    ("follows another event of its code within the gap", "间隔内同一代码已有事件"),
    ("one event with another document of its code and day", "与同日同代码的文档合为一个事件"),
    ("not drawn: more events than max_events", "未抽中：事件多于 max_events"),
    ("window reaches beyond the price table", "窗口超出行情表"),
    ("no return in the window", "窗口内没有收益"),
    ("train/*", "训练集/*"),
    // Warnings of lexicons.
    ("no word", "没有词"),
    ("the weight is not a number", "权重不是数字"),
    ("good and bad at once", "同时为正面与负面"),
    ("no polarity", "没有极性"),
    ("a polarity that is not known", "极性未知"),
    ("no weight that tells its side", "没有说明正负的权重"),
    ("the weight is 0", "权重为 0"),
    ("stands before with another weight", "前面已有，权重不同"),
    ("stands before", "前面已有"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_several_parts_are_shown_part_by_part() {
        let zh = |key: &str| term(key).zh;
        assert_eq!(zh("extract tone"), "特征 tone");
        assert_eq!(zh("extract tone · masked"), "特征 tone · 遮盖公司名");
        assert_eq!(zh("audit of rating"), "审查 rating");
        assert_eq!(zh("leave out"), "剔除");
        assert_eq!(zh("value: not traded on the day of entry"), "因子值：买入日未交易");
        assert_eq!(zh("bytes that are not UTF-8"), "有字节不属于 UTF-8");
        assert_eq!(zh("more than 1000 pages ([ingest] max_pages)"), "超过 1000 页（[ingest] max_pages）");
        assert_eq!(term("documents_linked").en, "documents linked");
        assert_eq!(
            (zh("rank_ic_5"), zh("语气 · tail:512")),
            ("RankIC（5 日）".to_owned(), "语气 · tail:512".to_owned())
        );
    }

    #[test]
    fn figures_of_a_training_are_named_in_chinese() {
        assert_eq!(note("epoch 2, loss 0.2413, lr 0.02100").zh, "第 2 轮，损失 0.2413，学习率 0.02100");
        assert_eq!(note("3/12").zh, "3/12");
    }

    #[test]
    fn every_key_is_in_a_table_once() {
        for table in [STAGES, UNITS, REASONS, FACTS] {
            let mut keys: Vec<&str> = table.iter().map(|(key, _)| *key).collect();
            keys.sort_unstable();
            let before = keys.len();
            keys.dedup();
            assert_eq!(keys.len(), before);
            assert!(table.iter().all(|(key, zh)| !zh.is_empty() && key.is_ascii()));
        }
    }
}

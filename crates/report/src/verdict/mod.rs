//! Sentences on the verdicts of the look-ahead checks, in Chinese and English, and the form in which exports carry them.

mod crawled;
mod draws;
#[cfg(test)]
mod tests;
mod unadjusted;

use serde_json::{Value, json};

use inkstone_lab::lint::finding::{
    Draws, FutureVocabulary, Ingestion, KnownBefore, MaskedNames, NoPower, Restated, SameDayGap, SharedTexts,
    ShuffledDates, Survivors, Trade, TradeDate, TrainingOverlap,
};
use inkstone_lab::lint::{Check, Finding, Standing, Verdict};

use inkstone_base::language::Word;
use inkstone_market::Price;

/// Name of a check.
pub fn check_name(check: Check) -> Word {
    match check {
        Check::KnownBefore => Word("可知时间", "known before the return"),
        Check::TradeDate => Word("交易日归属", "trading day of a text"),
        Check::SameDayGap => Word("同日与次日之差", "same day against the next"),
        Check::ShuffledDates => Word("打乱日期", "shuffled dates"),
        Check::ShuffledText => Word("打乱文本", "shuffled texts"),
        Check::FutureVocabulary => Word("未来的词表与模型", "vocabulary of the future"),
        Check::MaskedNames => Word("遮盖公司名", "masked names"),
        Check::Overlap => Word("训练与测试重合", "overlap of training and test"),
        Check::Survivors => Word("幸存者偏差", "survivors alone"),
        Check::Restated => Word("事后入库的文档", "documents ingested late"),
        Check::Unadjusted => Word("价格复权", "adjustment of prices"),
        Check::Crawled => Word("抓取时的字段", "fields of the crawl"),
        Check::RewiredGraph => Word("重连图", "rewired graph"),
    }
}

/// Sign and name of a standing.
pub fn standing_name(standing: Standing) -> (&'static str, Word) {
    match standing {
        Standing::Passed => ("✓", Word("通过", "passed")),
        Standing::Warned => ("!", Word("留意", "warning")),
        Standing::Failed => ("✗", Word("不通过", "failed")),
        Standing::Skipped => ("–", Word("未做", "not done")),
    }
}

/// Verdicts as exports carry them: an array of objects, each with its sentences (Chinese, English) and figures.
pub fn verdicts_json(verdicts: &[Verdict]) -> Value {
    let object = |verdict: &Verdict| {
        json!({
            "check": verdict.check,
            "standing": verdict.standing,
            "number": verdict.number,
            "limit": verdict.limit,
            "finding": verdict_sentences(verdict),
            "figures": verdict.figures(),
        })
    };
    verdicts.iter().map(object).collect()
}

/// Sentences on a verdict: what was found, why it matters and the way out; Chinese, English.
pub fn verdict_sentences(verdict: &Verdict) -> [String; 2] {
    let standing = verdict.standing;
    match &verdict.finding {
        Finding::NoDocuments => pair(
            "因子来自一张表，没有背后的文档，此项无从检查；在项目中由文本特征生成该因子（[[factor]]）即可检查。",
            "The factor came as a table without the documents behind it, so this could not be checked; build it from a \
             feature of a project ([[factor]]) to have it done.",
        ),
        Finding::ReadsNoDocuments { context } if context.factors.is_empty() => pair(
            "因子表达式只用行情，不读文档，此项不适用。",
            "The factor's expression reads prices and no documents, so this check does not apply.",
        ),
        Finding::ReadsNoDocuments { context } => {
            let names = context.factors.join(", ");
            [
                format!("因子由其他因子（{names}）合成，表达式本身不读文档；此项请看这些因子各自的检验结果。"),
                format!(
                    "The factor is made of other factors ({names}), and its expression reads no documents itself; see the verdicts \
                     on those factors."
                ),
            ]
        }
        Finding::NothingToBreak(NoPower { rank_ic, p, context }) => nothing_to_break(*rank_ic, *p, context.dates),
        Finding::KnownBefore(finding) => known_before(finding),
        Finding::TradeDate(finding) => trade_date(finding),
        Finding::SameDayGap(finding) => same_day_gap(finding, verdict),
        Finding::NoSameDay(_) => pair(
            "没有同时算得出当日与交易 RankIC 的日期，无法比较；先看回测的拒绝与样本数。",
            "No dates have a RankIC of the same day and of the trade, so they cannot be compared; look at the refusals \
             and counts of the backtest first.",
        ),
        Finding::ShuffledDates(finding) => shuffled_dates(finding, standing),
        Finding::TooFewDays { context } => [
            format!("因子只覆盖 {} 个交易日，没有足够的日期可移；更长的样本才能判断。", context.days),
            format!(
                "The factor covers {} trading days, too few to move its values; only a longer sample can tell.",
                context.days
            ),
        ],
        Finding::ShuffledText(finding) => draws::shuffled_text(finding, standing),
        Finding::FutureVocabulary(finding) => future_vocabulary(finding, verdict),
        Finding::MaskedNames(finding) => masked_names(finding, standing),
        Finding::AlwaysMasked => pair(
            "模型读到的文本本来就遮盖了公司名，预测力不可能来自公司名。",
            "The model reads texts in which names are masked anyway, so the predictive power cannot hang on names.",
        ),
        Finding::NoModelReadsTexts => pair(
            "没有模型为该因子阅读文本：因子只统计文档或取文档的字段，不存在记住公司名的问题。",
            "No model reads texts for this factor: it counts documents or takes their fields, so no model can know a company by its \
             name.",
        ),
        Finding::NoMaskedFactor => pair(
            "没有遮盖公司名的对照因子，此项未检查；上下文模型与网络请设 [lint] mask_contextual = true，其余请用项目中的特征。",
            "There is no factor of texts with masked names to compare with, so this was not checked; for a contextual \
             model or a network set [lint] mask_contextual = true, else make the factor of a project's features.",
        ),
        Finding::TooLittleMaskedText => pair(
            "遮盖公司名之后，剩下的文本不足以拟合模型，此项未检查；请给更多文档，或放宽特征的最少训练量。",
            "With masked names too little text is left to fit the model on, so this was not checked; give more documents, or let the \
             feature train on fewer.",
        ),
        Finding::NoCommonDates => pair(
            "两个因子没有共同的日期，无法比较；请让二者覆盖相同的文档。",
            "The two factors have no dates in common, so they cannot be compared; let both read the same documents.",
        ),
        Finding::Overlap(finding) => overlap(finding, standing),
        Finding::Survivors(finding) => survivors(finding, standing),
        Finding::NoIngestionTimes(_) => pair(
            "文档没有入库时间（ingested_at），无从得知是否事后补录；请在 [source.columns] 指定该列。",
            "No document says when it was ingested (ingested_at), so later versions cannot be told; name the column in \
             [source.columns].",
        ),
        Finding::LoadedAtOnce(finding) => loaded_at_once(finding),
        Finding::NoneLate(finding) => none_late(finding),
        Finding::LateWithoutPower(finding) => {
            nothing_to_break(finding.rank_ic, finding.p, finding.ingestion.context.ranked)
        }
        Finding::NoneInTime(finding) => none_in_time(finding),
        Finding::Restated(finding) => restated(finding, standing),
        Finding::Unadjusted(finding) => unadjusted::sentences(finding),
        Finding::Crawled(finding) => crawled::sentences(finding),
        Finding::RewiredGraph(finding) => draws::rewired_graph(finding, standing),
    }
}

fn pair(zh: &str, en: &str) -> [String; 2] {
    [zh.to_owned(), en.to_owned()]
}

/// Sentences that begin with `figures` and end with `meaning`.
fn joined([zh, en]: [String; 2], meaning: (&str, &str)) -> [String; 2] {
    [zh + meaning.0, en + meaning.1]
}

fn trade_words(Trade { delay, price }: &Trade) -> [String; 2] {
    let zh = match price {
        Price::Open => "开盘价",
        Price::Close => "收盘价",
        Price::Vwap => "均价",
    };
    [format!("延迟 {delay} 日，{zh}"), format!("delay {delay}, price {}", price.name())]
}

fn nothing_to_break(mean: f64, p: f64, n: usize) -> [String; 2] {
    match n {
        0 => pair(
            "没有一个日期算得出 RankIC（没有可用的值，或每日股票太少），无法检验；先看回测的拒绝与样本数。",
            "No date has a RankIC (no value may be used, or dates have too few names), so there is nothing to break; \
             look at the refusals and counts of the backtest first.",
        ),
        _ => [
            format!("RankIC 均值 {mean:+.4}（{n} 日，p = {p:.3}）与零无异，没有显著的预测力；更长的样本才能判断。"),
            format!(
                "The mean RankIC of {mean:+.4} ({n} dates, p = {p:.3}) does not differ from zero, so there is nothing \
                 to break; only a longer sample can tell."
            ),
        ],
    }
}

fn known_before(finding: &KnownBefore) -> [String; 2] {
    let KnownBefore { values, late, backdated, .. } = finding;
    let [alignment_zh, alignment_en] = trade_words(&finding.context.trade);
    let [mut zh, mut en] = match &finding.context.worst {
        None => [
            format!("{values} 个值均在其对应收益（{alignment_zh}）开始之前已知。"),
            format!(
                "All {values} values were known before the return that they are paired with began ({alignment_en})."
            ),
        ],
        Some(worst) => {
            let lateness = finding.worst_lateness_hours.unwrap_or(f64::NAN);
            let (date, code, known, begins) = (&worst.date, &worst.code, &worst.known_at, &worst.trade_at);
            let (effect_zh, effect_en) = match (finding.used, finding.context.beyond_limit) {
                (true, _) => (
                    "回测用了它们，所得预测力有一部分是未来信息。请推迟交易（[backtest] delay、price），并去掉 allow_lookahead。",
                    "The backtest uses them, so part of its predictive power is the future. Trade later ([backtest] \
                     delay, price) and drop allow_lookahead.",
                ),
                (false, true) => (
                    "超出 max_refused，说明对齐方式本身有误，请推迟交易（[backtest] delay、price）。",
                    "They are more than max_refused, so the alignment itself is wrong: trade later ([backtest] delay, \
                     price).",
                ),
                (false, false) => (
                    "回测逐一拒绝了它们，结果未受影响；但导出给其他工具时须同样剔除。",
                    "The backtest refuses each of them, so its figures stand; other tools must leave them out as well.",
                ),
            };
            [
                format!(
                    "{values} 个值中有 {late} 个在其收益（{alignment_zh}）开始之后才已知，最晚的迟 {lateness:.1} 小时：\
                     {code} 在 {date} 的值于 {known} 已知，而收益始于 {begins}。{effect_zh}"
                ),
                format!(
                    "{late} of {values} values were known too late for the return that they are paired with \
                     ({alignment_en}), the worst by {lateness:.1} hours: that of {code} on {date} was known at \
                     {known}, its return begins at {begins}. {effect_en}"
                ),
            ]
        }
    };
    if *backdated > 0 {
        zh += &format!("另有 {backdated} 条记录的可知时间早于文本的发布时间，不足为证；请改用发布时间。");
        en += &format!(
            " {backdated} signals claim to have been known before their text was published, which proves nothing: \
             take the time of publication."
        );
    }
    if finding.times_assumed {
        zh += "该表没有 known_at 列，时间按所在日期的 15:00:00 计；若日期指的是交易日，请补上 known_at。";
        en += " The table has no column known_at, so 15:00:00 of the date was taken; if its dates are those of the \
         trade, give known_at.";
    }
    [zh, en]
}

fn trade_date(finding: &TradeDate) -> [String; 2] {
    let TradeDate { signals, early, late, .. } = finding;
    let [mut zh, mut en] = match (early, late) {
        (0, 0) => [
            format!("{signals} 条记录的交易日均与其发布时间相符。"),
            format!("All {signals} signals stand on the trading date that their time of publication gives."),
        ],
        (0, late) => [
            format!(
                "{signals} 条记录中没有过早的，但有 {late} 条比应属的交易日更晚，白白失去时效；请按发布时间重新归日。"
            ),
            format!(
                "None of {signals} signals stands too early, but {late} stand on a later date than theirs, which \
                 loses time and no more; give dates by the time of publication."
            ),
        ],
        _ => [
            format!(
                "{signals} 条记录中有 {early} 条归入了比发布时间应属的更早的交易日（另有 {late} 条更晚）：\
                 那一天收盘时文本尚未发布，与当日或次日收益相配即用到未来。请按发布时间与 15:00:00（[market] cutoff）重新归日。"
            ),
            format!(
                "{early} of {signals} signals stand on an earlier trading date than their time of publication gives \
                 ({late} on a later one): the text was not there at that day's close, so returns that it is paired \
                 with may have begun. Give dates by the time of publication and 15:00:00 ([market] cutoff)."
            ),
        ],
    };
    if finding.as_strings {
        zh += "出错的只有 15 点（过早）与 1 至 9 点（过晚）的文本，像是把小时当作字符串与 \"15:00:00\" 比较；请按时间比较。";
        en += " Only texts at 15:xx (early) and from 1:00 to 9:59 (late) are wrong, as when hours are compared with \
         \"15:00:00\" as strings; compare times.";
    }
    [zh, en]
}

fn same_day_gap(finding: &SameDayGap, verdict: &Verdict) -> [String; 2] {
    let SameDayGap { rank_ic_same_day, rank_ic_trade, p, .. } = finding;
    let gap = verdict.number.unwrap_or(f64::NAN);
    let [zh, en] = trade_words(&finding.context);
    let figures = [
        format!(
            "RankIC 与当日收益（前收至当收）为 {rank_ic_same_day:+.4}，与可交易收益（{zh}）为 {rank_ic_trade:+.4}，\
             差距 {gap:+.4}（p = {p:.3}）"
        ),
        format!(
            "The RankIC with the return of the same day (close before to close) is {rank_ic_same_day:+.4}, with that \
             of the trade ({en}) {rank_ic_trade:+.4}: a gap of {gap:+.4} (p = {p:.3})"
        ),
    ];
    let meaning = match verdict.standing {
        Standing::Failed => (
            "。被测因子本身就按当日对齐：收益开始时部分文本尚未发布，其结果不可信。请设 delay = 1。",
            ". The factor under test is itself aligned at the same day, with returns that had begun before its texts \
             were there: its figures mean nothing. Set [backtest] delay = 1.",
        ),
        Standing::Warned => (
            "。文本大多在报道已经发生的涨跌：这不是泄漏，但日期一旦错位一天便会凭空得到这么大的预测力。\
             请以可交易的数字为准，并核对 [market] cutoff 与 delay。",
            ". The texts mostly report moves that have happened. This is no leak, but dates that slip by a day would \
             make that much of nothing: go by the figure of the trade, and keep [market] cutoff and delay as they are.",
        ),
        _ => ("，不足为虑。", ", which is no cause for concern."),
    };
    joined(figures, meaning)
}

fn shuffled_dates(finding: &ShuffledDates, standing: Standing) -> [String; 2] {
    let Draws { rank_ic, p, draws, .. } = &finding.draws;
    let moved = finding.rank_ic_moved;
    let percent = 100.0 * finding.draws.share(moved);
    let figures = [
        format!(
            "把各代码的值移到其他日期（{draws} 次），RankIC 均值从 {rank_ic:+.4} 变为 {moved:+.4}，\
             剩 {percent:.0} %（p = {p:.3}）"
        ),
        format!(
            "With each code's values moved to other dates ({draws} draws), the mean RankIC goes from {rank_ic:+.4} to \
             {moved:+.4}: {percent:.0} % remains (p = {p:.3})"
        ),
    ];
    let meaning = match standing {
        Standing::Failed => (
            "。因子主要是股票的固定特征（市值、行业、幸存等），而非当日消息；请先做中性化（neutralise），\
             或减去各代码过去的均值再看。",
            ". The factor is mostly a fixed trait of the names (size, industry, survival), not news of the day: \
             neutralise it, or take off each code's own past mean, and look again.",
        ),
        Standing::Warned => (
            "。换成别的日期也能得到同样大的 RankIC，当日消息的作用未得到证明；请用更长的样本或更短的回看期再看。",
            ". Other dates do as well as the right ones now and then, so that news of the day is not shown to matter: \
             look again with a longer sample or a shorter look-back.",
        ),
        _ => ("，预测力确实来自当日的消息。", ", so the predictive power is that of the day's news."),
    };
    joined(figures, meaning)
}

fn future_vocabulary(finding: &FutureVocabulary, verdict: &Verdict) -> [String; 2] {
    let FutureVocabulary { signals, fitted, future, hidden, comparison } = finding;
    let percent = 100.0 * verdict.number.unwrap_or(f64::NAN);
    let [mut zh, mut en] = match verdict.standing {
        Standing::Passed if *fitted == 0 => [
            format!("{signals} 条记录的取值不来自任何拟合过的模型，无从得知未来。"),
            format!("None of {signals} signals comes from a fitted model, so none can know the future."),
        ],
        Standing::Passed => [
            format!("{fitted} 条由模型给出的记录，其模型拟合所用数据均早于交易。"),
            format!(
                "All {fitted} signals that come from a model were given by one fitted on data from before the trade."
            ),
        ],
        Standing::Warned => [
            format!(
                "{percent:.1} % 的记录（{future} 条）由交易之后才拟合好的模型给出；可知时间如实记载，回测会拒绝它们，\
                 这些日期因此无法检验。请改用滚动拟合（walk_forward、vintages）或更早的 fit_until。"
            ),
            format!(
                "{percent:.1} % of the signals ({future}) come from a model that was fitted on data from after the \
                 trade. Their known-at times say so and the backtest refuses them, so these dates cannot be tested: \
                 fit step by step (walk_forward, vintages), or up to an earlier fit_until."
            ),
        ],
        _ => [
            format!(
                "{percent:.1} % 的记录（{future} 条）由见过交易之后数据的模型给出，\
                 其中 {hidden} 条的可知时间未反映这一点，回测因此用到了未来的词汇或标签。\
                 请改用滚动拟合（walk_forward、vintages），并令可知时间不早于 fitted_until。"
            ),
            format!(
                "{percent:.1} % of the signals ({future}) come from a model that had seen data from after the trade, \
                 {hidden} of them with a known-at time that does not say so: words or labels of the future are in the \
                 figures. Fit step by step (walk_forward, vintages), and let values be known no earlier than \
                 fitted_until."
            ),
        ],
    };
    if let Some(comparison) = comparison {
        let (seen, unseen, p) = (comparison.rank_ic_seen, comparison.rank_ic_unseen, comparison.p);
        zh += &format!("模型见过的日期 RankIC 为 {seen:+.4}，未见过的为 {unseen:+.4}（差异 p = {p:.3}）。");
        en += &format!(
            " The RankIC is {seen:+.4} on dates that the model had seen and {unseen:+.4} on those that it had not \
             (difference p = {p:.3})."
        );
    }
    [zh, en]
}

fn masked_names(finding: &MaskedNames, standing: Standing) -> [String; 2] {
    let MaskedNames { rank_ic_masked: left, lost, loss, context } = finding;
    let (rank_ic, low, high, p) = (loss.rank_ic, loss.low, loss.high, loss.p);
    let share = finding.share();
    let percent = 100.0 * share;
    let figures = [
        format!(
            "遮盖公司名后 RankIC 从 {rank_ic:+.4} 变为 {left:+.4}，失去 {percent:.0} %\
             （差 {lost:+.4}，区间 {low:+.4} 至 {high:+.4}，p = {p:.3}）"
        ),
        format!(
            "With names masked the RankIC goes from {rank_ic:+.4} to {left:+.4}: {percent:.0} % is lost ({lost:+.4}, \
             interval {low:+.4} to {high:+.4}, p = {p:.3})"
        ),
    ];
    let meaning = match standing {
        Standing::Warned => (
            "：模型可能记得这些公司后来如何。请以遮盖公司名的因子为准，或改用拟合截止更早的模型。",
            ": the model may remember what became of these companies. Go by the masked factor, or take a model fitted \
             earlier.",
        ),
        _ if !context.chance && share < 0.0 => {
            ("：公司名反而是干扰，不妨遮盖。", ": names distract rather than help, and may as well be masked.")
        }
        _ => ("，预测力并不依赖公司名。", ", so the predictive power does not hang on names."),
    };
    joined(figures, meaning)
}

fn overlap(finding: &TrainingOverlap, standing: Standing) -> [String; 2] {
    let (tested, unknown) = (finding.documents, finding.of_unknown_training);
    let Some(SharedTexts { in_training: own, story_in_training: story }) = &finding.shared else {
        return match unknown {
            0 => pair(
                "取值不来自在语料上训练的模型，没有训练文本可以重合。",
                "No value comes from a model that was trained on text, so there is no training text to share.",
            ),
            _ => [
                format!(
                    "{unknown} 篇文档的模型训练于语料之外的文本，重合与否无从得知；请选 fitted_until 早于样本的模型。"
                ),
                format!(
                    "The models of {unknown} documents were trained on text outside this corpus, so what they share \
                     cannot be told; choose one whose fitted_until lies before the sample."
                ),
            ],
        };
    };
    let percent = 100.0 * ((own + story) as f64 / tested as f64);
    let figures = [
        format!(
            "{tested} 篇计入的文档中，{own} 篇本身训练过给它打分的模型，{story} 篇的同一报道（近似重复）训练过，\
             合计 {percent:.1} %"
        ),
        format!(
            "Of {tested} documents that count, {own} trained the model that scored them and of {story} a near \
             duplicate did: {percent:.1} %"
        ),
    ];
    let meaning = match standing {
        Standing::Failed => (
            "。样本内的打分不是检验；请改用滚动拟合（walk_forward），使每篇文档由此前训练的模型打分。",
            ". Scores in sample are no test: fit step by step (walk_forward), so that each document is scored by a \
             model of the past.",
        ),
        Standing::Warned => (
            "。模型可能只是记得这些报道；请只计首次报道（first_only），并加大 [clean] window_days 或 embargo_days。",
            ". The model may recall these stories rather than read them: count first mentions alone (first_only), \
             with longer [clean] window_days or embargo_days.",
        ),
        _ => ("，不足为虑。", ", which is no cause for concern."),
    };
    joined(figures, meaning)
}

fn survivors(finding: &Survivors, standing: Standing) -> [String; 2] {
    let Survivors { names, ended, expected, .. } = finding;
    let (years, fewest) = (finding.context.years, finding.context.fewest);
    let [mut zh, mut en] = match standing {
        Standing::Skipped => [
            format!(
                "价格表（{names} 个代码，{years:.1} 年）没有退市的代码，按 A 股的退市率预计只有 {expected:.1} 个，\
                 表太小或太短，无从判断。"
            ),
            format!(
                "No name of the price table ({names} names, {years:.1} years) was delisted, but at the rate of A \
                 shares only {expected:.1} would be: the table is too small or too short to tell."
            ),
        ],
        Standing::Warned => [
            format!(
                "价格表（{names} 个代码，{years:.1} 年）只有 {ended} 个代码在表结束前退市，\
                 按 A 股的退市率应约有 {expected:.0} 个，至少 {fewest} 个：样本很可能只留下了存活至今的公司，\
                 因子的表现因此偏好。请补上已退市代码的价格。"
            ),
            format!(
                "{ended} names of the price table ({names} names, {years:.1} years) end before it does, where A shares \
                 would have some {expected:.0} and no fewer than {fewest}: it probably holds survivors alone, on \
                 which any factor looks better. Add the prices of delisted names."
            ),
        ],
        _ => [
            format!(
                "价格表（{names} 个代码，{years:.1} 年）\
                 有 {ended} 个代码在表结束前退市（按 A 股的退市率约 {expected:.1} 个），并非只有幸存者。"
            ),
            format!(
                "{ended} names of the price table ({names} names, {years:.1} years) end before it does (at the rate of \
                 A shares some {expected:.1} would), so it does not hold survivors alone."
            ),
        ],
    };
    let percent = 100.0 * finding.through;
    zh += &format!("贯穿全表的代码占 {percent:.0} %。");
    en += &format!(" {percent:.0} % of the names live through the whole table.");
    [zh, en]
}

fn loaded_at_once(finding: &Ingestion) -> [String; 2] {
    let (known, days) = (finding.signals.saturating_sub(finding.without_ingestion_time), finding.context.load);
    [
        format!(
            "全部 {known} 条记录在 {days} 日之内一次性入库，入库时间说明不了当时是否已有这些文本，\
             此项无从判断；请向来源索取当时的版本。"
        ),
        format!(
            "All {known} signals came with one load within {days} days, so times of ingestion do not say what was \
             there when, and this cannot be told; ask the vendor for point-in-time versions."
        ),
    ]
}

fn none_late(finding: &Ingestion) -> [String; 2] {
    let (known, days) = (finding.signals.saturating_sub(finding.without_ingestion_time), finding.context.restated);
    [
        format!("{known} 条记录均在发布后 {days} 日之内入库，没有事后补录。"),
        format!("All {known} signals were ingested within {days} days of their publication: none was delivered later."),
    ]
}

fn none_in_time(finding: &Ingestion) -> [String; 2] {
    let (percent, days) = (100.0 * finding.share_late, finding.context.restated);
    [
        format!(
            "{percent:.1} % 的记录在发布 {days} 日之后才入库，去掉它们便没有可算 RankIC 的日期：\
             结果全靠事后入库的文本。请索取当时的版本。"
        ),
        format!(
            "{percent:.1} % of the signals were ingested more than {days} days after publication, and without them no \
             date has a RankIC: the result rests on texts that came later. Ask for point-in-time versions."
        ),
    ]
}

fn restated(finding: &Restated, standing: Standing) -> [String; 2] {
    let Restated { ingestion, rank_ic_without: left, loss } = finding;
    let (percent, days) = (100.0 * ingestion.share_late, ingestion.context.restated);
    let (rank_ic, p) = (loss.rank_ic, loss.p);
    let figures = [
        format!(
            "{percent:.1} % 的记录在发布 {days} 日之后才入库；去掉它们，RankIC 从 {rank_ic:+.4} 变为 {left:+.4}（p = {p:.3}）"
        ),
        format!(
            "{percent:.1} % of the signals were ingested more than {days} days after publication; without them the \
             RankIC goes from {rank_ic:+.4} to {left:+.4} (p = {p:.3})"
        ),
    ];
    let meaning = match standing {
        Standing::Warned => (
            "。结果依赖这些可能事后改写或挑选过的文本；请索取当时的版本，或将其剔除。",
            ". The result hangs on texts that may have been rewritten or chosen afterwards: ask for point-in-time \
             versions, or leave them out.",
        ),
        _ => ("，结果并不依赖它们。", ", so the result does not hang on them."),
    };
    joined(figures, meaning)
}

//! Sentences on the verdicts of an audit. `{name}` stands for a figure of the verdict.

use inkstone_base::figures::{count, number, percent, probability, rank_ic, ratio};
use inkstone_base::language::{Language, Word};
use inkstone_lab::audit::{AuditCase, AuditCheck, AuditVerdict, Measured};

/// Name of a check.
pub fn audit_check_name(check: AuditCheck) -> Word {
    match check {
        AuditCheck::SameDay => Word("当日收益", "return of the same day"),
        AuditCheck::BarsAhead => Word("数值超前", "values ahead of their date"),
        AuditCheck::KnownAt => Word("可知时间", "known before the trade"),
        AuditCheck::Documents => Word("文档时间", "times of documents"),
        AuditCheck::Survivors => Word("幸存者偏差", "survivors alone"),
        AuditCheck::Untradable => Word("无法成交", "names that could not be traded"),
        AuditCheck::TrainTest => Word("训练与测试的日期", "dates of training and test"),
        AuditCheck::OverlappingReturns => Word("重叠收益的 t 值", "t of overlapping returns"),
        AuditCheck::StatedReturns => Word("自带的收益", "returns that the result states"),
        AuditCheck::CutFuture => Word("截断未来", "values without the future"),
        AuditCheck::Selected => Word("择优", "best of several"),
        AuditCheck::Flipped => Word("方向翻转", "turned sign"),
        AuditCheck::Duplicates => Word("重复", "duplicates"),
        AuditCheck::Costs => Word("成本", "costs"),
        AuditCheck::Reproduced => Word("复现", "reproduction of the claim"),
        AuditCheck::Window => Word("缺失的日期与股票", "dates and names left out"),
    }
}

/// Sentences on a verdict: what was found, why it matters and the way out; Chinese, English.
pub fn audit_sentences(verdict: &AuditVerdict) -> [String; 2] {
    Language::ALL.map(|language| filled(sentence(verdict.case).to(language), verdict))
}

/// The text with the figures of the verdict in their places.
fn filled(template: &str, verdict: &AuditVerdict) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        text += before;
        text += &verdict.figures.get(name).map_or_else(|| "–".to_owned(), measured);
        rest = after;
    }
    text + rest
}

/// A figure as it is written.
fn measured(figure: &Measured) -> String {
    match figure {
        Measured::Correlation(value) => rank_ic(*value),
        Measured::Share(value) => percent(*value),
        Measured::Ratio(value) => ratio(*value),
        Measured::Probability(value) if value.is_nan() => number(*value, 3),
        Measured::Probability(value) => probability(*value),
        Measured::Count(value) => count(*value),
        Measured::Text(text) => text.clone(),
    }
}

fn sentence(case: AuditCase) -> Word {
    match case {
        AuditCase::TooFewDates => Word(
            "只有 {dates} 个日期有至少 {least_names} 只股票的数值，此项需要 {least_dates} 个；请给更长的样本。",
            "{dates} dates have values of {least_names} names or more, and this needs {least_dates}; give a longer sample.",
        ),
        AuditCase::SameDayClaimed => Word(
            "宣称的 {claimed} 只有用数值所在日期的收益（{trade}）才能复现：收益开始时数值尚未可知。可交易的收益上 RankIC 为 {honest}。请从收盘之后的下一次交易算起。",
            "The claimed {claimed} is reproduced only by returns of the value's own date ({trade}), which begin before the value is known. On returns that \
             can be traded the RankIC is {honest}. Count from the next trade after the close.",
        ),
        AuditCase::SameDayTraded => Word(
            "声明的交易（{trade}）开始时，{late} 的数值尚未可知：数值在所在日期收盘时才可知。可交易的收益上 RankIC 为 {honest}。请设 delay=1，或给出 known_at 列。",
            "The stated trade ({trade}) begins before {late} of the values are known, which is at the close of their date. On returns that can be traded the \
             RankIC is {honest}. Trade a day later (delay=1), or give a column known_at.",
        ),
        AuditCase::SameDayKnown => Word(
            "known_at 称 {early} 的数值在当日开盘前已知，但它们与当日收益的 RankIC 高达 {same_day}，与次日收益只有 {next_day}：开盘前不可能知道这么多。请核对 known_at。",
            "known_at says that {early} of the values were known before the open of their date, but their RankIC with the return of that day is {same_day} and \
             with that of the next day {next_day}: nobody knows that much before the open. Check known_at.",
        ),
        AuditCase::SameDayWide => Word(
            "与当日收益的 RankIC 为 {same_day}，与次日收益为 {next_day}：数值多在描述已经发生的涨跌。这本身不是作弊，但日期错开一天就会变成未来信息。",
            "The RankIC with the return of the same day is {same_day}, with that of the next day {next_day}: the values mostly describe moves that have happened. \
             That is no fraud, but becomes one where dates slip by a day.",
        ),
        AuditCase::SameDayFine => Word(
            "与当日收益的 RankIC 为 {same_day}，与次日收益为 {next_day}，没有明显差距。",
            "The RankIC with the return of the same day is {same_day}, with that of the next day {next_day}: no wide gap.",
        ),
        AuditCase::AheadFraud => Word(
            "数值含有其日期之后 {bars} 日的收益：与该日收益的 RankIC 为 {next}（t = {t}），再晚一日只剩 {after}。常见原因是 shift(-1) 或日期记早了一天。请把数值后移 {bars} 日再测。",
            "The values hold returns of {bars} day(s) after their date: the RankIC with the return of that day is {next} (t = {t}), and a day later {after}. \
             A shift(-1) or dates written a day early do this. Move the values {bars} day(s) later and test again.",
        ),
        AuditCase::AheadExplained => Word(
            "与数值之后第 {bars} 日收益的 RankIC 为 {next}（t = {t}），再晚一日为 {after}。按结果剔除格子（见下）也会造成这样的断崖，数值本身是否超前要补全之后才能判断。",
            "The RankIC with the return of day {bars} after the value is {next} (t = {t}), and a day later {after}. Cells left out by their result, named below, make such a \
             cliff too; only with all values can it be told whether the values are ahead.",
        ),
        AuditCase::AheadFine => Word(
            "与次日收益的 RankIC 为 {next}，再晚一日为 {after}：没有断崖，看不出数值含有未来的收益。",
            "The RankIC with the return of the next day is {next}, a day later {after}: no cliff, and no sign that values hold returns of the future.",
        ),
        AuditCase::KnownLate => Word(
            "{late} 个数值（{share}）在其交易（{trade}）开始之后才可知。请推迟交易，或剔除这些数值。",
            "{late} values ({share}) were known only after their trade ({trade}) had begun. Trade later, or leave them out.",
        ),
        AuditCase::KnownFine => {
            Word("所有数值在其交易（{trade}）之前已知。", "All values were known before their trade ({trade}).")
        }
        AuditCase::KnownAbsent => Word(
            "没有 known_at 列，数值按所在日期 15:00:00 可知处理，无法核对；请给出 known_at。",
            "There is no column known_at: values were taken as known at 15:00:00 of their date, and this could not be tested. Give known_at.",
        ),
        AuditCase::BeforeDocuments => Word(
            "{values} 个数值中有 {before} 个（{share}）早于该股票的第一篇文档：当时没有任何文本可读。请检查文档的发布时间与数值的日期。",
            "{before} of {values} values ({share}) stand before the first document of their name: there was no text to read. Check the times of publication \
             and the dates of the values.",
        ),
        AuditCase::BesideDocuments => Word(
            "新数值中只有 {own} 在当日有文档，却有 {next} 在次日才有：数值早了一天。请按发布时间与 15:00:00 归日。",
            "Of the new values {own} have a document of their day, but {next} have one only a day later: the values stand a day early. Give dates by the \
             time of publication and 15:00:00.",
        ),
        AuditCase::DocumentsFine => Word(
            "{values} 个数值都不早于其股票的第一篇文档（共 {documents} 篇）。",
            "None of {values} values stands before the first document of its name ({documents} documents).",
        ),
        AuditCase::DocumentsAbsent => Word(
            "没有给出文档，此项未检查；用 --documents 给出代码与发布时间。",
            "No documents were given, so this was not tested; give codes and times of publication by --documents.",
        ),
        AuditCase::SurvivorsOnly => Word(
            "期间行情中有 {ended} 只股票终止，其中只有 {ended_covered} 只有数值，而其余股票有 {living_share} 有数值（p = {p}）：股票池是事后挑的幸存者。请用当时的股票池。",
            "{ended} names of the prices ended, and {ended_covered} of them have values, against {living_share} of all others (p = {p}): the universe was chosen \
             among survivors. Take the universe of each date.",
        ),
        AuditCase::SurvivorsInPrices => Word(
            "行情表中几乎没有终止的股票（{names} 只中 {ended} 只），少于退市率应有的数目：行情本身可能只有幸存者。请用含退市股票的行情。",
            "Of {names} names of the prices {ended} ended, fewer than delistings would have it: the prices themselves may be of survivors alone. Give prices \
             with delisted names.",
        ),
        AuditCase::SurvivorsFine => Word(
            "期间终止的 {ended} 只股票中有 {ended_covered} 只有数值，与其余股票（{living_share}）相比并不异常（p = {p}）。",
            "Of {ended} names that ended {ended_covered} have values, which is not unusual beside all others ({living_share}; p = {p}).",
        ),
        AuditCase::SurvivorsUnknown => Word(
            "期间行情中没有股票终止，无法判断；请用含退市股票的行情。",
            "No name of the prices ended in this time, so this could not be tested; give prices with delisted names.",
        ),
        AuditCase::UntradableProfit => Word(
            "最高与最低五分之一的收益差（{trade}）为 {spread} 个基点，去掉入场日停牌或封板的股票后剩 {tradable}：{share} 的收益来自无法成交的股票（占 {blocked}，t = {t}）。请在入场日剔除它们。",
            "The spread of the highest and lowest fifth ({trade}) is {spread} basis points; without names that were suspended or locked at the limit on the day \
             of entry it is {tradable}: {share} of it comes from names that could not be traded ({blocked} of all, t = {t}). Leave them out on the day of entry.",
        ),
        AuditCase::UntradableFine => Word(
            "最高与最低五分之一的收益差（{trade}）为 {spread} 个基点，去掉入场日无法成交的股票（占 {blocked}）后为 {tradable}。",
            "The spread of the highest and lowest fifth ({trade}) is {spread} basis points, and {tradable} without names that could not be traded on the day of entry \
             ({blocked} of all).",
        ),
        AuditCase::UntradableNothing => Word(
            "最高与最低五分之一之间没有显著的收益差（{spread} 个基点），无从分解。",
            "The highest and lowest fifth have no clear spread ({spread} basis points), so there is nothing to take apart.",
        ),
        AuditCase::TrainedOnTest => Word(
            "{rows} 个测试行中有 {inside} 落在模型训练的日期之内。请只用训练截止之后的日期作测试。",
            "{inside} of {rows} test rows lie on dates that their model was trained on. Test on dates after the training ends.",
        ),
        AuditCase::TrainLabelsReach => Word(
            "{rows} 个测试行中有 {reached} 离训练截止不足 {days} 日：训练标签的收益已延伸到测试期。请留出 {days} 日的间隔。",
            "{reached} of {rows} test rows lie less than {days} days after the training ends: returns of training labels reach into the test. Leave a gap of \
             {days} days.",
        ),
        AuditCase::TrainFine => Word(
            "{rows} 个测试行都在训练截止及其标签（{days} 日）之后。",
            "All {rows} test rows lie after the end of the training and of its labels ({days} days).",
        ),
        AuditCase::TrainUnknown => Word(
            "没有 split 或 train_end 列，训练与测试的界线无从得知；请给出其一。",
            "There is no column split or train_end, so the border of training and test is not known; give one of them.",
        ),
        AuditCase::OverlapClaimed => Word(
            "宣称的 t = {claimed} 把重叠的 {horizon} 日收益当作相互独立（如此计算为 {plain}）；Newey-West 的 t 为 {newey_west}。请用后者。",
            "The claimed t = {claimed} takes overlapping returns over {horizon} days for independent ones (so counted it is {plain}); the t of Newey and West \
             is {newey_west}. Take the latter.",
        ),
        AuditCase::OverlapWide => Word(
            "{horizon} 日收益相互重叠：按独立计算 t = {plain}，Newey-West 为 {newey_west}。引用时请用后者。",
            "Returns over {horizon} days overlap: t is {plain} if they were independent, {newey_west} after Newey and West. Quote the latter.",
        ),
        AuditCase::OverlapFine => Word(
            "{horizon} 日收益：按独立计算 t = {plain}，Newey-West 为 {newey_west}。",
            "Returns over {horizon} days: t is {plain} if they were independent, {newey_west} after Newey and West.",
        ),
        AuditCase::OverlapNone => {
            Word("持有期为 1 日，收益不重叠。", "The holding period is one day, and returns do not overlap.")
        }
        AuditCase::StatedEarly => Word(
            "列 {column} 的收益是 {trade}：在数值可知之前就已开始。与它的 RankIC 为 {stated}。请改用收盘之后开始的收益。",
            "The returns of column {column} are those of {trade}, which begin before the values are known. The RankIC with them is {stated}. Take returns that begin \
             after the close.",
        ),
        AuditCase::StatedOther => Word(
            "列 {column} 的收益与行情对不上：最接近的是 {trade}，秩相关只有 {likeness}。与它的 RankIC 为 {stated}，与行情收益为 {prices}。请说明这些收益的来源。",
            "The returns of column {column} are not those of the prices: {trade} is the nearest, with a rank correlation of {likeness}. The RankIC with them is {stated}, \
             with returns of the prices {prices}. Say where they come from.",
        ),
        AuditCase::StatedAltered => Word(
            "列 {column} 的收益（{trade}）有 {differ} 与行情不同，而且有利于结果：RankIC 为 {stated}，按行情为 {prices}。请用行情重算收益。",
            "{differ} of the returns of column {column} ({trade}) differ from the prices, to the result's advantage: the RankIC is {stated}, and {prices} by the \
             prices. Compute the returns from the prices.",
        ),
        AuditCase::StatedAtClose => Word(
            "列 {column} 的收益（{trade}）与行情一致，但以数值刚可知时的收盘价买入，实际做不到；诚实的一栏推迟了交易。",
            "The returns of column {column} ({trade}) are those of the prices, but buy at the very close at which the values become known; the honest figures trade later.",
        ),
        AuditCase::StatedDiffer => Word(
            "列 {column} 的收益（{trade}）有 {differ} 与行情不同，但没有因此得利：RankIC 为 {stated}，按行情为 {prices}。可能是复权方式不同。",
            "{differ} of the returns of column {column} ({trade}) differ from the prices, to no advantage: the RankIC is {stated}, and {prices} by the prices. Another \
             adjustment of prices does this.",
        ),
        AuditCase::StatedFine => Word(
            "列 {column} 的收益即行情的 {trade}（RankIC {stated}）。",
            "The returns of column {column} are those of the prices over {trade} (RankIC {stated}).",
        ),
        AuditCase::StatedAbsent => Word("结果没有自带收益或标签。", "The result states no returns or labels."),
        AuditCase::ChangedSince => Word(
            "与较早的版本相比，{dates} 个共同日期的 {common} 个数值中有 {share} 已经改变（秩相关 {likeness}）：数值用到了其日期之后的数据。请逐日计算并保存。",
            "Of {common} values on {dates} common dates {share} have changed since the earlier version (rank correlation {likeness}): they were made with data \
             after their date. Compute and keep the values of each day.",
        ),
        AuditCase::EarlierFine => Word(
            "与较早的版本相比，{dates} 个共同日期的 {common} 个数值都没有改变。",
            "None of {common} values on {dates} common dates has changed since the earlier version.",
        ),
        AuditCase::EarlierDisjoint => Word(
            "与较早的版本没有共同的日期和股票，无法比较。",
            "The earlier version has no dates and names in common, so they could not be compared.",
        ),
        AuditCase::ScaledByName => Word(
            "{names} 的股票在全样本上恰好均值为 0、标准差为 1，或恰好从 0 到 1：每个数值都用了该股票以后的数值来缩放，同一日内的次序因此改变。请只用当日截面或过去的数据标准化。",
            "{names} of the names have, over the whole sample, exactly the mean 0 and the deviation 1, or run exactly from 0 to 1: every value was scaled by later \
             values of its name, which changes the order within a date. Scale by the names of the date, or by the past.",
        ),
        AuditCase::ScaledAsWhole => Word(
            "全部数值合在一起恰好标准化（均值 {mean}，标准差 {deviation}）或等距排名：缩放用到了未来，但不改变同一日内的次序。实盘无法得到这些数值。",
            "All values together are exactly standardised (mean {mean}, deviation {deviation}) or evenly ranked: the scaling used the future, though it does not change \
             the order within a date. Nobody could have had these values.",
        ),
        AuditCase::ScaledFine => Word(
            "没有全样本标准化的痕迹（{names} 的股票、{dates} 的日期恰好标准化）；用 --earlier 给出较早的版本可以确证。",
            "There is no mark of a scaling over the whole sample ({names} of the names, {dates} of the dates are exactly standardised); an earlier version \
             (--earlier) would prove it.",
        ),
        AuditCase::SelectedLuck => Word(
            "{column} 是 {tried} 个之一（{better} 个更好）。其 ICIR 为 {icir}，毫无本领的 {tried} 个中最好的也可望有 {expected}：显著性从 {plain} 降为 {deflated}，过拟合概率 {overfitting}。请在未用于挑选的日期上测试。",
            "{column} is one of {tried} that were tried ({better} are better). Its ICIR is {icir}, and the best of {tried} without skill is expected to have {expected}: \
             its probability falls from {plain} to {deflated}; the probability of overfitting is {overfitting}. Test it on dates that it was not chosen on.",
        ),
        AuditCase::SelectedWeak => Word(
            "{column} 是 {tried} 个之一，ICIR 为 {icir}：计入尝试次数后显著性为 {deflated}（不计为 {plain}），不足以与运气区分。",
            "{column} is one of {tried} that were tried, with an ICIR of {icir}: after the number of trials its probability is {deflated} ({plain} without), which \
             is not told from luck.",
        ),
        AuditCase::SelectedFine => Word(
            "计入 {tried} 次尝试后，{column} 的显著性仍为 {deflated}（ICIR {icir}，运气可望 {expected}）。",
            "After {tried} trials the probability of {column} is still {deflated} (ICIR {icir}; luck would have {expected}).",
        ),
        AuditCase::SelectedUnknown => Word(
            "不知道尝试过多少个结果，无法折减；用 --tried 给出次数或存放结果的文件夹。",
            "It is not known how many results were tried; give the number, or the folder of the results, by --tried.",
        ),
        AuditCase::SelectedNothing => {
            Word("算得出 RankIC 的日期太少，无法折减。", "Too few dates have a RankIC to account for trials.")
        }
        AuditCase::FlippedSign => Word(
            "股票的次序通常逐日延续（秩相关 {typical}），却在 {turns} 个日期整体颠倒（首次 {first}）：方向中途翻转过。翻转后 RankIC 的 t 为 {t}，方向不变则为 {one_sign}。请全程使用同一方向，或说明当时如何得知该翻转。",
            "The order of the names lasts from date to date (rank correlation {typical}), but turns round on {turns} date(s), first on {first}: the sign was turned. \
             So turned the t of the RankIC is {t}, with one sign {one_sign}. Keep one sign, or say how the turn was known at the time.",
        ),
        AuditCase::FlippedFine => Word(
            "股票的次序逐日延续（秩相关 {typical}），方向从未翻转。",
            "The order of the names lasts from date to date (rank correlation {typical}), and the sign never turns.",
        ),
        AuditCase::FlippedUnknown => Word(
            "相邻日期的秩相关只有 {typical}，方向是否翻转无从看出。",
            "The rank correlation of one date with the next is {typical}, too low to follow the sign.",
        ),
        AuditCase::CopiedNames => Word(
            "{names} 只股票中有 {copied} 只的整个序列与另一只完全相同（如 {example}）。请删去复制的数值。",
            "{copied} of {names} names have the very series of another name (as {example}). Remove the copies.",
        ),
        AuditCase::RepeatedRows => Word(
            "{repeated} 行与另一行的日期和代码相同，其中 {conflicting} 行数值不同；审计只取第一行。请每个日期和代码只留一行。",
            "{repeated} rows have the date and code of another row, {conflicting} of them with another value; the audit takes the first. Keep one row a date and code.",
        ),
        AuditCase::FrozenDates => Word(
            "全部数值最长连续 {longest} 个日期不变（{frozen} 的日期与前一日相同）：可能停止了更新。",
            "All values stand still for up to {longest} dates in a row ({frozen} of the dates equal the one before): updates may have stopped.",
        ),
        AuditCase::DuplicatesFine => Word(
            "没有重复的行，{names} 只股票的序列各不相同。",
            "No row is repeated, and the series of {names} names differ.",
        ),
        AuditCase::CostsLeftOut => Word(
            "宣称的数字是成本之前的：多空组合的夏普比率成本前为 {gross}，成本后（买 {open_bps}、卖 {close_bps} 个基点，日换手 {turnover}）为 {net}。请报告成本后的数字。",
            "The claim is one before costs: the Sharpe ratio of the long-short portfolio is {gross} before and {net} after costs ({open_bps} basis points to buy, \
             {close_bps} to sell, turnover {turnover} a day). State figures after costs.",
        ),
        AuditCase::CostsBeyond => Word(
            "宣称的收益或夏普比率高于多空组合成本前的数字（夏普 {gross}、年化 {gross_return}；成本后 {net}、{net_return}）。组合的构成可能不同；请说明持有哪些股票、如何加权、何时调仓。",
            "The claimed return or Sharpe ratio is above that of the long-short portfolio before costs (Sharpe {gross}, {gross_return} a year; after costs {net}, {net_return}). \
             Another portfolio does this; say which names are held, by which weights, and when they are changed.",
        ),
        AuditCase::CostsEat => Word(
            "成本吃掉全部收益：多空组合年化 {gross_return}，成本后 {net_return}（日换手 {turnover}）。请降低换手。",
            "Costs eat all of the return: the long-short portfolio earns {gross_return} a year before and {net_return} after costs (turnover {turnover} a day). \
             Trade less.",
        ),
        AuditCase::CostsFine => Word(
            "多空组合的夏普比率成本前为 {gross}，成本后为 {net}（日换手 {turnover}）。",
            "The Sharpe ratio of the long-short portfolio is {gross} before and {net} after costs (turnover {turnover} a day).",
        ),
        AuditCase::CostsNothing => Word("没有可计算的组合。", "There is no portfolio to take costs from."),
        AuditCase::NotReproduced => Word(
            "宣称的 {claimed} 用这些行情在任何常见的对齐方式下都无法复现：最接近的是 {nearest}（{trade}），诚实的为 {honest}。请给出所用的行情、对齐方式和样本。",
            "The claimed {claimed} is found under no alignment in use with these prices: the nearest is {nearest} ({trade}), the honest one {honest}. Give the prices, \
             the alignment and the sample that it was found with.",
        ),
        AuditCase::ReproducedAhead => Word(
            "宣称的 {claimed} 只能以上面已点名的方式复现（最接近 {nearest}，{trade}）；诚实的为 {honest}。",
            "The claimed {claimed} is reproduced only in a way that is named above (the nearest is {nearest}, {trade}); the honest one is {honest}.",
        ),
        AuditCase::ReproducedFine => Word(
            "宣称的 {claimed} 可以复现：最接近的是 {nearest}（{trade}），诚实的为 {honest}。",
            "The claimed {claimed} is reproduced: the nearest is {nearest} ({trade}), the honest one {honest}.",
        ),
        AuditCase::ReproducedNothing => Word(
            "没有宣称 IC 或 RankIC，无可复现；用 --claim 给出。",
            "No IC or RankIC is claimed, so there is nothing to reproduce; give it by --claim.",
        ),
        AuditCase::LosersLeftOut => Word(
            "{share} 的格子缺失（其中 {gaps} 个日期整日缺失）。若沿用各股票此前的数值，缺失处的相关为 {missing}（t = {t}），保留处为 {present}：被剔除的正是会亏损的。请补全数值。",
            "{share} of the cells are missing ({gaps} whole dates among them). With the last value of each name they would have a correlation of {missing} (t = {t}), \
             those kept have {present}: what was left out would have lost. Give all values.",
        ),
        AuditCase::WindowFine => Word(
            "{share} 的格子缺失；沿用此前的数值，缺失处的相关为 {missing}，保留处为 {present}，看不出挑选。",
            "{share} of the cells are missing; with the last value of each name they have a correlation of {missing}, those kept {present}: no sign of a choice.",
        ),
        AuditCase::WindowNone => Word("没有缺失的日期或股票。", "No date or name is missing."),
    }
}

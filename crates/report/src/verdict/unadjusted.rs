//! Sentences on returns that go across a change of the adjustment of prices.

use inkstone_lab::lint::finding::Unadjusted;

pub(super) fn sentences(finding: &Unadjusted) -> [String; 2] {
    let Unadjusted { breaks, changes_of_the_grid, falls, values_across, deepest } = finding;
    let (mut zh, mut en) = (Vec::new(), Vec::new());
    if let Some(first) = breaks.first() {
        zh.push(format!("{first} 大批代码同时越出涨跌停幅度"));
        en.push(format!("on {first} many names move beyond their daily limit at once"));
    }
    if let Some(first) = changes_of_the_grid.first() {
        zh.push(format!("{first} 起大批代码的价格同时由非整分变为整分"));
        en.push(format!("from {first} on the prices of many names are whole cents, which they were not before"));
    }
    if *falls > 0 {
        let [of_zh, of_en] = deepest.as_ref().map_or([String::new(), String::new()], |fall| {
            let (code, date, change) = (&fall.code, &fall.date, 100.0 * fall.change);
            [format!("（最深：{code} {date} {change:.1} %）"), format!(" (deepest: {code} {change:.1} % on {date})")]
        });
        zh.push(format!("有 {falls} 次单日跌破跌停幅度，与未复权的除权一致{of_zh}"));
        en.push(format!(
            "{falls} times a name falls below its daily limit, as shares do that go ex rights without adjustment{of_en}"
        ));
    }
    if zh.is_empty() {
        return [
            "价格表中没有复权中断或未复权除权的迹象。".to_owned(),
            "The prices show no sign of a change of adjustment or of shares that go ex rights without it.".to_owned(),
        ];
    }
    let advice = if *values_across > 0 {
        [
            format!(
                "因子有 {values_across} 个值的收益跨过这些日子，这些收益不是真实的盈亏；请换用从头到尾同一方式复权的价格。"
            ),
            format!(
                "The returns of {values_across} values of the factor go across such days, and are nobody's gain or loss: give prices that \
                 one adjustment covers from the first row to the last."
            ),
        ]
    } else {
        [
            "因子没有任何值的收益跨过这些日子。".to_owned(),
            "No value of the factor has a return that goes across such a day.".to_owned(),
        ]
    };
    let [zh_end, en_end] = advice;
    let mut en = en.join("; ");
    if let Some(first) = en.get(..1).map(str::to_uppercase) {
        en.replace_range(..1, &first);
    }
    [format!("{}。{zh_end}", zh.join("；")), format!("{en}. {en_end}")]
}

//! Sentences on fields of documents that were known when a page was crawled.

use inkstone_lab::lint::finding::{CrawledColumn, CrawledFields};

pub(super) fn sentences(finding: &CrawledFields) -> [String; 2] {
    if finding.fields.is_empty() {
        return [
            "因子没有用到抓取页面时才有的字段。".to_owned(),
            "The factor reads no field that was known only when a page was crawled.".to_owned(),
        ];
    }
    let zh =
        |CrawledColumn { field, source, column }: &CrawledColumn| format!("来源“{source}”的 {field} 取自“{column}”列");
    let en = |CrawledColumn { field, source, column }: &CrawledColumn| {
        format!("{field} of source {source:?} is column {column:?}")
    };
    let (zh, en): (Vec<String>, Vec<String>) = finding.fields.iter().map(|field| (zh(field), en(field))).unzip();
    [
        format!(
            "{}：这类列是抓取时的数值（累计阅读数、当日涨跌幅），发布时还没有。请去掉这个字段，或换成发布时的数值。",
            zh.join("；")
        ),
        format!(
            "{}: such a column holds what was known when the page was crawled (readers so far, the price change of the day), not when it \
             was published. Leave the field out, or give its values of the time of publication.",
            en.join("; ")
        ),
    ]
}

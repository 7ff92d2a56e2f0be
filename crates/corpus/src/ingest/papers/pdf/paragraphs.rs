//! Fragments of one column become lines of text: rows of tables with a space between cells, paragraphs joined to one line.
//!
//! A line goes on in the next one when it reaches the right edge of its column, which other lines reach too, and the next has
//! its size, stands at the usual distance, is not indented and begins nothing new (a bullet, a heading in brackets, a caption).

use std::sync::LazyLock;

use regex::Regex;

use super::fragments::Fragment;
use crate::ingest::papers::letters::is_symbol_font;

/// Beginnings of a line of its own, whatever stands before it.
static FRESH: LazyLock<Regex> = LazyLock::new(|| {
    let form = r"^(?:[◆◇●○■□▪▫▶►➢➤➔•※★☆✓✔❖]|【|图表?\s*\d|表\s*\d|(?:资料|数据)来源|注[：:]|附录|风险提示[：:])";
    Regex::new(form).expect("a valid expression")
});
/// Beginnings of an item unless the line before it stops in the middle of a sentence.
static ITEM: LazyLock<Regex> = LazyLock::new(|| {
    let form = r"^(?:[一二三四五六七八九十]{1,3}、|[（(][一二三四五六七八九十\d]{1,3}[)）]|\d{1,2}(?:、|[.．)）]\s*[^\d\s])|[①-⑳])";
    Regex::new(form).expect("a valid expression")
});
/// A short name and its value, as in the columns of contacts and key figures.
static LABELLED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[^，。；：:]{2,10}[：:]").expect("a valid expression"));

/// Neighbouring rows in which the right edge of a row's column is looked for.
const NEIGHBOURS: usize = 8;

/// Fragments on one baseline.
#[derive(Clone, Debug)]
struct BaselineRow {
    text: String,
    x0: f32,
    x1: f32,
    y: f32,
    size: f32,
    /// True if it is one run of text, and no row of cells.
    prose: bool,
}

/// The lines of one column, whose fragments are in the order of their height.
pub(super) fn lines(fragments: &[Fragment]) -> Vec<String> {
    let rows = rows(fragments);
    let pitch = pitch_of(&rows);
    let mut lines: Vec<String> = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        match lines.last_mut() {
            Some(line) if goes_on(&rows, i - 1, pitch) => join(line, &row.text),
            _ => lines.push(row.text.clone()),
        }
    }
    lines
}

fn rows(fragments: &[Fragment]) -> Vec<BaselineRow> {
    let mut groups: Vec<Vec<&Fragment>> = Vec::new();
    for fragment in fragments {
        match groups.last_mut() {
            Some(group) if group[0].level_with(fragment) => group.push(fragment),
            _ => groups.push(vec![fragment]),
        }
    }
    let rows: Vec<BaselineRow> = groups.into_iter().filter_map(row).collect();
    let mut joined: Vec<BaselineRow> = Vec::with_capacity(rows.len());
    for row in rows {
        joined.push(row);
        if let [.., above, cells, below] = joined.as_slice()
            && let Some(row) = of_two_lines(above, cells, below)
        {
            joined.truncate(joined.len() - 3);
            joined.push(row);
        }
    }
    joined
}

/// A row of cells of which the first takes two lines, so that the others stand between these.
fn of_two_lines(above: &BaselineRow, cells: &BaselineRow, below: &BaselineRow) -> Option<BaselineRow> {
    let centred =
        (above.x0 + above.x1 - below.x0 - below.x1).abs() < 2.0 * above.size || (above.x0 - below.x0).abs() < 1.0;
    let close = below.y - above.y < 1.9 * above.size && cells.y > above.y && cells.y < below.y;
    let beside = cells.x0 >= above.x1.max(below.x1) && !cells.prose;
    (above.prose && below.prose && same_size(above, below) && centred && close && beside).then(|| {
        let mut text = above.text.clone();
        join(&mut text, &below.text);
        BaselineRow { text: format!("{text} {}", cells.text), x0: above.x0, ..cells.clone() }
    })
}

fn row(mut group: Vec<&Fragment>) -> Option<BaselineRow> {
    group.sort_by(|a, b| a.x0.total_cmp(&b.x0));
    let texts: Vec<String> = group.iter().map(|f| readable(&f.text)).collect();
    // The text behind a bullet is what the next line is aligned with.
    let bullet = group.len() > 1 && texts[0].chars().count() == 1 && FRESH.is_match(&texts[0]);
    let body = &group[usize::from(bullet)..];
    let text = texts.into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>().join(" ");
    let x1 = body.iter().map(|f| f.x1).fold(f32::MIN, f32::max);
    let Fragment { x0, y, size, .. } = *body[0];
    (!text.is_empty()).then_some(BaselineRow { text, x0, x1, y, size, prose: body.len() == 1 })
}

/// The text without characters of symbol fonts, except a bullet at the beginning.
fn readable(text: &str) -> String {
    let mut chars = text.trim().chars().peekable();
    let bullet = chars.peek().is_some_and(|c| is_symbol_font(*c));
    let rest: String = chars.filter(|c| !is_symbol_font(*c)).collect();
    match (bullet, rest.trim()) {
        (true, "") => "•".to_owned(),
        (true, rest) => format!("• {rest}"),
        (false, rest) => rest.to_owned(),
    }
}

/// The usual distance of baselines in running text, in ems of its lines.
fn pitch_of(rows: &[BaselineRow]) -> f32 {
    let alike = |w: &&[BaselineRow]| {
        w[0].prose && w[1].prose && same_size(&w[0], &w[1]) && (w[0].x0 - w[1].x0).abs() < w[0].size
    };
    let mut steps: Vec<f32> = rows.windows(2).filter(alike).map(|w| (w[1].y - w[0].y) / w[0].size).collect();
    steps.sort_by(f32::total_cmp);
    steps.get(steps.len() / 2).copied().unwrap_or(1.5)
}

fn same_size(a: &BaselineRow, b: &BaselineRow) -> bool {
    (a.size - b.size).abs() <= 0.12 * a.size.max(b.size)
}

/// True if row `i` goes on in the next one.
fn goes_on(rows: &[BaselineRow], i: usize, pitch: f32) -> bool {
    let (row, next) = (&rows[i], &rows[i + 1]);
    let near = next.y - row.y <= (1.3 * pitch).min(2.6) * row.size;
    let indent = next.x0 - row.x0;
    if !(row.prose && next.prose && same_size(row, next) && near && indent < 0.8 * row.size) {
        return false;
    }
    if FRESH.is_match(&next.text) {
        return false;
    }
    let around = rows[i.saturating_sub(NEIGHBOURS)..rows.len().min(i + NEIGHBOURS + 1)].iter();
    let beside: Vec<&BaselineRow> = around.filter(|r| r.prose && same_size(r, row)).collect();
    let edge = beside.iter().map(|r| r.x1).fold(f32::MIN, f32::max);
    let slack = 1.3 * row.size;
    let full = beside.iter().filter(|r| r.x1 >= edge - slack).count();
    if row.x1 < edge - slack || full < 2 || row.x1 - row.x0 < 6.0 * row.size {
        return false;
    }
    let stops = row.text.ends_with(['。', '！', '？', '；', '：', ':', ';', '!', '?']);
    let fresh = (ITEM.is_match(&next.text) && stops) || (LABELLED.is_match(&next.text) && (stops || full < 4));
    !fresh
}

/// Adds the text of a further line: with a space where words have them, without one between Han characters.
pub(super) fn join(line: &mut String, next: &str) {
    let (last, first) = (line.chars().next_back(), next.chars().next());
    let (Some(last), Some(first)) = (last, first) else {
        line.push_str(next);
        return;
    };
    let before = line.chars().rev().nth(1);
    if last == '-' && first.is_ascii_lowercase() && before.is_some_and(|c| c.is_ascii_alphabetic()) {
        line.pop();
    } else if last.is_ascii_graphic() && first.is_ascii_alphanumeric() && !matches!(last, '-' | '/' | '(') {
        line.push(' ');
    }
    line.push_str(next);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of 10 points, 16 apart, from the left ends given.
    fn column(rows: &[(f32, &str)]) -> Vec<Fragment> {
        let fragment = |(i, (x0, text)): (usize, &(f32, &str))| {
            let width: f32 = text.chars().map(|c| if c.is_ascii() { 5.0 } else { 10.0 }).sum();
            Fragment { text: (*text).into(), x0: *x0, x1: x0 + width, y: 50.0 + 16.0 * i as f32, size: 10.0 }
        };
        rows.iter().enumerate().map(fragment).collect()
    }

    #[test]
    fn lines_of_a_paragraph_join_without_a_space_between_han_characters() {
        let page = column(&[
            (70.0, "公司前三季度收入增长主要来自新产"),
            (50.0, "品放量，其中海外业务占比提升到 32bit"),
            (50.0, "MCU 等品类，毛利率同比改善明显。"),
            (70.0, "我们维持盈利预测不变，公司估值低"),
            (50.0, "于行业平均。"),
        ]);
        assert_eq!(
            lines(&page),
            [
                "公司前三季度收入增长主要来自新产品放量，其中海外业务占比提升到 32bit MCU 等品类，毛利率同比改善明显。",
                "我们维持盈利预测不变，公司估值低于行业平均。"
            ]
        );
    }

    #[test]
    fn bullets_headings_and_short_lines_stay_apart() {
        let mut page = column(&[
            (65.0, "产品结构优化明显，丰富车规级领域"),
            (65.0, "并且拓展工业客户"),
            (65.0, "下游需求不及预期，行业竞争加剧了"),
            (50.0, "【风险提示】"),
            (65.0, "新工艺良率提升周期长于预期的时间"),
        ]);
        let bullet = |y: f32| Fragment { text: "\u{f075}".into(), x0: 50.0, x1: 58.0, y, size: 10.0 };
        for i in [0, 2, 4] {
            page.insert(
                page.iter().position(|f| f.y == 50.0 + 16.0 * i as f32).unwrap(),
                bullet(50.0 + 16.0 * i as f32),
            );
        }
        assert_eq!(
            lines(&page),
            [
                "• 产品结构优化明显，丰富车规级领域并且拓展工业客户",
                "• 下游需求不及预期，行业竞争加剧了",
                "【风险提示】",
                "• 新工艺良率提升周期长于预期的时间"
            ]
        );
    }

    #[test]
    fn cells_of_a_row_have_a_space_between_them() {
        let cell = |text: &str, x0: f32, y: f32| Fragment { text: text.into(), x0, x1: x0 + 40.0, y, size: 10.0 };
        let page =
            [cell("项目", 50.0, 50.0), cell("2023A", 150.0, 50.5), cell("收入", 50.0, 66.0), cell("8.5", 150.0, 66.0)];
        assert_eq!(lines(&page), ["项目 2023A", "收入 8.5"]);
    }

    #[test]
    fn a_cell_of_two_lines_belongs_to_the_row_beside_it() {
        let cell = |text: &str, x0: f32, y: f32| Fragment { text: text.into(), x0, x1: x0 + 60.0, y, size: 10.0 };
        let mut page = vec![
            cell("归母净利润（百", 50.0, 50.0),
            cell("880", 150.0, 57.0),
            cell("910", 250.0, 57.0),
            cell("万元）", 50.0, 64.0),
        ];
        page.push(cell("增长率", 50.0, 82.0));
        page.push(cell("3.4", 150.0, 82.0));
        assert_eq!(lines(&page), ["归母净利润（百万元） 880 910", "增长率 3.4"]);
    }

    #[test]
    fn a_word_cut_by_a_hyphen_is_whole_again() {
        let joined = |a: &str, b: &str| {
            let mut line = a.to_owned();
            join(&mut line, b);
            line
        };
        assert_eq!(joined("semi-", "conductor"), "semiconductor");
        assert_eq!(joined("the", "market"), "the market");
        assert_eq!(joined("2023-", "2024"), "2023-2024");
        assert_eq!(joined("增长率为", "3%"), "增长率为3%");
        assert_eq!(joined("毛利率", "提升"), "毛利率提升");
    }
}

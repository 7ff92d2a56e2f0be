//! The title of a report: its largest text on the first page.

use super::fragments::Fragment;
use super::paragraphs::join;
use crate::ingest::papers::letters::is_han;

/// Size of a title as a multiple of running text, at the least.
const LARGER: f32 = 1.15;
/// Characters of a title at the most.
const LENGTH: usize = 120;

/// Texts in large letters on many first pages that are no title.
const BANNERS: [&str; 24] = [
    "证券研究报告",
    "研究报告",
    "公司研究",
    "公司点评",
    "公司报告",
    "公司深度",
    "公司深度报告",
    "公司点评报告",
    "深度报告",
    "点评报告",
    "动态报告",
    "跟踪报告",
    "行业研究",
    "行业深度",
    "行业点评",
    "行业报告",
    "宏观研究",
    "策略研究",
    "金融工程",
    "晨会纪要",
    "买入",
    "增持",
    "推荐",
    "中性",
];

/// Removes the title from the fragments of the first page.
pub(super) fn take(fragments: &mut Vec<Fragment>) -> Option<String> {
    let body = body_size(fragments)?;
    let mut candidates: Vec<usize> = (0..fragments.len()).filter(|i| is_title(&fragments[*i], body)).collect();
    let largest = candidates.iter().map(|i| fragments[*i].size).fold(0.0, f32::max);
    candidates.retain(|i| fragments[*i].size > 0.95 * largest);
    candidates.sort_by(|a, b| {
        fragments[*a].y.total_cmp(&fragments[*b].y).then(fragments[*a].x0.total_cmp(&fragments[*b].x0))
    });
    // One title may take several lines; what stands farther away is another text.
    let mut title = String::new();
    let mut last: Option<f32> = None;
    let mut used = Vec::new();
    for i in candidates {
        let fragment = &fragments[i];
        if last.is_some_and(|y| fragment.y - y > 2.2 * fragment.size) || title.chars().count() > LENGTH {
            break;
        }
        join(&mut title, fragment.text.trim());
        last = Some(fragment.y);
        used.push(i);
    }
    if title.is_empty() {
        return None;
    }
    let mut i = 0;
    fragments.retain(|_| {
        i += 1;
        !used.contains(&(i - 1))
    });
    Some(title)
}

/// The size of most characters.
fn body_size(fragments: &[Fragment]) -> Option<f32> {
    let mut sizes: Vec<(f32, usize)> = fragments.iter().map(|f| (f.size, f.text.chars().count())).collect();
    sizes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = sizes.iter().map(|s| s.1).sum::<usize>() / 2;
    let mut seen = 0;
    sizes
        .into_iter()
        .find(|(_, n)| {
            seen += n;
            seen > half
        })
        .map(|s| s.0)
}

fn is_title(fragment: &Fragment, body: f32) -> bool {
    let plain: String = fragment.text.chars().filter(|c| c.is_alphanumeric()).collect();
    let words = plain.chars().filter(|c| is_han(*c) || c.is_ascii_alphabetic()).count();
    fragment.size > LARGER * body
        && words >= 4
        && words * 2 > plain.chars().count()
        && fragment.text.chars().count() <= LENGTH
        && !BANNERS.contains(&plain.as_str())
}

/// The title of the document's properties, if a person gave it.
pub(in crate::ingest::papers) fn sensible(title: &str) -> Option<&str> {
    let title = title.trim();
    let lower = title.to_ascii_lowercase();
    let by_program = ["microsoft", "word -", "powerpoint", "untitled", "幻灯片", "新建", "文档1", "template"]
        .iter()
        .any(|w| lower.contains(w));
    let file_name =
        [".doc", ".docx", ".pdf", ".ppt", ".pptx", ".xls", ".xlsx", ".rtf", ".wps"].iter().any(|e| lower.ends_with(e));
    let words = title.chars().filter(|c| is_han(*c)).count() >= 4 || title.split_whitespace().count() >= 3;
    (words && !by_program && !file_name && title.chars().count() <= LENGTH && !BANNERS.contains(&title))
        .then_some(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(text: &str, y: f32, size: f32) -> Fragment {
        Fragment { text: text.into(), x0: 50.0, x1: 300.0, y, size }
    }

    #[test]
    fn the_largest_text_is_the_title_and_leaves_the_body() {
        let mut page = vec![
            fragment("证券研究报告", 40.0, 30.0),
            fragment("某某股份点评", 70.0, 12.0),
            fragment("订单充足，", 100.0, 22.0),
            fragment("产能释放可期", 128.0, 22.0),
            fragment("增持", 160.0, 24.0),
            fragment("正文一行正文一行正文一行正文一行正文一行正文一行正文一行", 200.0, 10.0),
            fragment("正文一行正文一行正文一行正文一行正文一行正文一行正文一行", 216.0, 10.0),
            fragment("目标价与评级的说明文字", 600.0, 22.0),
        ];
        assert_eq!(take(&mut page).as_deref(), Some("订单充足，产能释放可期"));
        assert_eq!(page.len(), 6);
        assert_eq!(take(&mut vec![fragment("正文", 10.0, 10.0), fragment("正文", 30.0, 10.0)]), None);
    }

    #[test]
    fn titles_that_programs_gave_are_none() {
        assert_eq!(sensible(" 订单充足，产能释放可期 "), Some("订单充足，产能释放可期"));
        for title in ["Microsoft Word - 报告模板最终版", "20240301.docx", "untitled", "研究报告", ""] {
            assert_eq!(sensible(title), None, "{title}");
        }
    }
}

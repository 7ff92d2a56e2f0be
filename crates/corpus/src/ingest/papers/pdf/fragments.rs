//! Glyphs become fragments: runs of text on one baseline without a wide gap, which are lines, cells of tables or parts of them.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::glyphs::Glyph;
use crate::ingest::papers::letters::is_wide;

/// A gap from which on glyphs are apart as words, in ems.
const WORD_GAP: f32 = 0.22;
/// A gap from which on glyphs belong to different fragments, in ems.
const CELL_GAP: f32 = 1.0;

/// Marks that leave half of their place empty.
const MARKS: [char; 10] = ['。', '，', '、', '；', '：', '）', '》', '”', '！', '？'];
/// Share of the page's width, on either side, where banners stand.
const EDGE: f32 = 0.12;
/// Characters of a banner at the least.
const BANNER: usize = 4;

/// Marks of report templates that were meant for a machine: `[Table_Summary]`.
static TEMPLATE_MARK: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\[[A-Z][A-Za-z]{2,20}_[A-Za-z0-9_]{1,30}\]").expect("a valid expression"));

/// A run of text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fragment {
    pub(super) text: String,
    /// Left edge of the first character and right edge of the last one, spaces at the ends not counted.
    pub(super) x0: f32,
    pub(super) x1: f32,
    /// Baseline.
    pub(super) y: f32,
    /// Height of an em, of most of its glyphs.
    pub(super) size: f32,
}

impl Fragment {
    pub(super) fn width(&self) -> f32 {
        self.x1 - self.x0
    }

    /// True if both stand on one baseline.
    pub(super) fn level_with(&self, other: &Fragment) -> bool {
        (self.y - other.y).abs() <= 0.35 * self.size.min(other.size)
    }
}

/// The fragments of a page, by height.
pub(super) fn fragments(glyphs: &[Glyph], page_width: f32) -> Vec<Fragment> {
    let mut open: Option<Open> = None;
    let mut all = Vec::new();
    let hidden = template_marks(glyphs);
    for (i, glyph) in glyphs.iter().enumerate() {
        if hidden.iter().any(|range| range.contains(&i)) {
            continue;
        }
        let blank = glyph.text.chars().all(|c| c.is_whitespace() || c.is_control() || c == '\u{feff}');
        if blank {
            // The width of a space shows what it separates; here it only says that words may be apart.
            open.iter_mut().for_each(|o| o.space |= !glyph.text.is_empty());
            continue;
        }
        match &mut open {
            Some(fragment) if fragment.goes_on_with(glyph) => fragment.push(glyph),
            _ => all.extend(open.replace(Open::new(glyph)).map(Open::close)),
        }
    }
    all.extend(open.map(Open::close));
    all.retain(|f| !f.text.is_empty());
    merge(without_banners(all, page_width))
}

/// Leaves out text that runs from top to bottom at the edge of the page: single characters below each other.
fn without_banners(mut fragments: Vec<Fragment>, page_width: f32) -> Vec<Fragment> {
    let mut column: Vec<usize> = (0..fragments.len())
        .filter(|i| {
            let f = &fragments[*i];
            f.text.chars().count() == 1 && (f.x1 < EDGE * page_width || f.x0 > (1.0 - EDGE) * page_width)
        })
        .collect();
    column.sort_by(|a, b| {
        let (a, b) = (&fragments[*a], &fragments[*b]);
        (a.x0.round() as i32).cmp(&(b.x0.round() as i32)).then(a.y.total_cmp(&b.y))
    });
    let below = |a: &usize, b: &usize| {
        let (a, b) = (&fragments[*a], &fragments[*b]);
        (a.x0 - b.x0).abs() < 0.5 * a.size
            && (0.8 * a.size..3.0 * a.size).contains(&(b.y - a.y))
            && is_wide_or_sign(&a.text)
    };
    let banners: Vec<usize> = column.chunk_by(below).filter(|run| run.len() >= BANNER).flatten().copied().collect();
    let mut i = 0;
    fragments.retain(|_| {
        i += 1;
        !banners.contains(&(i - 1))
    });
    fragments
}

fn is_wide_or_sign(text: &str) -> bool {
    text.chars().all(|c| is_wide(c) || matches!(c, '/' | '|' | '·' | '-'))
}

/// Glyphs of template marks, as ranges.
fn template_marks(glyphs: &[Glyph]) -> Vec<Range<usize>> {
    let mut text = String::new();
    let mut starts = Vec::with_capacity(glyphs.len());
    for glyph in glyphs {
        starts.push(text.len());
        text.push_str(&glyph.text);
    }
    let glyph_at = |byte: usize| starts.partition_point(|start| *start < byte);
    TEMPLATE_MARK.find_iter(&text).map(|m| glyph_at(m.start())..glyph_at(m.end())).collect()
}

/// A fragment that is still growing.
struct Open {
    fragment: Fragment,
    last: Glyph,
    space: bool,
    /// Glyphs of the size that it has, less those of another.
    votes: i32,
}

impl Open {
    fn new(glyph: &Glyph) -> Open {
        let Glyph { x0, x1, y, size, .. } = *glyph;
        let fragment = Fragment { text: glyph.text.clone(), x0, x1, y, size };
        Open { fragment, last: glyph.clone(), space: false, votes: 1 }
    }

    fn goes_on_with(&self, glyph: &Glyph) -> bool {
        let em = self.last.size.max(glyph.size);
        let gap = glyph.x0 - self.last.x1;
        // Raised and lowered figures are smaller than what they stand at.
        let raised = glyph.size.min(self.last.size) < 0.8 * em;
        let drop = (glyph.y - self.last.y).abs();
        let limit = if raised { 0.5 } else { 0.15 } * em;
        drop <= limit && gap >= -overlap(&self.fragment.text).max(0.5) * em && gap < CELL_GAP * em
    }

    fn push(&mut self, glyph: &Glyph) {
        let em = self.last.size.max(glyph.size);
        let gap = glyph.x0 - self.last.x1;
        let wide = self.fragment.text.ends_with(is_wide) && glyph.text.starts_with(is_wide);
        if (self.space && gap > 0.05 * em) || (gap > WORD_GAP * em && !wide) {
            self.fragment.text.push(' ');
        }
        self.space = false;
        self.fragment.text.push_str(&glyph.text);
        self.fragment.x1 = self.fragment.x1.max(glyph.x1);
        let same = (glyph.size - self.fragment.size).abs() < 0.1 * em;
        self.votes += if same { 1 } else { -1 };
        if self.votes < 0 {
            (self.votes, self.fragment.size, self.fragment.y) = (1, glyph.size, glyph.y);
        }
        self.last = glyph.clone();
    }

    fn close(self) -> Fragment {
        self.fragment
    }
}

/// Overlap of the next text with the end of a text, at the most, in ems: a mark takes half of its place when lines are set tight.
fn overlap(text: &str) -> f32 {
    if text.ends_with(MARKS) { 0.7 } else { 0.3 }
}

/// Joins fragments that were drawn apart and stand side by side as words do.
fn merge(mut fragments: Vec<Fragment>) -> Vec<Fragment> {
    fragments.sort_by(|a, b| a.y.total_cmp(&b.y).then(a.x0.total_cmp(&b.x0)));
    let mut merged: Vec<Fragment> = Vec::with_capacity(fragments.len());
    for fragment in fragments {
        // The left neighbour is among the last few lines: fragments are in the order of their baselines.
        let neighbour = merged.iter_mut().rev().take(40).find(|left| {
            let em = left.size.max(fragment.size);
            let gap = fragment.x0 - left.x1;
            // A mark is often drawn narrower than its place.
            let limit = if left.text.ends_with(MARKS) { 1.1 } else { 0.6 };
            left.level_with(&fragment)
                && (-overlap(&left.text) * em..limit * em).contains(&gap)
                && left.size.min(fragment.size) > 0.7 * em
        });
        match neighbour {
            Some(left) => {
                let gap = fragment.x0 - left.x1;
                let wide = left.text.ends_with(is_wide) && fragment.text.starts_with(is_wide);
                if gap > WORD_GAP * fragment.size && !wide {
                    left.text.push(' ');
                }
                left.text.push_str(&fragment.text);
                left.x1 = left.x1.max(fragment.x1);
            }
            None => merged.push(fragment),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Glyphs of a run, an em of 10 points each for wide ones and 5 for others.
    fn run(text: &str, mut x: f32, y: f32) -> Vec<Glyph> {
        let glyph = |c: char| {
            let x0 = x;
            x += if is_wide(c) { 10.0 } else { 5.0 };
            Glyph { text: c.to_string(), x0, x1: x, y, size: 10.0 }
        };
        text.chars().map(glyph).collect()
    }

    fn texts(glyphs: &[Glyph]) -> Vec<String> {
        fragments(glyphs, 600.0).into_iter().map(|f| f.text).collect()
    }

    #[test]
    fn gaps_part_words_and_wider_ones_part_cells() {
        let mut glyphs = run("营业收入", 60.0, 100.0);
        glyphs.extend(run("同比", 101.0, 100.0));
        glyphs.extend(run("up", 124.0, 100.0));
        glyphs.extend(run("8.5", 300.0, 100.0));
        assert_eq!(texts(&glyphs), ["营业收入同比 up", "8.5"]);
    }

    #[test]
    fn what_is_drawn_in_another_order_is_read_by_its_place() {
        let mut glyphs = run("在后", 80.0, 100.0);
        glyphs.extend(run("另一行", 60.0, 120.0));
        glyphs.extend(run("先来", 60.0, 100.0));
        assert_eq!(texts(&glyphs), ["先来在后", "另一行"]);
    }

    #[test]
    fn marks_that_are_set_tight_part_nothing() {
        let mut glyphs = run("平台认证。", 60.0, 100.0);
        glyphs.extend(run("控制器，", 104.0, 100.0));
        glyphs.extend(run("产品", 147.0, 100.0));
        assert_eq!(texts(&glyphs), ["平台认证。控制器，产品"]);
    }

    #[test]
    fn template_marks_go_though_they_are_drawn_in_pieces() {
        let mut glyphs = run("[Table_", 60.0, 100.0);
        glyphs.extend(run("Summary] 【事项】", 95.0, 100.0));
        glyphs.extend(run("[2] 引用 [A_b]", 60.0, 120.0));
        assert_eq!(texts(&glyphs), ["【事项】", "[2] 引用 [A_b]"]);
    }

    #[test]
    fn a_banner_from_top_to_bottom_is_left_out() {
        let mut glyphs: Vec<Glyph> = "证券研究/报告"
            .chars()
            .enumerate()
            .flat_map(|(i, c)| run(&c.to_string(), 12.0, 50.0 + 14.0 * i as f32))
            .collect();
        glyphs.extend(run("正文", 100.0, 64.0));
        glyphs.extend(run("一", 100.0, 78.0));
        assert_eq!(texts(&glyphs), ["正文", "一"]);
    }
}

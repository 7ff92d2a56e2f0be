//! Reading order: a page is cut at the gutters between its columns, and each column is read to its end.
//!
//! A gutter is an upright stripe that no text crosses over some height of the page, with several lines on either side. The
//! cells of a table stand on common baselines, and are narrow: a stripe between them is none. The page is cut at its
//! tallest gutter into what is above, the two sides and what is below, and each of these again. Of two sides the left
//! is read first, but a main column before the narrow one at its side.

use super::fragments::Fragment;

/// Width of a gutter at the least, in ems.
const GUTTER: f32 = 1.2;
/// Lines on either side of a gutter at the least.
const LINES: usize = 3;
/// Height of a gutter at the least, in ems.
const HEIGHT: f32 = 4.0;
/// Cuts within cuts at the most.
const DEPTH: usize = 8;

/// The parts of a page in the order in which they are read, the fragments of each by height.
pub(super) fn in_order(mut fragments: Vec<Fragment>) -> Vec<Vec<Fragment>> {
    fragments.sort_by(|a, b| a.y.total_cmp(&b.y).then(a.x0.total_cmp(&b.x0)));
    let mut parts = Vec::new();
    cut(fragments, 0, &mut parts);
    parts
}

fn cut(fragments: Vec<Fragment>, depth: usize, parts: &mut Vec<Vec<Fragment>>) {
    let gutter = if depth < DEPTH { tallest_gutter(&fragments) } else { None };
    let Some(Gutter { x, first, end, .. }) = gutter else {
        if !fragments.is_empty() {
            parts.push(fragments);
        }
        return;
    };
    let mut above = fragments;
    let below = above.split_off(end);
    let sides = above.split_off(first);
    let (left, right): (Vec<Fragment>, Vec<Fragment>) = sides.into_iter().partition(|f| f.x1 <= x);
    cut(above, depth + 1, parts);
    let mut both = [left, right];
    if is_margin(&both[0], &both[1]) {
        both.swap(0, 1);
    }
    both.into_iter().for_each(|side| cut(side, depth + 1, parts));
    cut(below, depth + 1, parts);
}

/// True if the left side is a narrow column beside a main one.
fn is_margin(left: &[Fragment], right: &[Fragment]) -> bool {
    let characters = |side: &[Fragment]| side.iter().map(|f| f.text.chars().count()).sum::<usize>();
    let width = |side: &[Fragment]| {
        let (x0, x1) = extent(side);
        x1 - x0
    };
    2 * characters(right) > 5 * characters(left) && width(left) < 0.6 * width(right)
}

fn extent(side: &[Fragment]) -> (f32, f32) {
    side.iter().fold((f32::MAX, f32::MIN), |(x0, x1), f| (x0.min(f.x0), x1.max(f.x1)))
}

/// A stripe to the right of `x`, which the fragments `first..end` do not cross.
struct Gutter {
    x: f32,
    first: usize,
    end: usize,
    height: f32,
}

/// The tallest gutter among fragments in the order of their height.
fn tallest_gutter(fragments: &[Fragment]) -> Option<Gutter> {
    if fragments.len() < 2 * LINES {
        return None;
    }
    let mut sizes: Vec<f32> = fragments.iter().map(|f| f.size).collect();
    sizes.sort_by(f32::total_cmp);
    let em = sizes[sizes.len() / 2];
    let mut places: Vec<i32> = fragments.iter().map(|f| f.x1.ceil() as i32).collect();
    places.sort_unstable();
    places.dedup();
    let mut best: Option<Gutter> = None;
    for place in places {
        let x = place as f32;
        let crosses = |f: &Fragment| f.x0 < x + GUTTER * em && f.x1 > x;
        let mut first = 0;
        while first < fragments.len() {
            if crosses(&fragments[first]) {
                first += 1;
                continue;
            }
            let length = fragments[first..].iter().position(crosses).unwrap_or(fragments.len() - first);
            let end = first + length;
            let tallest = best.as_ref().map_or(HEIGHT * em, |b| b.height);
            if fragments[end - 1].y - fragments[first].y > tallest
                && let Some(height) = height_of(&fragments[first..end], x, em)
                && height > tallest
            {
                best = Some(Gutter { x, first, end, height });
            }
            first = end;
        }
    }
    best
}

/// Height over which both sides of a stripe stand beside each other, when they are columns of text.
fn height_of(fragments: &[Fragment], x: f32, em: f32) -> Option<f32> {
    let (left, right): (Vec<&Fragment>, Vec<&Fragment>) = fragments.iter().partition(|f| f.x1 <= x);
    if lines(&left) < LINES || lines(&right) < LINES {
        return None;
    }
    let (top, bottom) = (left[0].y.max(right[0].y), left[left.len() - 1].y.min(right[right.len() - 1].y));
    // Only what stands beside each other tells columns from a table; lines above and below belong to either.
    let beside = |side: &[&Fragment]| -> Vec<Fragment> {
        side.iter().filter(|f| (top - em..=bottom + em).contains(&f.y)).map(|f| (*f).clone()).collect()
    };
    let (left, right) = (beside(&left), beside(&right));
    let (few, many) = if left.len() < right.len() { (&left, &right) } else { (&right, &left) };
    let level = |f: &&Fragment| {
        let near = many.partition_point(|m| m.y < f.y - em)..many.partition_point(|m| m.y <= f.y + em);
        many[near].iter().any(|m| f.level_with(m))
    };
    let tabular = 2 * few.iter().filter(level).count() >= few.len();
    (!tabular || (is_prose(&left) && is_prose(&right))).then_some(bottom - top)
}

/// Distinct baselines.
fn lines(side: &[&Fragment]) -> usize {
    let mut last = f32::MIN;
    side.iter().filter(|f| f.y - last > 0.35 * f.size && std::mem::replace(&mut last, f.y) < f.y).count()
}

/// True if most of a side's fragments fill its width.
fn is_prose(side: &[Fragment]) -> bool {
    let (x0, x1) = extent(side);
    let full = |f: &&Fragment| f.width() >= 0.7 * (x1 - x0) && f.width() >= 8.0 * f.size;
    2 * side.iter().filter(full).count() >= side.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(text: &str, x0: f32, y: f32) -> Fragment {
        Fragment { text: text.into(), x0, x1: x0 + 10.0 * text.chars().count() as f32, y, size: 10.0 }
    }

    fn texts(parts: &[Vec<Fragment>]) -> Vec<Vec<&str>> {
        parts.iter().map(|p| p.iter().map(|f| f.text.as_str()).collect()).collect()
    }

    #[test]
    fn columns_on_one_grid_are_read_one_after_the_other() {
        let line = "一行正文共十二个汉字长短";
        let mut page = vec![fragment("跨过两栏的标题一行共有二十多个汉字那么长的标题", 50.0, 40.0)];
        for i in 0..6 {
            page.push(fragment(line, 50.0, 80.0 + 16.0 * i as f32));
            page.push(fragment(line, 200.0, 80.0 + 16.0 * i as f32));
        }
        page.push(fragment("跨过两栏的末尾一行共有二十多个汉字那么长的末尾", 50.0, 200.0));
        let parts = in_order(page);
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [1, 6, 6, 1]);
        assert!(parts[1].iter().all(|f| f.x0 == 50.0) && parts[2].iter().all(|f| f.x0 == 200.0));
    }

    #[test]
    fn a_narrow_column_is_read_after_the_main_one_on_whichever_side_it_stands() {
        for (main, side) in [(50.0, 400.0), (200.0, 50.0)] {
            let mut page = Vec::new();
            (0..10).for_each(|i| page.push(fragment("正文正文正文正文正文正文正文", main, 50.0 + 17.0 * i as f32)));
            (0..8).for_each(|i| page.push(fragment("侧栏", side, 55.5 + 19.3 * i as f32)));
            let parts = in_order(page);
            assert_eq!(parts.len(), 2);
            assert_eq!((parts[0].len(), parts[0][0].x0, parts[1][0].x0), (10, main, side));
        }
    }

    #[test]
    fn the_rows_of_a_table_stay_whole() {
        let mut page = Vec::new();
        for i in 0..8 {
            for (j, cell) in ["营业收入", "1,234.5", "2,345.6", "3,456.7"].iter().enumerate() {
                page.push(fragment(cell, 50.0 + 110.0 * j as f32, 60.0 + 15.0 * i as f32));
            }
        }
        let parts = in_order(page);
        assert_eq!(parts.len(), 1);
        assert_eq!(texts(&parts)[0][..4], ["营业收入", "1,234.5", "2,345.6", "3,456.7"]);
    }
}

//! Headers, footers and page numbers: what repeats at the same height on most pages, figures in it aside.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::PageFragments;

/// Share of the page's height, at the top and at the bottom, where headers and footers stand.
const MARGIN: f32 = 0.12;
/// Greatest difference between the heights of a repeated line, in points.
const SAME_HEIGHT: f32 = 4.0;
/// Share of the pages that a line repeats on: left and right pages may have headers of their own.
const MOST: f32 = 0.4;

/// A page number alone.
static PAGE_NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    let form = r"^(?:第?\s*\d{1,4}\s*页?|\d{1,4}\s*/\s*\d{1,4}|[-–—]\s*\d{1,4}\s*[-–—]|(?i:page)\s*\d{1,4}(?:\s*(?:of|/)\s*\d{1,4})?|第\s*\d{1,4}\s*页\s*[/，,]?\s*共\s*\d{1,4}\s*页)$";
    Regex::new(form).expect("a valid expression")
});

/// Removes headers, footers and page numbers from the pages.
pub(super) fn remove(sheets: &mut [PageFragments]) {
    let mut places: BTreeMap<String, Vec<(usize, f32)>> = BTreeMap::new();
    for (page, sheet) in sheets.iter().enumerate() {
        for fragment in sheet.fragments.iter().filter(|f| in_margin(f.y, sheet.height)) {
            places.entry(shape(&fragment.text)).or_default().push((page, height_of(fragment.y, sheet.height)));
        }
    }
    let needed = if sheets.len() < 4 { 2 } else { (MOST * sheets.len() as f32).ceil() as usize };
    for list in places.values_mut() {
        list.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    }
    let repeats = |text: &str, height: f32| {
        let Some(list) = places.get(&shape(text)) else { return false };
        let near =
            list.partition_point(|p| p.1 < height - SAME_HEIGHT)..list.partition_point(|p| p.1 <= height + SAME_HEIGHT);
        if near.len() < needed {
            return false;
        }
        let mut pages: Vec<usize> = list[near].iter().map(|p| p.0).collect();
        pages.sort_unstable();
        pages.dedup();
        pages.len() >= needed
    };
    for sheet in sheets {
        let page_height = sheet.height;
        let lowest = sheet.fragments.iter().map(|f| f.y).fold(0.0, f32::max);
        sheet.fragments.retain(|fragment| {
            let number = fragment.y > lowest - 2.0 && PAGE_NUMBER.is_match(fragment.text.trim());
            let margin = in_margin(fragment.y, page_height);
            !(margin && (number || repeats(&fragment.text, height_of(fragment.y, page_height))))
        });
    }
}

fn in_margin(y: f32, page_height: f32) -> bool {
    y < MARGIN * page_height || y > (1.0 - MARGIN) * page_height
}

/// The height as measured from the nearer edge, so that pages of different heights compare; negative from the bottom.
fn height_of(y: f32, page_height: f32) -> f32 {
    if y < page_height / 2.0 { y } else { y - page_height }
}

/// The text without spaces, each number as one sign. Numbers with a decimal point stay: they are cells of tables.
fn shape(text: &str) -> String {
    let mut shape = String::new();
    for c in text.chars().filter(|c| !c.is_whitespace()) {
        match c.is_ascii_digit() {
            true if shape.ends_with('#') => {}
            true => shape.push('#'),
            false => shape.push(c),
        }
    }
    if shape.starts_with("#.") || shape.starts_with("-#") { text.to_owned() } else { shape }
}

#[cfg(test)]
mod tests {
    use super::super::fragments::Fragment;
    use super::*;

    fn sheet(lines: &[(&str, f32)]) -> PageFragments {
        let fragment =
            |(text, y): &(&str, f32)| Fragment { text: (*text).into(), x0: 50.0, x1: 200.0, y: *y, size: 10.0 };
        PageFragments { height: 800.0, fragments: lines.iter().map(fragment).collect() }
    }

    fn left(sheets: &[PageFragments]) -> Vec<Vec<&str>> {
        sheets.iter().map(|s| s.fragments.iter().map(|f| f.text.as_str()).collect()).collect()
    }

    #[test]
    fn what_repeats_in_the_margin_goes_and_what_repeats_in_the_text_stays() {
        let page = |n: usize| format!("第 {n} 页，共 12 页");
        let numbers: Vec<String> = (1..=3).map(page).collect();
        let mut sheets: Vec<PageFragments> = (0..3)
            .map(|i| sheet(&[("某某证券 2024", 40.0), ("本表", 300.0), ("12.5", 90.0), (&numbers[i], 770.0)]))
            .collect();
        sheets[0].fragments[0].text = "封面".into();
        sheets[2].fragments[2].text = "13.5".into();
        sheets[1].fragments[2].text = "14.5".into();
        remove(&mut sheets);
        assert_eq!(left(&sheets), [vec!["封面", "本表", "12.5"], vec!["本表", "14.5"], vec!["本表", "13.5"]]);
    }

    #[test]
    fn a_page_alone_loses_its_number_but_no_line_of_figures() {
        let mut sheets = [sheet(&[("2024", 400.0), ("净利润 3", 700.0), ("- 1 -", 780.0)])];
        remove(&mut sheets);
        assert_eq!(left(&sheets), [["2024", "净利润 3"]]);
    }

    #[test]
    fn pages_of_left_and_right_have_headers_of_their_own() {
        let mut sheets: Vec<PageFragments> = (0..6)
            .map(|i| sheet(&[(if i % 2 == 0 { "左" } else { "右" }, 40.0), ("正文", 60.0 + 7.0 * i as f32)]))
            .collect();
        remove(&mut sheets);
        assert!(left(&sheets).iter().all(|page| page == &["正文"]), "{:?}", left(&sheets));
    }
}

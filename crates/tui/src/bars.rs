//! Bars in block characters, upright ones and those that lie, in eighths of a cell.

/// Blocks that fill no eighth to eight eighths of a cell.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Upright bars in so many rows, the uppermost line first, a bar of `cells` cells each with `gap` cells behind it. `top` is the height of a
/// full bar; a value above 0 is always visible; NaN has no bar.
pub(crate) fn upright(values: &[f64], top: f64, rows: usize, cells: usize, gap: usize) -> Vec<String> {
    let line = |row: usize| {
        let below = 8 * (rows - 1 - row);
        values.iter().fold(String::new(), |mut line, value| {
            let block = BLOCKS[eighths(*value, top, rows).saturating_sub(below).min(8)];
            line.extend(std::iter::repeat_n(block, cells));
            line.extend(std::iter::repeat_n(' ', gap));
            line
        })
    };
    (0..rows).map(line).collect()
}

/// Bars one cell high and wide; several counts share a bar where there is less room.
pub(crate) fn small(counts: &[u32], cells: usize) -> String {
    let share = counts.len().div_ceil(cells.max(1)).max(1);
    let sums: Vec<f64> = counts.chunks(share).map(|counts| counts.iter().map(|n| f64::from(*n)).sum()).collect();
    let top = sums.iter().copied().fold(0.0, f64::max);
    upright(&sums, top, 1, 1, 0).pop().unwrap_or_default()
}

/// A bar from the left, as long as a share of so many cells; NaN has none.
pub(crate) fn lying(share: f64, cells: usize) -> String {
    const BEGUN: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * 8.0 * cells as f64).round() as usize;
    "█".repeat(eighths / 8) + BEGUN[eighths % 8]
}

fn eighths(value: f64, top: f64, rows: usize) -> usize {
    if value.is_nan() || value <= 0.0 || top <= 0.0 {
        return 0;
    }
    ((value / top).min(1.0) * (8 * rows) as f64).round().max(1.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_fill_cells_from_below_and_what_is_there_is_seen() {
        assert_eq!(upright(&[0.0, 0.001, 0.5, 0.75, 9.0, f64::NAN], 1.0, 2, 1, 0), ["   ▄█ ", " ▁███ "]);
        assert_eq!(upright(&[1.0, 0.5], 1.0, 1, 2, 1), ["██ ▄▄ "]);
        assert_eq!(upright(&[1.0], 0.0, 1, 1, 0), [" "]);
    }

    #[test]
    fn bars_that_lie_are_as_long_as_the_share() {
        assert_eq!([0.0, 0.5, 0.53125, 1.0, 2.0].map(|share| lying(share, 4)), ["", "██", "██▏", "████", "████"]);
        assert_eq!([lying(f64::NAN, 4), lying(-1.0, 4), lying(0.5, 0)], ["", "", ""]);
    }

    #[test]
    fn counts_share_a_bar_where_there_is_less_room() {
        assert_eq!(small(&[1, 1, 0, 0, 4, 4, 8, 0], 4), "▂ ██");
        assert_eq!(small(&[], 4), "");
    }
}

//! Orders of names, from which rank correlations of any names that two dates share follow without sorting again.

use inkstone_base::simd::wide;
use inkstone_base::stats::ascending;

/// Marks a name whose number equals that of the name before it in the order.
const TIED: u32 = 1 << 31;
/// Names that are summed side by side.
const LANES: usize = 16;

/// Names by ascending number, those of equal numbers marked.
pub(super) struct RankOrder(Vec<u32>);

impl RankOrder {
    /// The order of the names that have a number; NaN stands for none.
    pub(super) fn new(numbers: impl Iterator<Item = f64>) -> RankOrder {
        let numbers: Vec<f64> = numbers.collect();
        RankOrder::of_sorted(ascending(numbers.iter().copied()).into_iter().map(|name| (numbers[name as usize], name)))
    }

    /// The order of numbers with their names, which ascend by number.
    pub(super) fn of_sorted(numbers: impl Iterator<Item = (f64, u32)>) -> RankOrder {
        let mut before = f64::NAN;
        let mark = |(number, name): (f64, u32)| {
            let tied = if std::mem::replace(&mut before, number) == number { TIED } else { 0 };
            name | tied
        };
        RankOrder(numbers.map(mark).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Calls `each` with the ranks from 1, ties at their average, of the names that `counts` lets in.
    #[inline(always)]
    fn ranks(&self, counts: impl Fn(u32) -> bool, mut each: impl FnMut(u32, f64)) {
        let mut below = 0;
        for tied in self.0.chunk_by(|_, next| next & TIED != 0) {
            if let [name] = tied {
                let name = name & !TIED;
                if counts(name) {
                    below += 1;
                    each(name, f64::from(below));
                }
                continue;
            }
            let there = || tied.iter().map(|name| name & !TIED).filter(|&name| counts(name));
            let count = there().count() as u32;
            let rank = f64::from(below) + f64::from(count + 1) / 2.0;
            there().for_each(|name| each(name, rank));
            below += count;
        }
    }

    /// Rank of each of `width` names among those of the order, less the mean rank; NaN for a name that is not in it, and behind the
    /// last up to a multiple of [`LANES`].
    pub(super) fn centred(&self, width: usize) -> Vec<f32> {
        let mut row = vec![f32::NAN; width.next_multiple_of(LANES)];
        let middle = (self.0.len() + 1) as f64 / 2.0;
        self.ranks(|_| true, |name, rank| row[name as usize] = (rank - middle) as f32);
        row
    }
}

/// Pearson's correlation of two rows of [`RankOrder::centred`] over the names that both have; NaN with fewer than `needed`.
///
/// It differs from Spearman's by the names that only one row has: their places in the ranks stay.
pub(super) fn shared_correlation(x: &[f32], y: &[f32], needed: usize) -> f64 {
    let [n, x, y, xx, yy, xy] = wide(|| {
        let mut sums = [[0.0_f64; LANES]; 6];
        let [n, sum_x, sum_y, sum_xx, sum_yy, sum_xy] = &mut sums;
        for (x, y) in x.chunks_exact(LANES).zip(y.chunks_exact(LANES)) {
            for lane in 0..LANES {
                let (x, y) = (f64::from(x[lane]), f64::from(y[lane]));
                let is_shared = !(x + y).is_nan();
                let (one, x, y) = if is_shared { (1.0, x, y) } else { (0.0, 0.0, 0.0) };
                n[lane] += one;
                sum_x[lane] += x;
                sum_y[lane] += y;
                sum_xx[lane] += x * x;
                sum_yy[lane] += y * y;
                sum_xy[lane] += x * y;
            }
        }
        sums.map(|lanes| lanes.iter().sum::<f64>())
    });
    let (xx, yy, xy) = (xx - x * x / n, yy - y * y / n, xy - x * y / n);
    // Ranks are multiples of a half, so what varies does so by more than rounding.
    if n < needed as f64 || xx < 0.1 || yy < 0.1 { f64::NAN } else { (xy / (xx * yy).sqrt()).clamp(-1.0, 1.0) }
}

/// Buffers for the rank correlation of one date.
pub(super) struct RankScratch {
    /// True for the names of the first order.
    first: Vec<bool>,
    /// Rank of each name in the second order; NaN for a name that not both have.
    second: Vec<f64>,
}

impl RankScratch {
    /// Buffers for names below `width`.
    pub(super) fn new(width: usize) -> RankScratch {
        RankScratch { first: vec![false; width], second: vec![f64::NAN; width] }
    }

    /// Spearman's correlation over the names that both orders have; NaN with fewer than `needed`, and where one does not vary.
    pub(super) fn rank_ic(&mut self, values: &RankOrder, returns: &RankOrder, needed: usize) -> f64 {
        let RankScratch { first, second } = self;
        first.fill(false);
        second.fill(f64::NAN);
        values.0.iter().for_each(|name| first[(name & !TIED) as usize] = true);
        let (mut n, mut yy) = (0.0_f64, 0.0);
        returns.ranks(
            |name| first[name as usize],
            |name, rank| {
                second[name as usize] = rank;
                n += 1.0;
                yy += rank * rank;
            },
        );
        let (mut xx, mut xy) = (0.0, 0.0);
        values.ranks(
            |name| !second[name as usize].is_nan(),
            |name, rank| {
                xx += rank * rank;
                xy += rank * second[name as usize];
            },
        );
        // Ranks are multiples of a half, so these sums are exact, in any order and about any centre.
        let squared_mean = n * ((n + 1.0) / 2.0).powi(2);
        let (xx, yy, xy) = (xx - squared_mean, yy - squared_mean, xy - squared_mean);
        if n < needed.max(2) as f64 || xx <= 0.0 || yy <= 0.0 {
            f64::NAN
        } else {
            (xy / (xx.sqrt() * yy.sqrt())).clamp(-1.0, 1.0)
        }
    }

    /// True for each name of [`RankScratch::rank_ic`]'s last pair that both orders had.
    pub(super) fn is_shared(&self, name: usize) -> bool {
        !self.second[name].is_nan()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use inkstone_base::stats::{complete, pearson, spearman};

    /// Numbers with ties, some of them absent.
    fn numbers() -> impl Strategy<Value = Vec<f64>> {
        let number = prop_oneof![1 => Just(f64::NAN), 4 => (-3i8..3).prop_map(f64::from), 4 => -1.0..1.0f64];
        prop::collection::vec(number, 30)
    }

    proptest! {
        #[test]
        fn it_is_the_correlation_of_the_ranks_of_what_is_shared(x in numbers(), y in numbers()) {
            let (shared_x, shared_y) = complete(&x, &y);
            let expected = if shared_x.len() < 5 { f64::NAN } else { spearman(&shared_x, &shared_y) };
            let order = |numbers: &[f64]| RankOrder::new(numbers.iter().copied());
            let found = RankScratch::new(30).rank_ic(&order(&x), &order(&y), 5);
            prop_assert_eq!(found.to_bits(), expected.to_bits());
        }

        #[test]
        fn rows_without_gaps_correlate_as_their_ranks(x in prop::collection::vec(-9i8..9, 30), y in prop::collection::vec(-9i8..9, 30)) {
            let numbers = |from: &[i8]| from.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
            let row = |from: &[i8]| RankOrder::new(numbers(from).into_iter()).centred(30);
            let (found, expected) = (shared_correlation(&row(&x), &row(&y), 2), spearman(&numbers(&x), &numbers(&y)));
            prop_assert!((found - expected).abs() < 1e-12 || found.is_nan() && expected.is_nan());
        }
    }

    #[test]
    fn what_one_row_lacks_counts_in_neither() {
        let order = |numbers: [f64; 6]| RankOrder::new(numbers.into_iter());
        let (x, y) = (order([1.0, 2.0, f64::NAN, 4.0, 3.0, 9.0]), order([2.0, f64::NAN, 7.0, 5.0, 3.0, 4.0]));
        // Ranks of the four shared names: 1, 4, 3, 5 among five, and 1, 4, 2, 3 among five.
        let expected = pearson(&[1.0, 4.0, 3.0, 5.0], &[1.0, 4.0, 2.0, 3.0]);
        assert!((shared_correlation(&x.centred(6), &y.centred(6), 4) - expected).abs() < 1e-12);
        assert!(shared_correlation(&x.centred(6), &y.centred(6), 5).is_nan());
    }
}

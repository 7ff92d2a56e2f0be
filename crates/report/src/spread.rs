//! Things that want the same place on a line, set side by side.

/// Places at least `gap` apart, in the order given, within `low..=high`, as near as can be (least squares) to those that were wanted.
/// `wanted` ascends. Where there is no room for the gaps, they shrink evenly.
pub(crate) fn spread(wanted: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    let n = wanted.len();
    if n < 2 {
        return wanted.iter().map(|v| v.clamp(low, high)).collect();
    }
    let gap = gap.min((high - low) / (n - 1) as f64);
    // Less the gaps before it, no place may be smaller than the one before: an isotonic regression, by pooling adjacent violators.
    let mut pools: Vec<(f64, usize)> = Vec::with_capacity(n);
    for (i, value) in wanted.iter().enumerate() {
        let mut pool = (value - i as f64 * gap, 1);
        while let Some(&(mean, members)) = pools.last().filter(|before| before.0 > pool.0) {
            pool = ((mean * members as f64 + pool.0 * pool.1 as f64) / (members + pool.1) as f64, members + pool.1);
            pools.pop();
        }
        pools.push(pool);
    }
    // Rounding may leave it a hair below the lower end.
    let last = (high - (n - 1) as f64 * gap).max(low);
    let places = pools.into_iter().flat_map(|(mean, members)| std::iter::repeat_n(mean.clamp(low, last), members));
    places.enumerate().map(|(i, place)| place + i as f64 * gap).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn neighbours_make_room_on_both_sides() {
        assert_eq!(spread(&[10.0, 10.0, 10.0], 4.0, 0.0, 100.0), [6.0, 10.0, 14.0]);
        assert_eq!(spread(&[10.0, 50.0], 4.0, 0.0, 100.0), [10.0, 50.0]);
        assert_eq!(spread(&[0.0, 0.0], 4.0, 0.0, 100.0), [0.0, 4.0], "the edge holds");
        assert_eq!(spread(&[5.0, 5.0, 5.0], 50.0, 0.0, 10.0), [0.0, 5.0, 10.0], "without room the gap shrinks");
        assert_eq!(spread(&[120.0], 4.0, 0.0, 100.0), [100.0]);
        assert!(spread(&[], 4.0, 0.0, 1.0).is_empty());
    }

    proptest! {
        #[test]
        fn places_keep_their_order_their_gap_and_the_range(
            mut wanted in prop::collection::vec(0.0..100.0f64, 0..80), gap in 0.0..20.0f64
        ) {
            wanted.sort_by(f64::total_cmp);
            let places = spread(&wanted, gap, 0.0, 100.0);
            prop_assert_eq!(places.len(), wanted.len());
            let least = gap.min(100.0 / (wanted.len().max(2) - 1) as f64) - 1e-9;
            prop_assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= least));
            prop_assert!(places.iter().all(|place| (-1e-9..=100.0 + 1e-9).contains(place)));
            if wanted.windows(2).all(|pair| pair[1] - pair[0] >= gap) {
                prop_assert!(places.iter().zip(&wanted).all(|(place, want)| (place - want).abs() < 1e-9));
            }
        }
    }
}

//! Random numbers: ChaCha8, one stream for each thing that is drawn, so that nothing depends on the order of the work.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// Streams of one seed. A day, a series or a redraw adds its number.
#[derive(Clone, Copy)]
pub(super) enum Stream {
    /// Companies and what happens to their listing.
    Companies = 1,
    /// The news of a calendar day.
    News = 2,
    /// The reports of a calendar day.
    Reports = 3,
    /// Return noise; number 0 is the market that is written, the others are redraws.
    Noise = 4,
    /// Columns of prices beside open and close.
    Volume = 5,
    /// Rows that a reader must refuse.
    BadRows = 6,
    /// Ties between suppliers and customers.
    Relations = 7,
}

/// Generator number `n` of a stream.
pub(super) fn rng(seed: u64, stream: Stream, n: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(((stream as u64) << 40) | n);
    rng
}

/// One of the items, drawn evenly. The slice is never empty.
pub(super) fn pick<'a, T>(rng: &mut ChaCha8Rng, items: &'a [T]) -> &'a T {
    &items[rng.random_range(0..items.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_and_their_numbers_are_apart() {
        let first = |stream, n| rng(7, stream, n).random::<u64>();
        let draws =
            [first(Stream::News, 5), first(Stream::Reports, 5), first(Stream::Noise, 5), first(Stream::News, 6)];
        for (i, a) in draws.iter().enumerate() {
            assert!(draws[i + 1..].iter().all(|b| a != b), "{draws:?}");
        }
    }
}

//! Random numbers of a training, quick to make and known by their place alone: SplitMix64 (Steele, Lea, Flood 2014).

/// A stream of random numbers.
pub(super) struct Draw(u64);

impl Draw {
    /// The stream of a place.
    pub(super) fn new(seed: u64, place: u64) -> Draw {
        let mut draw = Draw(seed ^ place.wrapping_mul(0xd134_2543_de82_ef95));
        draw.next();
        draw
    }

    #[inline(always)]
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    #[inline(always)]
    pub(super) fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }

    /// Uniform below `n`, which is below 2^32.
    #[inline(always)]
    pub(super) fn below(&mut self, n: usize) -> usize {
        (((self.next() >> 32) * n as u64) >> 32) as usize
    }

    pub(super) fn shuffle<T>(&mut self, values: &mut [T]) {
        for i in (1..values.len()).rev() {
            values.swap(i, self.below(i + 1));
        }
    }
}

//! Random numbers for inner loops: SplitMix64 (Steele, Lea and Flood 2014), whose whole state is a counter.
//!
//! A sequence is begun from the numbers of its place (seed, epoch, document, ...), so that draws do not depend on which thread
//! makes them.

/// A sequence of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The sequence of these numbers.
    pub(crate) fn new(parts: [u64; 3]) -> Random {
        let mut random = Random(0);
        for part in parts {
            random.0 ^= part;
            random.0 = random.next();
        }
        random
    }

    #[inline(always)]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; its bias is below `n` / 2^32.
    #[inline(always)]
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        (((self.next() >> 32) * u64::from(n)) >> 32) as u32
    }

    /// A number from 0 to below 1.
    #[inline(always)]
    pub(crate) fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 24) as f32
    }

    /// Puts values in a random order (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, values: &mut [T]) {
        for i in (1..values.len()).rev() {
            values.swap(i, self.below(i as u32 + 1) as usize);
        }
    }
}

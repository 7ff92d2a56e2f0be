//! Inner loops compiled for the widest vectors that the processor has, chosen when the program runs.
//!
//! Nothing is contracted or reordered: a loop gives the same bits on every processor, unless it asks for `mul_add`.

use std::sync::LazyLock;

/// What the loops may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// What every processor of this architecture has.
    Base,
    /// 256 bits.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 512 bits.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

static LEVEL: LazyLock<Level> = LazyLock::new(|| {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        let wide = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl");
        return if wide { Level::Avx512 } else { Level::Avx2 };
    }
    Level::Base
});

/// Runs `f` compiled for wide vectors. What it calls takes part where it is `#[inline(always)]`.
#[inline]
#[allow(unsafe_code)]
pub(crate) fn wide<R>(f: impl FnOnce() -> R) -> R {
    match *LEVEL {
        Level::Base => f(),
        // SAFETY: the level was found on this processor.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2(f) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { avx512(f) },
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2<R>(f: impl FnOnce() -> R) -> R {
    f()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512vl")]
fn avx512<R>(f: impl FnOnce() -> R) -> R {
    f()
}

/// Asks for values to be brought near the processor, for they will be needed soon.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn prefetch<T>(values: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..size_of_val(values)).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address is within the slice; and a hint reads nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().cast::<i8>().add(at)) }
    }
}

//! Inner loops compiled for the widest vectors that the processor has, chosen when the program runs.
//!
//! Nothing is contracted or reordered, and `mul_add` rounds once everywhere: a loop gives the same bits on every processor.

use std::sync::LazyLock;

use anyhow::Result;

use crate::language::Word;
use crate::{bail, ensure};

/// The variable that forces a level, so that results can be compared: `base`, `avx2` or `avx512`.
const VARIABLE: &str = "INKSTONE_SIMD";

/// The vectors that the loops use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum VectorLevel {
    /// Instructions that every processor of this architecture has.
    Base,
    /// 256 bits.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 512 bits.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// All levels with their names, from narrow to wide.
const LEVELS: &[(VectorLevel, &str)] = &[
    (VectorLevel::Base, "base"),
    #[cfg(target_arch = "x86_64")]
    (VectorLevel::Avx2, "avx2"),
    #[cfg(target_arch = "x86_64")]
    (VectorLevel::Avx512, "avx512"),
];

/// The level of this process: the one that is forced, else the widest.
static LEVEL: LazyLock<VectorLevel> = LazyLock::new(|| forced().ok().flatten().unwrap_or_else(widest));

/// The widest level that the processor has.
fn widest() -> VectorLevel {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        let wide = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl");
        return if wide { VectorLevel::Avx512 } else { VectorLevel::Avx2 };
    }
    VectorLevel::Base
}

/// The level that the environment forces. Fails where it is none, or one that the processor lacks.
fn forced() -> Result<Option<VectorLevel>> {
    let Some(name) = std::env::var_os(VARIABLE).filter(|name| !name.is_empty()) else { return Ok(None) };
    let name = name.to_string_lossy();
    let names = |levels: &[(VectorLevel, &str)]| levels.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(", ");
    let Some((level, _)) = LEVELS.iter().find(|(_, known)| *known == name) else {
        bail!(
            "{VARIABLE} 为 {name:?}，本机没有这一向量指令级别：{}",
            "{VARIABLE} is {name:?}, which is no level of vectors here: {}",
            names(LEVELS)
        );
    };
    let there: Vec<_> = LEVELS.iter().copied().filter(|(level, _)| *level <= widest()).collect();
    ensure!(
        *level <= widest(),
        "{VARIABLE} 为 {name:?}，本处理器不支持：它支持 {}",
        "{VARIABLE} is {name:?}, and this processor lacks it: it has {}",
        names(&there)
    );
    Ok(Some(*level))
}

/// Fails where the environment forces a level that cannot be had.
pub fn check() -> Result<()> {
    forced().map(drop)
}

/// The level of this process, for people.
pub fn in_words() -> String {
    let name = LEVELS.iter().find(|(level, _)| level == &*LEVEL).map_or("", |(_, name)| *name);
    let why = if std::env::var_os(VARIABLE).is_some_and(|name| !name.is_empty()) {
        Word("（由 INKSTONE_SIMD 指定）", " (forced by INKSTONE_SIMD)")
    } else {
        Word("", "")
    };
    format!("{name}{why}")
}

/// Runs `f` compiled for wide vectors. What it calls takes part where it is `#[inline(always)]`.
#[inline]
#[allow(unsafe_code)]
pub fn wide<R>(f: impl FnOnce() -> R) -> R {
    match *LEVEL {
        VectorLevel::Base => f(),
        // SAFETY: the level is at most the widest that was found on this processor.
        #[cfg(target_arch = "x86_64")]
        VectorLevel::Avx2 => unsafe { avx2(f) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        VectorLevel::Avx512 => unsafe { avx512(f) },
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
pub fn prefetch<T>(values: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..size_of_val(values)).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address is within the slice; and a hint reads nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().cast::<i8>().add(at)) }
    }
}

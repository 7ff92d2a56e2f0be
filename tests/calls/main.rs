//! System calls of the program: the state of its files after a loss of power at any moment, and the outcome of a run in which any
//! one call fails.
//!
//! `cargo test` tries a sample. `INKSTONE_TEST_SEED=N` draws another one. `INKSTONE_TEST_EVERY=1` tries everything, which takes hours;
//! `INKSTONE_TEST_EVERY=2/4` tries every fourth case, beginning with the second. `INKSTONE_TEST_ORDERED=1` takes the file system to be
//! ext4 instead of anything that POSIX allows.
//!
//! The tests need Linux on x86-64 that lets a program trace its children. Elsewhere they say that they were not tried.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod linux;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
#[test]
fn losses_of_power_and_failing_calls_are_tried_on_linux() {
    not_tried("only Linux on x86-64 lets these tests trace the program");
}

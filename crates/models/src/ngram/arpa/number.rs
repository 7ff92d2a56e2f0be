//! Writing f32 numbers fast, so that they read back as they were.

/// 10^decimals for the number of decimals that are tried, fewest first.
const TRIED: [(u32, f64); 5] = [(6, 1e6), (7, 1e7), (8, 1e8), (9, 1e9), (10, 1e10)];

/// Appends a number with as few decimals as it needs.
pub(super) fn push_number(out: &mut Vec<u8>, value: f32) {
    let size = f64::from(value.abs());
    if size == 0.0 {
        out.push(b'0');
        return;
    }
    let scaled = |&(decimals, power): &(u32, f64)| {
        let digits_of_size = (size * power).round();
        ((digits_of_size / power) as f32 == value.abs()).then_some((digits_of_size as u64, decimals))
    };
    // Most numbers need 6 to 8 decimals. Those that need more go the long way.
    match TRIED.iter().find_map(scaled).filter(|_| size < 1e6) {
        Some((digits, decimals)) => push_digits(out, value.is_sign_negative(), digits, decimals),
        None => out.extend_from_slice(value.to_string().as_bytes()),
    }
}

fn push_digits(out: &mut Vec<u8>, negative: bool, mut digits: u64, mut decimals: u32) {
    while decimals > 0 && digits.is_multiple_of(10) {
        digits /= 10;
        decimals -= 1;
    }
    let mut text = [0; 24];
    let mut at = text.len();
    let mut push = |byte| {
        at -= 1;
        text[at] = byte;
        at
    };
    for _ in 0..decimals {
        push(b'0' + (digits % 10) as u8);
        digits /= 10;
    }
    if decimals > 0 {
        push(b'.');
    }
    loop {
        push(b'0' + (digits % 10) as u8);
        digits /= 10;
        if digits == 0 {
            break;
        }
    }
    if negative {
        push(b'-');
    }
    out.extend_from_slice(&text[at..]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(value: f32) -> String {
        let mut out = Vec::new();
        push_number(&mut out, value);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_as_short_as_they_can_be() {
        let cases = [(0.0, "0"), (-0.0, "0"), (-1.5, "-1.5"), (-99.0, "-99"), (0.25, "0.25"), (-0.70103, "-0.70103")];
        for (value, text) in cases {
            assert_eq!(written(value), text);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(value in -12f32..1.0, small in -1e-3f32..1e-3, any in any::<f32>()) {
            for value in [value, small, any].into_iter().filter(|v| v.is_finite()) {
                prop_assert_eq!(written(value).parse::<f32>().unwrap(), value);
            }
        }
    }
}

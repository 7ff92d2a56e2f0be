//! Pinyin initials, which people type who are too quick for an input method: `hggf` stands for 回购股份.
//!
//! A character counts with each of its readings (行 is `h` and `x`), a letter or digit as itself, whatever else is passed over.

use std::sync::LazyLock;

use pinyin::ToPinyinMulti;

/// The block of characters that have a place in the table of readings: U+3400 to U+9FFF.
const BLOCK: std::ops::Range<u32> = 0x3400..0xa000;

/// Initials of each character of [`BLOCK`], a bit a letter; 0 without a reading.
static READINGS: LazyLock<Vec<u32>> =
    LazyLock::new(|| BLOCK.map(|code| char::from_u32(code).map_or(0, read_of)).collect());

/// True if the letters are initials of characters of the text that follow each other.
pub(crate) fn matches(text: &str, letters: &str) -> bool {
    Initials::new(letters).is_some_and(|initials| initials.are_in(text))
}

/// Letters to look for in many texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Initials {
    /// For each letter and digit, the places where it stands, a bit a place.
    places: [u64; 36],
    /// The bit of the last place.
    last: u64,
}

impl Initials {
    /// Reads the letters; none where they are none, or more than 64.
    pub(crate) fn new(letters: &str) -> Option<Initials> {
        if !(1..=64).contains(&letters.len()) {
            return None;
        }
        let mut places = [0; 36];
        for (at, byte) in letters.bytes().enumerate() {
            places[symbol(byte)?] |= 1 << at;
        }
        Some(Initials { places, last: 1 << (letters.len() - 1) })
    }

    /// True if they are initials of characters of the text that follow each other.
    pub(crate) fn are_in(&self, text: &str) -> bool {
        // All beginnings are followed at once: bit `i` is set while the last `i + 1` characters fit.
        let mut begun = 0u64;
        let table: &[u32] = &READINGS;
        for one in text.chars() {
            let fits = match (table.get((one as usize).wrapping_sub(BLOCK.start as usize)), u8::try_from(one)) {
                // Nearly all have one reading.
                (Some(0), _) => continue,
                (Some(readings), _) => self.fits(*readings),
                (None, Ok(byte)) => match symbol(byte) {
                    Some(symbol) => self.places[symbol],
                    None => continue,
                },
                (None, Err(_)) => match read_of(one) {
                    0 => continue,
                    readings => self.fits(readings),
                },
            };
            begun = (begun << 1 | 1) & fits;
            if begun & self.last != 0 {
                return true;
            }
        }
        false
    }

    fn fits(&self, mut readings: u32) -> u64 {
        let mut fits = 0;
        while readings != 0 {
            fits |= self.places[readings.trailing_zeros() as usize];
            readings &= readings - 1;
        }
        fits
    }
}

/// The number of a letter (0 to 25) or digit (26 to 35).
fn symbol(byte: u8) -> Option<usize> {
    match byte {
        b'a'..=b'z' => Some(usize::from(byte - b'a')),
        b'A'..=b'Z' => Some(usize::from(byte - b'A')),
        b'0'..=b'9' => Some(usize::from(byte - b'0') + 26),
        _ => None,
    }
}

fn read_of(one: char) -> u32 {
    let readings = one.to_pinyin_multi().into_iter().flatten();
    let letters = readings.filter_map(|reading| symbol(*reading.plain().as_bytes().first()?));
    letters.filter(|letter| *letter < 26).fold(0, |all, letter| all | 1 << letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_find_characters_that_follow_each_other() {
        assert!(matches("启澜生物：拟以自有资金回购股份", "hggf"));
        assert!(matches("回购“股份”", "HGGF"), "marks between characters are passed over");
        assert!(matches("沪深300ETF申购", "300etfs"));
        assert!(!matches("回到股份", "hggf"));
        assert!(!matches("回购", "hggf"));
        assert!(!matches("回购", ""));
        assert!(!matches("回购", "回购"), "letters alone are initials");
    }

    #[test]
    fn a_character_counts_with_each_of_its_readings() {
        assert!(matches("银行间", "yhj") && matches("银行间", "yxj"));
        assert!(matches("重组", "cz") && matches("重组", "zz"));
        assert!(matches("𠮷利", "l"), "a character without a reading in the table is passed over");
    }

    #[test]
    fn a_beginning_that_fails_does_not_hide_a_later_one() {
        assert!(matches("回购回购股份", "hggf"));
        assert!(matches("aab", "ab") && matches("aaab", "aab"));
        assert!(!matches("ab", &"a".repeat(65)));
    }
}

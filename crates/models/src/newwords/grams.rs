//! Text as places, and places as sorted numbers: the ground on which all character n-grams are counted.
//!
//! Chinese characters of the basic plane and Latin letters stand in runs; everything else ends a run. Each place of a run becomes one
//! `u128`: its character and the six after it in the upper seven 16-bit fields, the character before it in the lowest; 0
//! where the run ends, or 1 where a digit ends it: 个基点 behind digits is part of a numeral. Sorted, all n-grams of up to six characters are ranges of these numbers, together with
//! their neighbours on both sides.

/// Characters of the longest n-gram.
pub(super) const LONGEST: usize = 6;

/// Bits of a character.
const CHARACTER: u32 = 16;

/// A place of the text: seven characters from it on, and the one before.
pub(super) type Place = u128;

/// Stands for any digit beside a run.
pub(super) const DIGIT: u16 = 1;

/// True if a word may hold this character.
fn code(c: char) -> Option<u16> {
    match c {
        '\u{4E00}'..='\u{9FFF}' | '\u{3400}'..='\u{4DBF}' | 'a'..='z' | 'A'..='Z' => Some(c as u16),
        _ => None,
    }
}

/// True if this is a Latin letter; a run of them is never cut.
pub(super) fn is_letter(code: u16) -> bool {
    (DIGIT + 1..0x80).contains(&code)
}

/// Appends the places of a text. `run` is scratch memory.
pub(super) fn places(text: &str, run: &mut Vec<u16>, out: &mut Vec<Place>) {
    let mut begin = 0;
    for c in text.chars() {
        match code(c) {
            Some(code) => run.push(code),
            None => {
                let end = if matches!(c, '0'..='9' | '０'..='９') { DIGIT } else { 0 };
                end_run(run, begin, end, out);
                begin = end;
            }
        }
    }
    end_run(run, begin, 0, out);
}

/// Appends the places of a run between `begin` and `end`.
fn end_run(run: &mut Vec<u16>, begin: u16, end: u16, out: &mut Vec<Place>) {
    let mut place = Place::from(end) << (Place::BITS - CHARACTER);
    for i in (0..run.len()).rev() {
        place = Place::from(run[i]) << (Place::BITS - CHARACTER) | (place >> CHARACTER) & !0xFFFF;
        let before = if i > 0 { run[i - 1] } else { begin };
        if !(is_letter(run[i]) && is_letter(before)) {
            out.push(place | Place::from(before));
        }
    }
    run.clear();
}

/// The first `len` characters of a place.
pub(super) fn prefix(place: Place, len: usize) -> Place {
    place & !(Place::MAX >> (CHARACTER * len as u32))
}

pub(super) fn character(place: Place, i: usize) -> u16 {
    (place >> (Place::BITS - CHARACTER * (i as u32 + 1))) as u16
}

/// The character before the place; 0 where a run begins.
pub(super) fn before(place: Place) -> u16 {
    place as u16
}

/// The characters from `i` on, up to `len` of the whole.
pub(super) fn suffix(place: Place, i: usize, len: usize) -> Place {
    prefix(place << (CHARACTER * i as u32), len - i)
}

/// The first `len` characters as text.
pub(super) fn text(place: Place, len: usize) -> String {
    (0..len).filter_map(|i| char::from_u32(u32::from(character(place, i)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gram_texts(text_: &str) -> Vec<(String, char)> {
        let mut out = Vec::new();
        places(text_, &mut Vec::new(), &mut out);
        let shown = |place: &Place| {
            let before = char::from_u32(u32::from(before(*place))).filter(|&c| c != '\0');
            (text(*place, 7).replace('\0', "").replace('\u{1}', "#"), before.unwrap_or('|'))
        };
        out.iter().rev().map(shown).collect()
    }

    #[test]
    fn places_know_seven_characters_and_the_one_before() {
        let expected = [("云启智联公司拟", '|'), ("启智联公司拟回", '云'), ("智联公司拟回购", '启')];
        let found = gram_texts("云启智联公司拟回购");
        assert_eq!(found[..3], expected.map(|(t, c)| (t.to_owned(), c)));
        assert_eq!(found[8], ("购".to_owned(), '回'));
    }

    #[test]
    fn marks_and_digits_end_runs_and_letters_are_never_cut() {
        // Digits are one neighbour, whichever they are.
        const DIGITS: char = '\u{1}';
        let found: Vec<(String, char)> = gram_texts("买CXO概念2份，ETF");
        let expected =
            [("ETF", '|'), ("份", DIGITS), ("买CXO概念#", '|'), ("CXO概念#", '买'), ("概念#", 'O'), ("念#", '概')];
        let mut found: Vec<(&str, char)> = found.iter().map(|(t, c)| (t.as_str(), *c)).collect();
        found.sort_unstable();
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn parts_of_a_place_are_told_by_their_length() {
        let mut out = Vec::new();
        places("云启智联", &mut Vec::new(), &mut out);
        let gram = prefix(out[3], 4);
        assert_eq!((text(suffix(gram, 1, 4), 3).as_str(), text(prefix(gram, 3), 3).as_str()), ("启智联", "云启智"));
        assert_eq!(suffix(gram, 1, 4), prefix(out[2], 3));
        assert!(prefix(gram, 2) < prefix(gram, 3));
    }
}

//! The first letters of Chinese as it sounds: `hggf` for 回购股份.

use pinyin::ToPinyin;

/// The first letter of each character's pinyin; other characters as they are, in small letters.
pub(crate) fn initials(text: &str) -> String {
    let of = |character: char| match character.to_pinyin() {
        Some(sound) => sound.first_letter().to_owned(),
        None => character.to_lowercase().to_string(),
    };
    text.chars().map(of).collect()
}

/// Whether a query of latin letters is found among the initials of a text.
pub(crate) fn matches(text: &str, query: &str) -> bool {
    let latin = !query.is_empty() && query.bytes().all(|byte| byte.is_ascii_alphanumeric());
    latin && initials(text).contains(&query.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chinese_is_found_by_its_initials() {
        assert_eq!(initials("回购A股份"), "hgagf");
        assert!(matches("拟回购股份", "hggf") && matches("拟回购股份", "HG"));
        assert!(!matches("拟回购股份", "gh") && !matches("拟回购股份", "") && !matches("拟回购股份", "回"));
    }
}

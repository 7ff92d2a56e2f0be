//! Words as a shell takes them, for commands that people copy.

/// A word as it is where nothing in it means anything to a shell, else in single quotes.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=@,+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_one_word_whatever_it_holds() {
        assert_eq!(quoted("300731.SZ"), "300731.SZ");
        assert_eq!(quoted("启澜生物"), "启澜生物");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("公司[MASK]"), "'公司[MASK]'");
        assert_eq!(quoted("it's; rm $HOME"), r"'it'\''s; rm $HOME'");
        assert_eq!(quoted(""), "''");
    }
}

//! Text in CSV that spreadsheets would compute: a field that begins with `=`, `+`, `-`, `@`, a tab or a line end is a formula to them,
//! quoted or not, and a formula can send what stands in the sheet elsewhere.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// Treatment of text fields that begin as a formula does. Numbers are never changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Formulas {
    /// They stay as they are: programs read the text that was written.
    #[default]
    Keep,
    /// They get an apostrophe in front, so that spreadsheets show them as text.
    Quote,
}

impl Formulas {
    /// A field of text as it is written.
    pub fn field(self, text: &str) -> Cow<'_, str> {
        if self == Formulas::Quote && is_formula(text) { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) }
    }
}

/// True if a spreadsheet would compute a text. Some accept the full-width forms of the signs, and all skip blanks.
fn is_formula(text: &str) -> bool {
    let begins = |text: &str| text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    (begins(text) || begins(text.trim_start())) && text.parse::<f64>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_quoted_and_numbers_and_other_texts_are_not() {
        for text in
            ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1+1", "-", "-深市", "+86 10"]
        {
            assert_eq!(Formulas::Quote.field(text), format!("'{text}"));
            assert_eq!(Formulas::Keep.field(text), text);
        }
        for text in ["-0.5", "+1e-3", "-inf", "", "净利润=收入-成本", "a@b", "600517.SH", "'=1"] {
            assert_eq!(Formulas::Quote.field(text), text);
        }
    }
}

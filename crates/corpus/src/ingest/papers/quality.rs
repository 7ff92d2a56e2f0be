//! Quality of the text of a file, in figures.

use serde::{Deserialize, Serialize};

use super::letters::{is_unmapped, is_usual};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// Characters of the text, spaces not counted.
    pub characters: usize,
    /// Share of the drawn glyphs whose character the file does not tell (0 to 1): no mapping, `(cid:` marks, U+FFFD, private use.
    pub unmapped: f64,
    /// Share of the other characters that Chinese text does not have (0 to 1), as of text in a wrong encoding.
    pub garbled: f64,
    pub blank_pages: usize,
    pub characters_a_page: f64,
}

/// Counts characters on the way to a [`Quality`].
#[derive(Clone, Debug, Default)]
pub(super) struct Census {
    glyphs: usize,
    unmapped: usize,
    unusual: usize,
}

impl Census {
    /// Counts a glyph; one without characters is unmapped.
    pub(super) fn add_glyph(&mut self, text: &str) {
        if text.is_empty() {
            (self.glyphs, self.unmapped) = (self.glyphs + 1, self.unmapped + 1);
        }
        self.add(text);
    }

    /// Counts the characters of a text.
    pub(super) fn add(&mut self, text: &str) {
        // Extractors write such marks for glyphs without a character; each is one glyph.
        let marks = text.matches("(cid:").count();
        self.unmapped += marks;
        for c in text.chars().filter(|c| !c.is_whitespace()) {
            self.glyphs += 1;
            self.unmapped += usize::from(is_unmapped(c));
            self.unusual += usize::from(!is_unmapped(c) && !is_usual(c));
        }
    }

    /// The figures of a text of so many pages; `blank` of them have no text.
    pub(super) fn quality(&self, pages: usize, blank: usize) -> Quality {
        let share = |n: usize, of: usize| if of == 0 { 0.0 } else { n as f64 / of as f64 };
        Quality {
            characters: self.glyphs,
            unmapped: share(self.unmapped, self.glyphs).min(1.0),
            garbled: share(self.unusual, self.glyphs.saturating_sub(self.unmapped)),
            blank_pages: blank,
            characters_a_page: share(self.glyphs, pages.max(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_what_was_drawn() {
        let mut census = Census::default();
        ["净", "利", "润", "", "\u{e123}", "Ö", "Ð", "a", " ", "。"].iter().for_each(|g| census.add_glyph(g));
        let quality = census.quality(2, 1);
        assert_eq!((quality.characters, quality.unmapped), (9, 2.0 / 9.0));
        assert_eq!((quality.garbled, quality.characters_a_page, quality.blank_pages), (2.0 / 7.0, 4.5, 1));
        assert_eq!(Census::default().quality(0, 0), Quality::default());
    }

    #[test]
    fn sound_text_has_nothing_garbled() {
        let mut census = Census::default();
        census.add("◆ 公司（000001.SZ）2024年营收85.1亿元，同比+89.3%，“增持”……α≈1.2；①②③ ■→《报告》\u{f06c}");
        let quality = census.quality(1, 0);
        assert_eq!((quality.unmapped, quality.garbled), (0.0, 0.0));
    }
}

//! Tokenizers of contextual models: a definition is refused, or gives pieces whose offsets lie on character boundaries, in order.
//!
//! The first byte says what the file is; the text that is cut stands behind the last zero byte.

use inkstone_text::subword::Subword;

use super::with_file;

pub(super) fn check(bytes: &[u8]) {
    let [choice, bytes @ ..] = bytes else { return };
    let name = ["tokenizer.json", "vocab.txt", "spiece.model"][usize::from(choice % 3)];
    let (definition, text) = match bytes.iter().rposition(|&byte| byte == 0) {
        Some(at) if choice / 3 % 2 == 0 => (&bytes[..at], &bytes[at + 1..]),
        _ => (bytes, "公司净利润增长 12% (ETF)。\u{1f600}".as_bytes()),
    };
    let text = String::from_utf8_lossy(text);
    with_file(name, definition, |path| {
        let Ok(subword) = Subword::open(path) else { return };
        let Ok(all) = subword.encode(&text) else { return };
        assert_eq!(all.ids.len(), all.offsets.len());
        for range in &all.offsets {
            assert!(text.get(range.start as usize..range.end as usize).is_some(), "{range:?} of {text:?}");
        }
        assert!(all.offsets.windows(2).all(|pair| pair[0].start <= pair[1].start), "{:?} of {text:?}", all.offsets);
        assert!(all.ids.iter().all(|&id| (id as usize) < subword.size()));
        for max in [0, 1, 3] {
            if let (Ok(head), Ok(tail)) = (subword.encode_head(&text, max), subword.encode_tail(&text, max)) {
                assert_eq!(head.ids, all.ids[..max.min(all.ids.len())]);
                assert_eq!(tail.ids, all.ids[all.ids.len().saturating_sub(max)..]);
            }
        }
        subword.decode(&all.ids);
    });
}

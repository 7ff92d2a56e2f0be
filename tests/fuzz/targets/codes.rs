//! Codes of securities: what was read is in canonical form, and reads as itself.

use inkstone_base::code::Code;

pub(super) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (codes, unread) = Code::parse_list(text);
    assert!(unread.iter().all(|piece| Code::parse(piece).is_none()));
    for code in codes.into_iter().chain(Code::parse(text)) {
        assert_eq!(Code::parse(code.as_str()), Some(code));
    }
}

//! Encodings: a text is decoded whole or refused, and UTF-8 and UTF-16 come back as they were.

use inkstone_base::encoding::decode_whole;

pub(super) fn check(bytes: &[u8]) {
    let Ok((text, name)) = decode_whole(bytes) else { return };
    let units = |unit: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(unit).collect::<Vec<u8>>();
    let (again, mark): (Vec<u8>, &[u8]) = match name {
        "UTF-8" => (text.clone().into_bytes(), b"\xef\xbb\xbf"),
        "UTF-16LE" => (units(u16::to_le_bytes), b"\xff\xfe"),
        "UTF-16BE" => (units(u16::to_be_bytes), b"\xfe\xff"),
        // Of some characters these have two forms.
        _ => return assert!(text.chars().count() <= bytes.len()),
    };
    assert_eq!(again, bytes.strip_prefix(mark).unwrap_or(bytes));
}

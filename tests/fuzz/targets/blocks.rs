//! The store's blocks and envelopes: what is unpacked packs into the same bytes, and a seal is refused or gives its content.

use inkstone_store::{pack, seal, unpack, unseal};

pub(super) fn check(bytes: &[u8]) {
    let Ok((first, rows)) = unpack(bytes) else { return };
    let blocks = pack(&rows).expect("rows that were unpacked can be packed");
    let mut next = first;
    let mut again = Vec::new();
    for block in &blocks {
        let (_, rows) = unpack(block).expect("a block that was packed can be unpacked");
        next += rows.len();
        again.push(rows);
    }
    assert_eq!(next - first, rows.len());
    // A block has one row at the least, and a long one may have been packed as several.
    if blocks.len() == 1 {
        assert!(blocks[0].len() == bytes.len() && blocks[0][8..] == bytes[8..]);
        assert!(again[0] == rows);
    }
}

pub(super) fn seals(bytes: &[u8]) {
    let (key, sealed) = bytes.split_at(bytes.len().min(4));
    if let Ok(content) = unseal(key, sealed) {
        assert_eq!(seal(key, content), sealed);
    }
    let made = seal(key, sealed);
    assert_eq!(unseal(key, &made).expect("what was sealed opens"), sealed);
    let at = bytes.iter().fold(0, |at: usize, &byte| at.wrapping_mul(31).wrapping_add(byte.into())) % made.len();
    let mut flipped = made;
    flipped[at] ^= 1;
    assert!(unseal(key, &flipped).is_err());
}

//! Small fields of an ONNX graph: ranges of bytes, widths of numbers, entries of maps, and descriptions of values.

use anyhow::Result;

use super::graph::ByteRange;
use crate::header::{Skim, Value};

/// Bytes of the file of the graph.
pub(super) fn range(begin: u64, end: u64) -> ByteRange {
    ByteRange { file: 0, offset: begin, length: end - begin }
}

/// Bytes of a number of this type, where they are whole.
pub(super) fn width(data_type: u64) -> Option<u64> {
    match data_type {
        2 | 3 | 9 | 17..=20 => Some(1),
        4 | 5 | 10 | 16 => Some(2),
        1 | 6 | 12 => Some(4),
        7 | 11 | 13 => Some(8),
        _ => None,
    }
}

/// A `StringStringEntryProto`.
pub(super) fn entry(skim: &mut Skim, end: u64) -> Result<(String, String)> {
    let (mut key, mut entry) = (String::new(), String::new());
    while let Some((field, value)) = skim.next(end)? {
        match (field, value) {
            (1, Value::Bytes(end)) => key = skim.text(end)?,
            (2, Value::Bytes(end)) => entry = skim.text(end)?,
            (_, value) => skim.pass(&value)?,
        }
    }
    Ok((key, entry))
}

/// Name and type of a `ValueInfoProto`; 0 where it is no tensor or its type is not stated.
pub(super) fn value_info(skim: &mut Skim, end: u64) -> Result<(String, u64)> {
    let (mut name, mut data_type) = (String::new(), 0);
    while let Some((field, value)) = skim.next(end)? {
        match (field, value) {
            (1, Value::Bytes(end)) => name = skim.text(end)?,
            (2, Value::Bytes(end)) => {
                while let Some((field, value)) = skim.next(end)? {
                    let (1, Value::Bytes(end)) = (field, &value) else {
                        skim.pass(&value)?;
                        continue;
                    };
                    while let Some((field, value)) = skim.next(*end)? {
                        match (field, value) {
                            (1, Value::Number(number)) => data_type = number,
                            (_, value) => skim.pass(&value)?,
                        }
                    }
                }
            }
            (_, value) => skim.pass(&value)?,
        }
    }
    Ok((name, data_type))
}

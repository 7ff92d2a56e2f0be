//! Word vectors: what is read is finite and comes back to the bit through both formats, unless a word cannot be written.

use inkstone_models::{VectorFormat, is_vectors, read_vectors};

use super::with_file;

pub(super) fn check(bytes: &[u8]) {
    with_file("v.vec", bytes, |path| {
        is_vectors(path).expect("any file is one or not");
        let Ok(vectors) = read_vectors(path) else { return };
        assert_eq!(vectors.values().len(), vectors.words().len() * vectors.dim());
        assert!(vectors.values().iter().all(|value| value.is_finite()));
        for format in [VectorFormat::Text, VectorFormat::Binary] {
            // Values may be bytes that begin as a line of figures; then nobody can tell the formats apart.
            let row: Vec<u8> = vectors.row(0).iter().flat_map(|value| value.to_le_bytes()).collect();
            let alike =
                format == VectorFormat::Binary && row.split(|byte| *byte == b'\n').next().is_none_or(<[u8]>::is_ascii);
            if alike || vectors.export(path, format).is_err() {
                continue;
            }
            let again = read_vectors(path).expect("vectors that were written can be read");
            assert_eq!(again.words(), vectors.words());
            let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<u32>>();
            assert_eq!(bits(again.values()), bits(vectors.values()));
        }
    });
}

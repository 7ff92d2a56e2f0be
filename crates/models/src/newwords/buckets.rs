//! Places by their first two characters, in memory or, beyond a limit, in a file without a name.
//!
//! All n-grams that begin with the same two characters meet in one bucket, so each bucket can be sorted and counted alone. The order
//! in which places come in does not matter.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;

use anyhow::{Context, Result};
use memmap2::Mmap;

use super::grams::{DIGIT, Place, character};
use inkstone_base::disk;
use inkstone_base::language::Word;

/// Number of buckets as a power of 2; about the square root of the places of a large corpus.
const BUCKETS: u32 = 10;

/// The bucket of what begins with the first two characters of `place`.
pub(super) fn bucket_of(place: Place) -> usize {
    let two = (place >> 96) as u32;
    (two.wrapping_mul(0x9E37_79B1) >> (u32::BITS - BUCKETS)) as usize
}

/// Places as they come in.
pub(super) struct PlaceBuckets {
    held: Vec<Vec<Place>>,
    /// Places held, and how many may be.
    count: usize,
    limit: usize,
    spilled: Option<Spill>,
    /// The number of places at which each character stands.
    characters: Vec<u64>,
    places: u64,
}

struct Spill {
    out: BufWriter<File>,
    written: usize,
    /// Bytes of the file that belong to each bucket.
    ranges: Vec<Vec<Range<usize>>>,
}

impl PlaceBuckets {
    /// Holds up to `limit` places in memory.
    pub(super) fn new(limit: usize) -> PlaceBuckets {
        PlaceBuckets {
            held: vec![Vec::new(); 1 << BUCKETS],
            count: 0,
            limit: limit.max(1),
            spilled: None,
            characters: vec![0; 1 << 16],
            places: 0,
        }
    }

    pub(super) fn add(&mut self, places: &[Place]) -> Result<()> {
        for &place in places {
            self.characters[usize::from(character(place, 0))] += 1;
            // A last character of a run begins no n-gram.
            if character(place, 1) > DIGIT {
                self.held[bucket_of(place)].push(place);
                self.count += 1;
            }
        }
        self.places += places.len() as u64;
        if self.count >= self.limit {
            self.spill().context(Word("无法写入临时文件夹", "cannot write to the folder for temporary files"))
        } else {
            Ok(())
        }
    }

    fn spill(&mut self) -> Result<()> {
        let spill = match &mut self.spilled {
            Some(spill) => spill,
            None => self.spilled.insert(Spill {
                out: BufWriter::with_capacity(1 << 20, tempfile::tempfile()?),
                written: 0,
                ranges: vec![Vec::new(); 1 << BUCKETS],
            }),
        };
        for (bucket, ranges) in self.held.iter_mut().zip(&mut spill.ranges) {
            let bytes: &[u8] = bytemuck::cast_slice(bucket);
            spill.out.write_all(bytes)?;
            if !bytes.is_empty() {
                ranges.push(spill.written..spill.written + bytes.len());
            }
            spill.written += bytes.len();
            bucket.clear();
        }
        self.count = 0;
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Filled> {
        let spilled = match self.spilled.take() {
            None => None,
            Some(mut spill) => {
                spill
                    .out
                    .flush()
                    .context(Word("无法写入临时文件夹", "cannot write to the folder for temporary files"))?;
                Some((disk::map_file(spill.out.get_ref())?, spill.ranges))
            }
        };
        Ok(Filled { held: self.held, spilled, characters: self.characters, places: self.places })
    }
}

/// All places of a corpus.
pub(super) struct Filled {
    held: Vec<Vec<Place>>,
    spilled: Option<(Mmap, Vec<Vec<Range<usize>>>)>,
    /// The number of places at which each character stands.
    pub(super) characters: Vec<u64>,
    /// Places in all.
    pub(super) places: u64,
}

impl Filled {
    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    /// Bytes that went to the disk.
    pub(super) fn spilled_bytes(&self) -> usize {
        self.spilled.as_ref().map_or(0, |(map, _)| map.len())
    }

    /// The places of a bucket, sorted.
    pub(super) fn sorted(&self, bucket: usize) -> Vec<Place> {
        let mut places = Vec::new();
        if let Some((map, ranges)) = &self.spilled {
            let bytes: usize = ranges[bucket].iter().map(Range::len).sum();
            places.reserve(bytes / size_of::<Place>() + self.held[bucket].len());
            for range in &ranges[bucket] {
                places.extend_from_slice(bytemuck::cast_slice(&map[range.clone()]));
            }
        }
        places.extend_from_slice(&self.held[bucket]);
        places.sort_unstable();
        places
    }
}

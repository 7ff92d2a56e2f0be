//! The features of a model, found by template and key.

/// Keys of all templates, one template after the other, each in order.
pub struct FeatureTable {
    keys: Vec<u64>,
    /// Index in `keys` at which the keys of each template begin; the last index is the length of `keys`.
    starts: Vec<u64>,
    /// Number of a feature + 1 by hash, 0 for none; a power of two of them.
    slots: Vec<u32>,
}

impl FeatureTable {
    /// Makes the table. `None` if the keys of a template are not ascending, or `starts` does not divide the keys.
    pub fn new(keys: Vec<u64>, starts: Vec<u64>) -> Option<FeatureTable> {
        let ordered = starts.first() == Some(&0)
            && starts.last() == Some(&(keys.len() as u64))
            && starts.windows(2).all(|pair| pair[0] <= pair[1])
            && keys.len() < (u32::MAX / 4) as usize
            && starts.windows(2).all(|pair| keys[pair[0] as usize..pair[1] as usize].windows(2).all(|k| k[0] < k[1]));
        if !ordered {
            return None;
        }
        let mut slots = vec![0; (2 * keys.len() + 1).next_power_of_two()];
        for (template, range) in starts.windows(2).enumerate() {
            for number in range[0]..range[1] {
                let mut slot = slot(template, keys[number as usize], slots.len());
                while slots[slot] != 0 {
                    slot = (slot + 1) & (slots.len() - 1);
                }
                slots[slot] = number as u32 + 1;
            }
        }
        Some(FeatureTable { keys, starts, slots })
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub fn keys(&self) -> &[u64] {
        &self.keys
    }

    pub fn starts(&self) -> &[u64] {
        &self.starts
    }

    /// The number of a feature.
    pub fn find(&self, template: usize, key: u64) -> Option<usize> {
        let range = self.starts[template]..self.starts[template + 1];
        let mut slot = slot(template, key, self.slots.len());
        loop {
            let number = self.slots[slot].checked_sub(1)? as usize;
            if self.keys[number] == key && range.contains(&(number as u64)) {
                return Some(number);
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }
}

fn slot(template: usize, key: u64, slots: usize) -> usize {
    let mixed = (key ^ (template as u64) << 58).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ mixed >> 32) as usize & (slots - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_is_found_under_its_template_alone() {
        let table = FeatureTable::new(vec![3, 9, 1, 9], vec![0, 2, 2, 4]).unwrap();
        assert_eq!(
            [(0, 3), (0, 9), (2, 1), (2, 9)].map(|(template, key)| table.find(template, key)),
            [0, 1, 2, 3].map(Some)
        );
        assert_eq!([(0, 1), (1, 9), (2, 3)].map(|(template, key)| table.find(template, key)), [None; 3]);
        for (keys, starts) in [(vec![3, 3], vec![0, 2]), (vec![3], vec![0, 2]), (vec![3], vec![1, 1])] {
            assert!(FeatureTable::new(keys, starts).is_none());
        }
    }
}

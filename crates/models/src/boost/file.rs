//! Trees as bytes of a model file: words of four bytes, little-endian.
//!
//! | words | |
//! |---|---|
//! | [`FORMAT`], columns, outputs | |
//! | the columns, ascending | |
//! | for each output: base score (f64, two words), trees | for each tree: nodes, and these |
//! | a leaf: 0, cover (f32), value (f32) | |
//! | a split: 1, or 2 if absent values go left; cover, threshold (f32), column, left child | |

use anyhow::{Context, Result};

use super::tree::{NodePart, Tree, TreeNode};
use super::{Boosted, OutputTrees};

use inkstone_base::language::Word;
use inkstone_base::{bail, ensure};

/// Where trees of another format, or JSON, have other bytes.
const FORMAT: u32 = 2;

const LEAF: u32 = 0;
const ABSENT_RIGHT: u32 = 1;
const ABSENT_LEFT: u32 = 2;

impl Boosted {
    /// The trees as bytes of a model file.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut words = vec![FORMAT, self.columns.len() as u32, self.outputs.len() as u32];
        words.extend(&self.columns);
        for output in &self.outputs {
            let base = output.base.to_bits();
            words.extend([base as u32, (base >> 32) as u32, output.trees.len() as u32]);
            for tree in &output.trees {
                words.push(tree.nodes.len() as u32);
                tree.nodes.iter().for_each(|node| write_node(node, &mut words));
            }
        }
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Boosted> {
        let mut words = Words { rest: bytes };
        ensure!(
            words.next().is_ok_and(|format| format == FORMAT),
            "它们属于程序的另一版本",
            "they are of another version of the program"
        );
        let (columns, outputs) = (words.next()?, words.next()?);
        let columns: Vec<u32> = (0..columns).map(|_| words.next()).collect::<Result<_>>()?;
        ensure!(columns.is_sorted_by(|a, b| a < b), "它们的列不是升序", "their columns do not ascend");
        let outputs = (0..outputs).map(|_| read_output(&mut words, columns.len())).collect::<Result<_>>()?;
        ensure!(words.rest.is_empty(), "最后一棵树之后还有 {} 字节", "{} bytes follow the last tree", words.rest.len());
        Ok(Boosted { columns, outputs })
    }
}

fn write_node(node: &TreeNode, words: &mut Vec<u32>) {
    let cover = node.cover.to_bits();
    match node.part {
        NodePart::Leaf { value } => words.extend([LEAF, cover, value.to_bits()]),
        NodePart::Split { column, threshold, left, absent_left } => {
            let kind = if absent_left { ABSENT_LEFT } else { ABSENT_RIGHT };
            words.extend([kind, cover, threshold.to_bits(), column, left]);
        }
    }
}

struct Words<'a> {
    rest: &'a [u8],
}

impl Words<'_> {
    fn next(&mut self) -> Result<u32> {
        let (word, rest) = self.rest.split_first_chunk().context(Word("它们不完整", "they are cut short"))?;
        self.rest = rest;
        Ok(u32::from_le_bytes(*word))
    }

    fn number(&mut self) -> Result<f32> {
        Ok(f32::from_bits(self.next()?))
    }
}

fn read_output(words: &mut Words<'_>, columns: usize) -> Result<OutputTrees> {
    let base = f64::from_bits(u64::from(words.next()?) | u64::from(words.next()?) << 32);
    ensure!(base.is_finite(), "基准分为 {base}", "a base score is {base}");
    let trees = (0..words.next()?).map(|_| read_tree(words, columns)).collect::<Result<_>>()?;
    Ok(OutputTrees { base, trees })
}

fn read_tree(words: &mut Words<'_>, columns: usize) -> Result<Tree> {
    let n = words.next()? as usize;
    ensure!(n > 0, "有树没有根", "a tree has no root");
    let nodes: Vec<TreeNode> = (0..n).map(|_| read_node(words)).collect::<Result<_>>()?;
    for (i, node) in nodes.iter().enumerate() {
        ensure!(
            node.cover > 0.0 && node.cover.is_finite(),
            "树的节点 {i} 覆盖 {}",
            "node {i} of a tree covers {}",
            node.cover
        );
        match node.part {
            NodePart::Leaf { value } => {
                ensure!(value.is_finite(), "树的叶 {i} 为 {value}", "leaf {i} of a tree is {value}")
            }
            NodePart::Split { column, threshold, left, .. } => {
                let left = left as usize;
                ensure!(
                    (column as usize) < columns,
                    "有树在 {columns} 列中的第 {column} 列划分",
                    "a tree splits on column {column} of {columns}"
                );
                ensure!(!threshold.is_nan(), "树的节点 {i} 在 NaN 处划分", "node {i} of a tree splits at NaN");
                // Children stand behind their parent, so that no way through the tree is without an end.
                ensure!(
                    left > i && left + 1 < n,
                    "树的节点 {i} 的子节点在 {left}，而节点只有 {n} 个",
                    "node {i} of a tree has children at {left}, of {n} nodes"
                );
            }
        }
    }
    Ok(Tree { nodes })
}

fn read_node(words: &mut Words<'_>) -> Result<TreeNode> {
    let (kind, cover, number) = (words.next()?, words.number()?, words.number()?);
    let part = match kind {
        LEAF => NodePart::Leaf { value: number },
        ABSENT_LEFT | ABSENT_RIGHT => NodePart::Split {
            column: words.next()?,
            threshold: number,
            left: words.next()?,
            absent_left: kind == ABSENT_LEFT,
        },
        kind => bail!("树的一个节点种类为 {kind}", "a node of a tree is of kind {kind}"),
    };
    Ok(TreeNode { cover, part })
}

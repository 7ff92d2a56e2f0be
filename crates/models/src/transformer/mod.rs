//! Transformers, forward and backward, on the products of `crate::neural`.
//!
//! Texts stand one after the other without filling: a matrix has a row a token, and attention goes over the tokens of a text alone. So a text
//! has the same bits whatever it stands beside.

mod attention;
mod block;
mod norm;
#[cfg(test)]
mod tests;

pub use block::{BlockActivation, BlockShape, BlockWeights, EncoderBlock, ForwardPass, NormPlace};

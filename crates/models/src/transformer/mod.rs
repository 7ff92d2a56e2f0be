//! Transformers, forward and backward, on the products of `crate::neural`.
//!
//! Texts stand one after the other without filling: a matrix has a row a token, and attention goes over the tokens of a text alone. So a text
//! has the same bits whatever it stands beside.
//!
//! | file | content |
//! |---|---|
//! | `block.rs`, `sublayers.rs`, `attention.rs`, `norm.rs`, `dropout.rs` | a block of an encoder |
//! | `encoder.rs`, `head.rs` | embeddings and blocks, and the layers that predict words, classes, labels or a value |
//! | `train.rs`, `net.rs`, `batches.rs`, `params.rs` | training from nothing or from a base |
//! | `masking.rs`, `adapt.rs` | masked words; matrices of low rank |
//! | `electra.rs` | replaced tokens: a generator and a discriminator |
//! | `seq2seq/` | an encoder and a decoder that writes (BART) |
//! | `rnn/` | a recurrent encoder and a recurrent decoder with attention |
//! | `frozen.rs` | vectors before the first trained layer, computed once |
//! | `walk.rs` | an encoder for each fold of a walk |
//! | `family.rs`, `folder.rs` | encoders in folders of Hugging Face |

mod adapt;
mod attention;
mod batches;
mod block;
mod dropout;
mod electra;
mod encoder;
mod family;
mod folder;
mod frozen;
mod head;
mod lstm;
mod masking;
mod net;
mod norm;
mod params;
mod reading;
mod rnn;
mod seq2seq;
mod sublayers;
#[cfg(test)]
mod tests;
mod train;
mod walk;

pub use block::{
    BlockActivation, BlockKind, BlockShape, BlockWeights, Dropping, EncoderBlock, ForwardPass, NormPlace,
    WantedGradients,
};
pub use electra::train_electra;
pub use encoder::{BEGINS, CONTINUES, EncoderShape, NAMED, REPLACED, SECOND, token_number};
pub use folder::{EncoderFolder, ModelFolder};
pub use frozen::FrozenStates;
pub use head::{HeadForm, HeadForms, PooledActivation, TextGoal};
pub use masking::Masking;
pub use params::{TrainedLayers, TransformerParams};
pub use rnn::{Aligned, AttentionScore, RnnFolder, RnnSeq2Seq, RnnShape};
pub use seq2seq::{Noise, Noising, Seq2Seq, Seq2SeqFolder, Seq2SeqShape};
pub use train::{Goals, TaughtClasses, TokenTexts, TrainingTexts, Transformer, UNTAGGED, WordsBeside};
pub use walk::{BaseVintage, FinetunedFolds, softmax};

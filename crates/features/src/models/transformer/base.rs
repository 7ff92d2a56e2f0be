//! The folder of a model that is trained on: an encoder, or an encoder with its decoder, of attention or recurrent.

use std::path::Path;

use anyhow::Result;

use inkstone_models::transformer::{EncoderFolder, ModelFolder, RnnFolder, Seq2SeqFolder};

pub(super) enum OpenedBase {
    Encoder(EncoderFolder),
    Seq2Seq(Seq2SeqFolder),
    Rnn(RnnFolder),
}

impl OpenedBase {
    pub(super) fn open(folder: &Path) -> Result<OpenedBase> {
        Ok(if Seq2SeqFolder::has_decoder(folder) {
            OpenedBase::Seq2Seq(Seq2SeqFolder::open(folder)?)
        } else if RnnFolder::is_one(folder) {
            OpenedBase::Rnn(RnnFolder::open(folder)?)
        } else {
            OpenedBase::Encoder(EncoderFolder::open(folder)?)
        })
    }

    /// The method of `inkstone train` by which the base is trained on.
    pub(super) fn method(&self) -> &'static str {
        match self {
            OpenedBase::Encoder(folder) => folder.method(),
            OpenedBase::Seq2Seq(_) => "bart",
            OpenedBase::Rnn(_) => "writer",
        }
    }

    pub(super) fn files(&self) -> &ModelFolder {
        match self {
            OpenedBase::Encoder(folder) => &folder.files,
            OpenedBase::Seq2Seq(folder) => &folder.files,
            OpenedBase::Rnn(folder) => &folder.files,
        }
    }

    /// Rows of the table of tokens.
    pub(super) fn vocabulary(&self) -> usize {
        match self {
            OpenedBase::Encoder(folder) => folder.shape.vocabulary,
            OpenedBase::Seq2Seq(folder) => folder.shape.encoder.vocabulary,
            OpenedBase::Rnn(folder) => folder.shape.vocabulary,
        }
    }

    /// Tokens of a text at most, special tokens included.
    pub(super) fn most_tokens(&self) -> usize {
        match self {
            OpenedBase::Encoder(folder) => folder.most_tokens(),
            OpenedBase::Seq2Seq(folder) => folder.most_tokens(),
            OpenedBase::Rnn(folder) => folder.shape.places,
        }
    }
}

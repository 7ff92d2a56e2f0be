//! The likeliest text, token by token, and the attention of the decoder.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::net::ReadyRnn;
use super::{AttentionScore, RnnSeq2Seq};
use inkstone_base::ensure;

use anyhow::Result;

/// A written text, and where the decoder looked.
#[derive(Clone, Debug, PartialEq)]
pub struct Aligned {
    /// The tokens that were written, the end among them where it was.
    pub target: Vec<u32>,
    /// For each of them the shares of the tokens of the source, which sum to 1.
    pub shares: Vec<Vec<f32>>,
}

impl RnnSeq2Seq {
    /// Writes behind `source`, which has its special tokens, the likeliest token in each step: `most` tokens, or up to the end. Shares are empty
    /// where the model has no attention.
    pub fn write(&self, source: &[u32], most: usize) -> Aligned {
        let ready = ReadyRnn::new(&self.shape, &self.values());
        // Nothing is drawn without dropout.
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let text = 0..source.len();
        let read = ready.read(source, std::slice::from_ref(&text), 0.0, &mut rng);
        let texts = [text];
        let source = ready.decoder.attention.source(&read.rows, &texts, &read.last);
        let mut states = ready.decoder.begun(&read.last);
        let mut cells = states.clone();
        let mut written = Aligned { target: Vec::new(), shares: Vec::new() };
        let [mut token, end] = self.shape.ends;
        while written.target.len() < most && (written.target.is_empty() || token != end) {
            let step = ready.decoder.step(&source, &[0], [&states, &cells], &ready.decoder.vectors(&[token]));
            token = ready.decoder.likeliest(&step, &[0])[0];
            written.target.push(token);
            written.shares.extend(step.attended.shares);
            (states, cells) = (step.passed.states, step.passed.cells);
        }
        written
    }

    /// The weights of attention over `source` for each token of `target`, whose last token may be the end. Fails without attention.
    pub fn align(&self, source: &[u32], target: &[u32]) -> Result<Aligned> {
        self.check_attention()?;
        let ready = ReadyRnn::new(&self.shape, &self.values());
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let texts = [(); 1].map(|()| 0..source.len());
        let read = ready.read(source, &texts, 0.0, &mut rng);
        let source = ready.decoder.attention.source(&read.rows, &texts, &read.last);
        let from_start = [&self.shape.ends[..1], target].concat();
        let shares = ready.decoder.forward(&source, &[&from_start], 1.0, 0.0, &mut rng).shares().collect();
        Ok(Aligned { target: target.to_vec(), shares })
    }

    /// Fails for a model that looks at no token of the source.
    pub fn check_attention(&self) -> Result<()> {
        ensure!(
            self.shape.score != AttentionScore::None,
            "该模型没有注意力（--attention none），没有对齐可看",
            "the model has no attention (--attention none), so there is no alignment to see"
        );
        Ok(())
    }
}

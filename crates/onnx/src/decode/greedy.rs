//! The likeliest token, again and again.

use anyhow::Result;

use super::bans::Bans;
use super::{FoundText, NextToken, SearchParams, log_softmax, logits, score};

pub(super) fn search(
    model: &mut impl NextToken,
    prompt: &[u32],
    params: &SearchParams,
    bans: &Bans<'_>,
) -> Result<FoundText> {
    let mut prefixes = [prompt.to_vec()];
    let mut sum = 0.0;
    for _ in 0..params.max_new_tokens {
        let mut scores = logits(model, &prefixes)?.remove(0);
        bans.apply(&prefixes[0], &mut scores);
        // The first of equals wins.
        let (best, largest) = scores
            .iter()
            .enumerate()
            .fold((0, f32::NEG_INFINITY), |best, (token, score)| if *score > best.1 { (token, *score) } else { best });
        if largest == f32::NEG_INFINITY {
            break;
        }
        log_softmax(&mut scores);
        sum += scores[best];
        prefixes[0].push(best as u32);
        if params.eos.contains(&(best as u32)) {
            break;
        }
    }
    let ids = prefixes[0].split_off(prompt.len());
    Ok(FoundText { score: score(sum, ids.len().max(1), params), ids })
}

//! The best of several texts that grow side by side.

use anyhow::Result;

use super::bans::Bans;
use super::ends::Ends;
use super::{EarlyStopping, FoundText, NextToken, SearchParams, log_softmax, logits, score};

/// A text with one more token: the sum of its logarithms, the beam it comes from, the token.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    sum: f32,
    beam: usize,
    token: u32,
}

pub(super) fn search(
    model: &mut impl NextToken,
    prompt: &[u32],
    params: &SearchParams,
    bans: &Bans<'_>,
    ends: &Ends<'_>,
) -> Result<Vec<FoundText>> {
    let beams = params.beams;
    // So many that as many as there are beams go on, whatever ends.
    let keep = beams * (1 + params.eos.len()).max(2);
    let mut running = vec![prompt.to_vec()];
    let mut sums = vec![0.0f32];
    let mut parents = Vec::new();
    let mut finished: Vec<FoundText> = Vec::new();
    for length in 1..=params.max_new_tokens {
        let candidates = candidates(logits(model, &running, &parents)?, &running, prompt.len(), &sums, keep, bans)?;
        let written = |candidate: &Candidate| {
            let mut ids = running[candidate.beam].clone();
            ids.push(candidate.token);
            ids
        };
        let ended: Vec<bool> = candidates
            .iter()
            .map(|candidate| length == params.max_new_tokens || ends.end(&written(candidate)[prompt.len()..]))
            .collect();
        // Candidates behind the first ones replace them, and do not finish themselves.
        for (candidate, _) in candidates.iter().zip(&ended).take(beams).filter(|(_, ended)| **ended) {
            let ids = written(candidate).split_off(prompt.len());
            finished.push(FoundText { ids, score: score(candidate.sum, length, params) });
        }
        // Stable: of equals, the one that was found first.
        finished.sort_by(|a, b| b.score.total_cmp(&a.score));
        finished.truncate(beams);
        let on = candidates.iter().zip(&ended).filter(|(_, ended)| !**ended).map(|(candidate, _)| *candidate);
        let on: Vec<Candidate> = on.take(beams).collect();
        let next = on.iter().map(written).collect();
        if on.is_empty() {
            break;
        }
        running = next;
        parents = on.iter().map(|candidate| candidate.beam).collect();
        sums = on.iter().map(|candidate| candidate.sum).collect();
        if finished.len() == beams && !promising(sums[0], finished[beams - 1].score, length, params) {
            break;
        }
    }
    if finished.is_empty() {
        // Nothing may follow: what there is, is all there is.
        let all = running.into_iter().zip(sums).map(|(mut ids, sum)| {
            let ids = ids.split_off(prompt.len());
            FoundText { score: score(sum, ids.len().max(1), params), ids }
        });
        finished.extend(all);
        finished.sort_by(|a, b| b.score.total_cmp(&a.score));
    }
    Ok(finished)
}

/// The best `keep` continuations of all beams, from the best on.
fn candidates(
    rows: Vec<Vec<f32>>,
    running: &[Vec<u32>],
    prompt: usize,
    sums: &[f32],
    keep: usize,
    bans: &Bans<'_>,
) -> Result<Vec<Candidate>> {
    let mut all = Vec::with_capacity(rows.len() * rows[0].len());
    for (beam, mut row) in rows.into_iter().enumerate() {
        log_softmax(&mut row);
        bans.apply(&running[beam], prompt, &mut row)?;
        let possible = row.iter().enumerate().filter(|(_, log)| **log > f32::NEG_INFINITY);
        all.extend(possible.map(|(token, log)| Candidate { sum: log + sums[beam], beam, token: token as u32 }));
    }
    let order = |a: &Candidate, b: &Candidate| b.sum.total_cmp(&a.sum).then((a.beam, a.token).cmp(&(b.beam, b.token)));
    if all.len() > keep {
        all.select_nth_unstable_by(keep, order);
        all.truncate(keep);
    }
    all.sort_by(order);
    Ok(all)
}

/// True if the best text in work may still become better than the worst that is finished.
fn promising(best: f32, worst: f32, length: usize, params: &SearchParams) -> bool {
    let length = match params.early_stopping {
        EarlyStopping::Always => return false,
        EarlyStopping::Never if params.length_penalty > 0.0 => params.max_new_tokens,
        EarlyStopping::Never | EarlyStopping::Likely => length,
    };
    score(best, length, params) > worst
}

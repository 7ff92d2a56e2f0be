//! One token after another, of several texts at once: the likeliest, or one that is drawn.

use anyhow::Result;

use super::bans::Bans;
use super::draw::Uniforms;
use super::ends::Ends;
use super::{FoundText, NextToken, SearchParams, log_softmax, logits, score};

/// A text in work.
#[derive(Clone, Copy)]
struct Row {
    /// The number of its prompt, and its own among the texts that are drawn after it.
    prompt: usize,
    number: usize,
    sum: f32,
}

pub(super) fn search(
    model: &mut impl NextToken,
    prompts: &[Vec<u32>],
    params: &SearchParams,
    bans: &Bans<'_>,
    ends: &Ends<'_>,
    uniforms: Uniforms<'_>,
) -> Result<Vec<Vec<FoundText>>> {
    let mut found: Vec<Vec<(usize, FoundText)>> = vec![Vec::new(); prompts.len()];
    let mut prefixes = prompts.to_vec();
    let mut rows: Vec<Row> = (0..prompts.len()).map(|prompt| Row { prompt, number: 0, sum: 0.0 }).collect();
    let mut parents = Vec::new();
    for written in 1..=params.max_new_tokens {
        if rows.is_empty() {
            break;
        }
        let mut on = (Vec::new(), Vec::new(), Vec::new());
        let all = logits(model, &prefixes, &parents)?;
        for (parent, (row, mut scores)) in rows.iter().zip(all).enumerate() {
            let begin = prompts[row.prompt].len();
            bans.apply(&prefixes[parent], begin, &mut scores)?;
            // All texts after a prompt have their first step in common.
            let numbers = match params.drawing.filter(|_| written == 1) {
                Some(drawing) => 0..drawing.texts,
                None => row.number..row.number + 1,
            };
            let chosen: Vec<Option<usize>> = match params.drawing {
                Some(drawing) => {
                    numbers.clone().map(|number| drawing.draw(&scores, uniforms(row.prompt, number))).collect()
                }
                None => vec![likeliest(&scores)],
            };
            log_softmax(&mut scores);
            for (number, token) in numbers.zip(chosen) {
                let mut prefix = prefixes[parent].clone();
                let mut sum = row.sum;
                if let Some(token) = token {
                    prefix.push(token as u32);
                    sum += scores[token];
                }
                if token.is_none() || written == params.max_new_tokens || ends.end(&prefix[begin..]) {
                    let ids = prefix.split_off(begin);
                    let score = score(sum, ids.len().max(1), params);
                    found[row.prompt].push((number, FoundText { score, ids }));
                } else {
                    on.0.push(prefix);
                    on.1.push(Row { number, sum, ..*row });
                    on.2.push(parent);
                }
            }
        }
        (prefixes, rows, parents) = on;
    }
    let in_order = |mut texts: Vec<(usize, FoundText)>| {
        texts.sort_by_key(|(number, _)| *number);
        texts.into_iter().map(|(_, text)| text).collect()
    };
    Ok(found.into_iter().map(in_order).collect())
}

/// The first token of the largest score; none where all are impossible.
fn likeliest(scores: &[f32]) -> Option<usize> {
    let best = scores
        .iter()
        .enumerate()
        .fold((0, f32::NEG_INFINITY), |best, (token, score)| if *score > best.1 { (token, *score) } else { best });
    (best.1 > f32::NEG_INFINITY).then_some(best.0)
}

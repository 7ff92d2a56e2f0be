//! The words and n-grams that gave a label its score.

use anyhow::{Context, Result};

use super::{FastText, Form};
use crate::{Explanation, Part, component_names};

use inkstone_base::language::{Message, Word};
use inkstone_base::message;

impl FastText {
    /// Takes the score of a label (default: the likeliest one) apart by the features of a text, the largest first; for a model
    /// of words, a component of the text's vector by its words.
    ///
    /// The hidden vector is a mean, so each feature gives `label vector x row / features`. With softmax the label's vector is
    /// held against that of the likeliest other label; with hierarchical softmax it is the sum along the label's way of what
    /// each node gives towards it.
    pub fn explain(&self, tokens: &[&str], of: Option<&str>) -> Result<Explanation> {
        if self.params.form != Form::Supervised {
            return self.explain_component(tokens, of);
        }
        let names = self.label_names();
        let p = self.probabilities(tokens).unwrap_or_else(|| vec![0.0; names.len()]);
        let best = |skip: Option<usize>| {
            let others = (0..names.len()).rev().filter(|&label| Some(label) != skip);
            others.max_by(|&a, &b| p[a].total_cmp(&p[b]))
        };
        let label = match of {
            None => best(None).context(Word("模型应有标签", "a model has labels"))?,
            Some(name) => names.iter().position(|known| *known == name).with_context(|| {
                let some = names.iter().take(20).copied().collect::<Vec<&str>>().join(", ");
                message!(
                    "模型不认识标签 {name:?}；它认识的有 {some}",
                    "the model knows no label {name:?}; among those it knows are {some}"
                )
            })?,
        };
        let (direction, against, formula) = self.direction(label, best(Some(label)));
        let features = self.dictionary.named_features(tokens);
        let n = features.len().max(1) as f64;
        let mut terms: Vec<(String, u32, f64, f64)> = Vec::new();
        for (row, feature) in &features {
            let name = feature.name(tokens);
            match terms.iter_mut().find(|term| term.1 == *row && term.0 == name) {
                Some(term) => term.2 += 1.0,
                None => {
                    let weight: f64 =
                        self.input.row(*row).iter().zip(&direction).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                    terms.push((name, *row, 1.0, weight));
                }
            }
        }
        let part = |(token, _, count, weight): (String, u32, f64, f64)| Part {
            token,
            value: count * weight / n,
            detail: vec![("count", count), ("weight", weight)],
        };
        let terms: Vec<Part> = terms.into_iter().map(part).collect();
        let lead = match against {
            Some(other) => format!("{} over {}", names[label], names[other]),
            None => names[label].to_owned(),
        };
        let score = terms.iter().map(|part| part.value).sum();
        let n = features.len();
        let formula = message!(
            "{formula} = 各项 count x weight / {n} 个特征之和",
            "{formula} = sum of count x weight / {n} features"
        );
        Ok(Explanation { of: Some(lead), formula, score, terms, ..Explanation::default() }.largest_first())
    }

    /// The contribution of each word to a component of the text's vector (default: the one that it lies farthest out on).
    fn explain_component(&self, tokens: &[&str], of: Option<&str>) -> Result<Explanation> {
        let names = component_names(self.params.dim);
        let vector = self.sentence_vector(tokens);
        let farthest = || (0..vector.len()).rev().max_by(|&a, &b| vector[a].abs().total_cmp(&vector[b].abs()));
        let component = match of {
            None => farthest().context(Word("向量应有分量", "a vector has components"))?,
            Some(name) => names.iter().position(|known| known == name).with_context(|| {
                message!(
                    "模型没有分量 {name}；有 c1 到 c{}",
                    "the model has no component {name}; there are c1 to c{}",
                    names.len()
                )
            })?,
        };
        let mut words: Vec<&str> = tokens.to_vec();
        words.sort_unstable();
        let parts = words.chunk_by(|a, b| a == b).filter_map(|run| {
            let vector = self.word_vector(run[0]);
            let norm = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
            (norm > 0.0).then(|| (run, f64::from(vector[component] / norm)))
        });
        let parts: Vec<(&[&str], f64)> = parts.collect();
        let n = parts.iter().map(|(run, _)| run.len()).sum::<usize>().max(1) as f64;
        let part = |(run, coordinate): &(&[&str], f64)| Part {
            token: run[0].to_owned(),
            value: run.len() as f64 * coordinate / n,
            detail: vec![("count", run.len() as f64), ("coordinate", *coordinate)],
        };
        let terms: Vec<Part> = parts.iter().map(part).collect();
        let explanation = Explanation {
            of: Some(names[component].clone()),
            formula: message!(
                "各词 count x coordinate / {n} 个有向量的词之和，向量长度归一",
                "sum of count x coordinate / {n} tokens with a vector, of vectors of length 1"
            ),
            score: terms.iter().map(|part| part.value).sum(),
            terms,
            ..Explanation::default()
        };
        Ok(explanation.largest_first())
    }

    /// The vector whose product with the hidden one is the score of a label, what it is held against, and what the score is.
    fn direction(&self, label: usize, other: Option<usize>) -> (Vec<f32>, Option<usize>, Message) {
        let names = self.label_names();
        let own = |label: usize| self.output.row(label as u32);
        match (&self.tree, self.params.loss, other) {
            (Some(tree), ..) => {
                let mut sum = vec![0.0f32; self.params.dim];
                for &(node, right) in tree.path(label as u32) {
                    let sign = if right { 1.0 } else { -1.0 };
                    sum.iter_mut().zip(self.output.row(node)).for_each(|(sum, value)| *sum += sign * value);
                }
                (sum, None, message!("通往 {} 的各次转向之和", "sum of the turns towards {}", names[label]))
            }
            (None, super::Loss::Softmax, Some(other)) => {
                let held = own(label).iter().zip(own(other)).map(|(a, b)| a - b).collect();
                (held, Some(other), Message::same(format!("ln(p({}) / p({}))", names[label], names[other])))
            }
            (None, ..) => (own(label), None, Message::same(format!("ln(p({0}) / (1 - p({0})))", names[label]))),
        }
    }
}

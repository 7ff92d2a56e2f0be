//! Rows and answers of pairs of texts that stand in one input.

use anyhow::Result;

use super::{Encoder, Task};
use crate::answers::Answer;
use crate::task::BatchOutputs;
use crate::windows::{WindowCounts, Windows};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

impl Encoder {
    /// The rows of pairs of texts `[pairs, columns]`, the longer of which is cut first where a stride does not put windows over the first.
    pub fn pair_rows(
        &mut self,
        pairs: &[[&str; 2]],
        ctx: &Ctx,
        mut each: impl FnMut(u64) -> Result<()>,
    ) -> Result<(Vec<f32>, WindowCounts)> {
        ensure!(
            matches!(self.task, Task::Scores { .. }) && self.pairs.is_empty() && self.memories.is_empty(),
            "各带第二段文本的文本按分数读取，不用 onnx.pair 和 onnx.labels",
            "texts with a second text of their own are read as scores, without onnx.pair and onnx.labels"
        );
        let (tokenizer, rules) = (self.model.tokenizer.clone(), self.rules.clone());
        let cut = |slice: &[[&str; 2]]| Windows::of_pairs(slice, [false, false], &tokenizer, &rules, ctx);
        self.rows_of_slices(pairs.chunks(self.slice()), cut, ctx, &mut each)
    }

    /// The answer that each text has to its question, `[text, question]`; none for texts without a token, and where no answer is likelier.
    pub fn answers_to(&mut self, asked: &[[&str; 2]], ctx: &Ctx) -> Result<Vec<Option<Answer>>> {
        let first = !self.model.family.left;
        let windows = Windows::of_pairs(asked, [first, true], &self.model.tokenizer, &self.rules, ctx)?;
        self.answers_of(&windows, ctx)
    }

    /// The answer that each text has to the question of the model's parameters.
    pub fn answers(&mut self, texts: &[&str], ctx: &Ctx) -> Result<Vec<Option<Answer>>> {
        let windows = self.windows(texts, ctx)?;
        self.answers_of(&windows, ctx)
    }

    fn answers_of(&mut self, windows: &Windows, ctx: &Ctx) -> Result<Vec<Option<Answer>>> {
        let threshold = if let Task::Answer { threshold, .. } = &self.task { *threshold } else { None };
        let mut of_texts: Vec<Option<Answer>> = vec![None; windows.seen.texts as usize];
        let mut of_windows: Vec<Option<Answer>> = vec![None; windows.windows.len()];
        for batch in self.batches(windows) {
            let (task, family, width) = (&self.task, self.model.family.clone(), batch.width);
            let found =
                self.model.run(windows, &batch.windows, [batch.rows, width], &[], &task.wanted(), ctx, |outputs| {
                    task.answers(BatchOutputs { outputs, windows, batch: &batch.windows, width, family: &family })
                })?;
            for (&window, found) in batch.windows.iter().zip(found) {
                of_windows[window] = found;
            }
        }
        for (window, found) in windows.windows.iter().zip(of_windows) {
            let best = &mut of_texts[window.text];
            *best = match (best.take(), found) {
                (Some(best), Some(found)) => Some(best.better(found)),
                (best, found) => best.or(found),
            };
        }
        Ok(of_texts.into_iter().map(|answer| answer.filter(|answer| answer.holds(threshold))).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::*;
    use crate::testing::{encoder, has_library, pair_model};
    use crate::{Activation, OnnxParams, Output};

    fn read(file: &str) -> Value {
        serde_json::from_slice(&std::fs::read(pair_model(file)).unwrap()).unwrap()
    }

    fn floats(value: &Value) -> Vec<f32> {
        match value {
            Value::Array(list) => list.iter().flat_map(floats).collect(),
            other => vec![other.as_f64().unwrap() as f32],
        }
    }

    fn texts(expected: &Value, name: &str) -> Vec<String> {
        serde_json::from_value(expected[name].clone()).unwrap()
    }

    fn model(name: &str, output: Output) -> OnnxParams {
        OnnxParams { model: pair_model(name), output, batch_tokens: 64, ..OnnxParams::default() }
    }

    fn near(found: &[f32], wanted: &[f32], what: &str) {
        assert_eq!(found.len(), wanted.len(), "{what}");
        let far = found.iter().zip(wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(far < 1e-5, "{what}: {far}: {found:?} {wanted:?}");
    }

    fn ctx() -> Ctx {
        Ctx::new(2, 1).unwrap()
    }

    #[test]
    fn rows_of_pairs_equal_those_of_the_libraries() {
        if !has_library() {
            return;
        }
        let expected = read("expected.json");
        let (texts, others) = (texts(&expected, "texts"), texts(&expected, "others"));
        let pairs: Vec<[&str; 2]> =
            texts.iter().flat_map(|text| others.iter().map(|other| [text.as_str(), other.as_str()])).collect();
        for (name, activation, values, columns) in [
            ("inference", Activation::Identity, "logits", "contradiction neutral entailment"),
            ("reranker", Activation::Auto, "scores", "LABEL_0"),
            ("next-sentence", Activation::Auto, "probabilities", "next random"),
            ("pretraining", Activation::Auto, "probabilities", "next random"),
            ("order", Activation::Auto, "probabilities", "ordered swapped"),
        ] {
            let mut encoder = encoder(&OnnxParams { activation, ..model(name, Output::Scores) }).unwrap();
            assert_eq!(encoder.columns().join(" "), columns);
            let (rows, seen) = encoder.pair_rows(&pairs, &ctx(), |_| Ok(())).unwrap();
            near(&rows, &floats(&expected[name][values]), name);
            assert_eq!((seen.texts, seen.windows, seen.not_finite), (9, 9, 0));
        }
        // One fixed text beside each document is the same as a pair each, where the document alone is too long.
        let fixed = OnnxParams { pair: Some(others[0].clone()), ..model("reranker", Output::Scores) };
        let rows = encoder(&fixed).unwrap().rows(&[&texts[0], &texts[2]], &ctx(), |_| Ok(())).unwrap().0;
        let scores = floats(&expected["reranker"]["scores"]);
        near(&rows, &[scores[0], scores[6]], "fixed");
        let first = OnnxParams { pair: Some(texts[0].clone()), pair_first: true, ..model("reranker", Output::Scores) };
        let rows = encoder(&first).unwrap().rows(&[&others[1]], &ctx(), |_| Ok(())).unwrap().0;
        near(&rows, &scores[1..2], "a query before a passage");
        let mut choice =
            encoder(&OnnxParams { activation: Activation::Identity, ..model("choice", Output::Scores) }).unwrap();
        near(
            &choice.pair_rows(&pairs[..3], &ctx(), |_| Ok(())).unwrap().0,
            &floats(&expected["choice"]["logits"]),
            "choice",
        );
    }

    #[test]
    fn labels_by_entailment_equal_the_pipeline() {
        if !has_library() {
            return;
        }
        let expected = read("expected.json");
        let texts = texts(&expected, "texts");
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let labels: BTreeMap<String, String> = serde_json::from_value(expected["labels"].clone()).unwrap();
        for (activation, values) in [(Activation::Auto, "one"), (Activation::Sigmoid, "each")] {
            let params = OnnxParams { labels: labels.clone(), activation, ..model("inference", Output::Scores) };
            let mut encoder = encoder(&params).unwrap();
            assert_eq!(encoder.columns(), ["tone", "bad", "good", "none"]);
            let rows = encoder.rows(&texts, &ctx(), |_| Ok(())).unwrap().0;
            for (row, wanted) in rows.chunks(4).zip(expected["inference"][values].as_array().unwrap()) {
                let [good, bad, none] = floats(wanted)[..] else { panic!("{wanted}") };
                near(row, &[good - bad, bad, good, none], values);
            }
        }
        // Windows of a long text: the mean of the logits over them.
        let one: BTreeMap<String, String> = labels.into_iter().filter(|(name, _)| name == "good").collect();
        let params = OnnxParams { labels: one, stride: 10, ..model("inference", Output::Scores) };
        let mut windowed = encoder(&params).unwrap();
        let cut = windowed.windows(&texts[2..], &ctx()).unwrap();
        assert!(cut.windows.len() > 2);
        let batches = windowed.batches(&cut);
        let mut logits = Vec::new();
        for batch in &batches {
            logits.extend(windowed.run(&cut, batch, &ctx()).unwrap());
        }
        let mean = logits.iter().sum::<f32>() / logits.len() as f32;
        let row = windowed.rows(&texts[2..], &ctx(), |_| Ok(())).unwrap().0;
        near(&row, &[1.0 / (1.0 + (-mean).exp())], "windows");
    }

    #[test]
    fn answers_equal_those_of_the_pipeline_and_the_script() {
        if !has_library() {
            return;
        }
        let expected = read("answers.json");
        let text = |value: &Value, name: &str| value[name].as_str().unwrap().to_owned();
        let question = text(&expected, "question");
        let number = |name: &str| expected[name].as_u64().unwrap() as usize;
        let params = OnnxParams {
            question: Some(question.clone()),
            stride: number("stride"),
            max_answer: number("max_answer"),
            ..model("answers", Output::Answer)
        };
        let mut encoder = encoder(&params).unwrap();
        let mut several = 0;
        for case in expected["cases"].as_array().unwrap() {
            let context = text(case, "context");
            let rows = encoder.rows(&[&context], &ctx(), |_| Ok(())).unwrap().0;
            let answer = encoder.answers(&[&context], &ctx()).unwrap().remove(0).unwrap();
            assert_eq!(&context[answer.range.clone()], text(case, "answer"), "{context}");
            assert_eq!(context[..answer.range.start].chars().count() as u64, case["start"].as_u64().unwrap());
            near(&[answer.null, answer.logit], &floats(&serde_json::json!([case["null"], case["logit"]])), &context);
            near(&[rows[0], rows[1], rows[3]], &[answer.score, answer.null, answer.logit], &context);
            let of_line = encoder.answers_to(&[[&context, &question]], &ctx()).unwrap().remove(0).unwrap();
            assert_eq!(of_line, answer);
            match case["score"].as_f64() {
                Some(score) => near(&[answer.score], &[score as f32], &context),
                None => several += 1,
            }
        }
        assert!(several > 0);
        let error = super::super::Encoder::windows;
        let alone = crate::testing::encoder(&model("answers", Output::Answer)).unwrap();
        let error = error(&alone, &["订单"], &ctx()).err().unwrap().to_string();
        assert!(error.contains("onnx.question"), "{error}");
    }

    #[test]
    fn models_without_the_head_and_texts_without_room_are_refused() {
        if !has_library() {
            return;
        }
        let refused = |params: &OnnxParams| format!("{:#}", encoder(params).err().unwrap());
        let answer = OnnxParams { question: Some("多少？".into()), ..model("reranker", Output::Answer) };
        let error = refused(&answer);
        assert!(error.contains("gives no start_logits and end_logits"), "{error}");
        let error = refused(&model("answers", Output::Scores));
        assert!(error.contains("logits [documents, labels] of a classification head"), "{error}");
        let labels: BTreeMap<String, String> = [("good".to_owned(), "利好公司".to_owned())].into();
        let error = refused(&OnnxParams { labels: labels.clone(), ..model("next-sentence", Output::Scores) });
        assert!(error.contains("next, random") && error.contains("id2label"), "{error}");
        let long = OnnxParams { pair: Some("利好".repeat(30)), ..model("reranker", Output::Scores) };
        let error = refused(&long);
        assert!(error.contains("leaves none of 40 for the document"), "{error}");
        let both = OnnxParams { pair: Some("利好".into()), labels, ..model("inference", Output::Scores) };
        assert!(refused(&both).contains("exclude each other"));
        let vectors = OnnxParams { pair: Some("利好".into()), ..model("inference", Output::Embedding) };
        assert!(refused(&vectors).contains("output = \"scores\""));
    }
}

//! Two texts in one input, by the tokenizer's own template.
//!
//! Where one of them is fixed (a hypothesis, a question, a query), the document alone is cut, and has windows, each with the fixed text.
//! Where both are given, the longer one is cut first (`longest_first` of transformers).

use std::ops::Range;

use anyhow::{Context, Result};

use super::{KeptTokens, Tokenizer, Window, WindowRules, Windows, cut};
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure};
use inkstone_text::Truncation;
use inkstone_text::subword::{Subword, longest_first};

/// A text that stands beside each document in one input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PairText {
    /// Numbers of its tokens.
    pub(super) numbers: Vec<u32>,
    /// It stands before the document, as a query or a question.
    pub(super) first: bool,
}

impl Tokenizer {
    /// Special tokens of an input of two texts; none where the tokenizer takes one text alone.
    pub(crate) fn pair_specials(&self) -> Option<usize> {
        if let Tokenizer::Pieces(subword) = self { subword.pair_specials() } else { None }
    }

    /// The tokens of a text that stands beside others.
    pub(crate) fn pair_text(&self, text: &str, first: bool) -> Result<PairText> {
        let numbers = self.takes_pairs()?.encode(text)?.ids;
        ensure!(
            !numbers.is_empty(),
            "与每篇文档并列的文本 {text:?} 没有词元",
            "the text {text:?} that stands beside each document has no token"
        );
        Ok(PairText { numbers, first })
    }

    fn takes_pairs(&self) -> Result<&Subword> {
        let Tokenizer::Pieces(subword) = self else {
            bail!(
                "以词为单位的模型只读一段文本，不能另有第二段",
                "a model of words reads one text, and no second one beside it"
            )
        };
        ensure!(
            subword.pair_specials().is_some(),
            "分词器的模板只接受一段文本：请用模型训练时的分词器，其 tokenizer.json 写明两段文本如何放进一个输入（post_processor）",
            "the template of the tokenizer takes one text alone: take the tokenizer that the model was trained with, whose tokenizer.json says how two texts stand in one input (post_processor)"
        );
        Ok(subword)
    }

    /// Numbers and segments of an input of a text and one beside it, and which tokens are of the text.
    fn wrap_pair(&self, numbers: &[u32], beside: &PairText) -> Result<(Vec<u32>, Vec<u8>, Range<usize>)> {
        let subword = self.takes_pairs()?;
        let wrapped = if beside.first {
            subword.wrap_pair(&beside.numbers, numbers)
        } else {
            subword.wrap_pair(numbers, &beside.numbers)
        };
        let wrapped = wrapped.context(Word("分词器只接受一段文本", "the tokenizer takes one text alone"))?;
        let [first, second] = wrapped.texts;
        let types = wrapped.types.iter().map(|&kind| kind as u8).collect();
        Ok((wrapped.ids, types, if beside.first { second } else { first }))
    }
}

/// Tokens of a window beside its document: special ones, and those of the longest of some texts.
pub(crate) fn tokens_beside(pairs: &[PairText], tokenizer: &Tokenizer) -> usize {
    let longest = pairs.iter().map(|pair| pair.numbers.len()).max();
    tokenizer.pair_specials().unwrap_or(0) + longest.unwrap_or(0)
}

/// Fails where the texts beside each document leave it no token of a window.
pub(crate) fn check_room(pairs: &[PairText], limit: usize, tokenizer: &Tokenizer) -> Result<()> {
    let beside = tokens_beside(pairs, tokenizer);
    ensure!(
        limit > beside,
        "与每篇文档并列的文本连同特殊词元占 {beside} 个词元，{limit} 个中不给文档留下余地：请缩短它，或用位置更多的模型（onnx.max_tokens）",
        "the text beside each document takes {beside} tokens with the special ones, and leaves none of {limit} for the document: shorten it, or take a model with more places (onnx.max_tokens)"
    );
    Ok(())
}

impl Windows {
    /// Windows of texts with each of `pairs` beside them.
    pub(crate) fn beside(
        texts: &[&str],
        pairs: &[PairText],
        tokenizer: &Tokenizer,
        rules: &WindowRules,
        ctx: &Ctx,
    ) -> Result<Windows> {
        let mut all = Windows::empty(texts.len(), tokenizer);
        for (text, content) in texts.iter().enumerate() {
            ctx.check()?;
            all.texts.push((*content).into());
            for (number, pair) in pairs.iter().enumerate() {
                let kept = all.with_fixed(text, content, [number, number], pair, tokenizer, rules)?;
                if number == 0 {
                    all.count(&kept);
                }
            }
        }
        all.seen.windows = all.windows.len() as u64;
        Ok(all)
    }

    /// Windows of a text with a fixed one beside each.
    fn with_fixed(
        &mut self,
        text: usize,
        content: &str,
        [number, shown]: [usize; 2],
        pair: &PairText,
        tokenizer: &Tokenizer,
        rules: &WindowRules,
    ) -> Result<KeptTokens> {
        let specials = tokenizer.pair_specials().unwrap_or(0) + pair.numbers.len();
        ensure!(
            rules.limit > specials,
            "文本 {}：并列的文本与特殊词元共 {specials} 个词元，{} 个中不给文档留下余地",
            "text {}: the text beside it and the special tokens have {specials} tokens, and leave none of {} for the document",
            shown + 1,
            rules.limit
        );
        let most = rules.limit - specials;
        let room = if rules.stride > 0 || rules.limit == usize::MAX { usize::MAX } else { most };
        let kept = tokenizer.kept(content, &rules.truncation, room, specials, None)?;
        for range in cut(kept.offsets.len(), most, rules.stride) {
            self.push_pair(text, number, &kept, range, pair, tokenizer)?;
        }
        Ok(kept)
    }

    /// Windows of pairs of a document and another text, which stands before it where `first`. With windows over a document the other text
    /// is in each, and so where it is `fixed`; else the longer of both is cut.
    pub(crate) fn of_pairs(
        pairs: &[[&str; 2]],
        [first, fixed]: [bool; 2],
        tokenizer: &Tokenizer,
        rules: &WindowRules,
        ctx: &Ctx,
    ) -> Result<Windows> {
        let subword = tokenizer.takes_pairs()?;
        let mut all = Windows::empty(pairs.len(), tokenizer);
        for (text, [document, other]) in pairs.iter().enumerate() {
            ctx.check()?;
            all.texts.push((*document).into());
            if fixed || rules.stride > 0 || rules.limit == usize::MAX {
                let pair = PairText { numbers: subword.encode(other)?.ids, first };
                let kept = all.with_fixed(text, document, [0, text], &pair, tokenizer, rules)?;
                all.count(&kept);
                continue;
            }
            let limit = match rules.truncation {
                Truncation::None => rules.limit,
                Truncation::Head(limit) => rules.limit.min(limit),
                _ => bail!(
                    "两段文本中先截较长的：truncation 须为 none 或 head:N，或用 stride 在前一段上分窗口",
                    "of two texts the longer is cut first: truncation is none or head:N, or a stride puts windows over the first"
                ),
            };
            let specials = tokenizer.pair_specials().unwrap_or(0);
            ensure!(
                limit > specials + 1,
                "{limit} 个词元的窗口除去 {specials} 个特殊词元放不下两段文本",
                "a window of {limit} tokens has no room for two texts beside {specials} special ones"
            );
            let room = limit - specials;
            let kept = |content: &str| tokenizer.kept(content, &Truncation::None, usize::MAX, specials, None);
            let (mut document, other) = (kept(document)?, kept(other)?);
            let lengths = [document.offsets.len(), other.offsets.len()];
            let [of_document, of_other] = if first {
                let [other, document] = longest_first([lengths[1], lengths[0]], room);
                [document, other]
            } else {
                longest_first(lengths, room)
            };
            let part = |len: usize, keep: usize| if subword.cuts_left() { len - keep..len } else { 0..keep };
            let numbers = other.numbers[part(lengths[1], of_other)].to_vec();
            document.cut |= of_document < lengths[0] || of_other < lengths[1];
            all.count(&document);
            // A text without a token has no windows, as elsewhere.
            if of_document > 0 {
                let pair = PairText { numbers, first };
                all.push_pair(text, 0, &document, part(lengths[0], of_document), &pair, tokenizer)?;
            }
        }
        all.seen.windows = all.windows.len() as u64;
        Ok(all)
    }

    fn push_pair(
        &mut self,
        text: usize,
        number: usize,
        kept: &KeptTokens,
        tokens: Range<usize>,
        pair: &PairText,
        tokenizer: &Tokenizer,
    ) -> Result<()> {
        let (numbers, types, inner) = tokenizer.wrap_pair(&kept.numbers[tokens.clone()], pair)?;
        self.seen.tokens += inner.len() as u64;
        let window = Window { text, tokens: 0..0, inner, skipped: 0, pair: number, masked: None };
        self.place(window, &numbers, &types, kept, tokens);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::testing::pair_model;

    #[test]
    fn the_longer_text_is_cut_first() {
        assert_eq!(longest_first([3, 4], 7), [3, 4]);
        assert_eq!(longest_first([3, 9], 8), [3, 5]);
        assert_eq!(longest_first([9, 3], 8), [5, 3]);
        assert_eq!(longest_first([9, 9], 7), [3, 4]);
        assert_eq!(longest_first([10, 9], 7), [4, 3]);
        assert_eq!(longest_first([0, 9], 4), [0, 4]);
        for (first, second, room) in (0..12).flat_map(|a| (0..12).flat_map(move |b| (2..14).map(move |c| (a, b, c)))) {
            let [kept, other] = longest_first([first, second], room);
            assert!(kept <= first && other <= second && kept + other == room.min(first + second));
        }
    }

    fn expected() -> Value {
        serde_json::from_slice(&std::fs::read(pair_model("expected.json")).unwrap()).unwrap()
    }

    fn rules(limit: usize, stride: usize) -> WindowRules {
        WindowRules { truncation: Truncation::None, limit, stride, bare: false, prompt: None, mask: None }
    }

    #[test]
    fn ids_and_segments_are_those_of_transformers() {
        let (expected, ctx) = (expected(), Ctx::new(1, 1).unwrap());
        let (mut cut, mut fixed) = (0, 0);
        for (name, pairs) in expected["pairs"].as_object().unwrap() {
            let tokenizer = Tokenizer::Pieces(Subword::open(&pair_model("tokenizers").join(name)).unwrap());
            for pair in pairs.as_array().unwrap() {
                let text = |name: &str| pair[name].as_str().unwrap();
                let limit = pair["limit"].as_u64().unwrap() as usize;
                for (strategy, is_fixed) in [("longest_first", false), ("only_first", true)] {
                    let both = [[text("text"), text("other")]];
                    let made = Windows::of_pairs(&both, [false, is_fixed], &tokenizer, &rules(limit, 0), &ctx);
                    if pair[strategy].is_null() {
                        let error = made.err().unwrap().to_string();
                        assert!(error.contains("leave none of"), "{name}: {error}");
                        fixed += 1;
                        continue;
                    }
                    let made = made.unwrap();
                    let window = &made.windows[0];
                    let numbers = |value: &Value| -> Vec<u32> { serde_json::from_value(value.clone()).unwrap() };
                    let what = format!("{name} {strategy} {limit} {both:?}");
                    assert_eq!(made.numbers(window), numbers(&pair[strategy][0]), "{what}");
                    let types: Vec<u32> = made.types(window).iter().map(|&kind| u32::from(kind)).collect();
                    assert_eq!(types, numbers(&pair[strategy][1]), "{what}");
                    cut += made.seen.cut;
                }
            }
        }
        assert!(cut > 50 && fixed > 10, "{cut} {fixed}");
    }

    #[test]
    fn the_fixed_text_stands_in_every_window() {
        let ctx = Ctx::new(1, 1).unwrap();
        let tokenizer = Tokenizer::Pieces(Subword::open(&pair_model("tokenizers/bert")).unwrap());
        let question = tokenizer.pair_text("订单", true).unwrap();
        let text = "公司上半年营业收入同比下降";
        let made =
            Windows::beside(&[text, ""], std::slice::from_ref(&question), &tokenizer, &rules(10, 3), &ctx).unwrap();
        // Three special tokens and two of the question leave five.
        assert_eq!(
            made.windows.iter().map(|window| window.inner.clone()).collect::<Vec<_>>(),
            [4..9, 4..9, 4..9, 4..8]
        );
        for window in &made.windows {
            assert_eq!(made.numbers(window)[1..3], question.numbers);
            assert_eq!(made.types(window)[..4], [0; 4]);
            assert_eq!(made.types(window)[4], 1);
        }
        let starts: Vec<u32> =
            made.windows.iter().map(|window| made.offsets(window)[window.inner.start].start / 3).collect();
        assert_eq!(starts, [0, 3, 6, 9]);
        assert_eq!((made.seen.texts, made.seen.empty, made.seen.cut, made.seen.windows), (2, 1, 0, 4));
        let error = check_room(&[question], 5, &tokenizer).unwrap_err().to_string();
        assert!(error.contains("takes 5 tokens") && error.contains("onnx.max_tokens"), "{error}");
        let alone = Tokenizer::Characters(crate::WordCutter::Spaces);
        assert!(alone.pair_text("订单", true).unwrap_err().to_string().contains("reads one text"));
    }
}

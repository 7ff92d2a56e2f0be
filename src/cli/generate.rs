//! Flags of `generate`.

use std::path::PathBuf;

use clap::Args;

use super::onnx::Place;
use crate::config::bounds::flag;
use inkstone_features::standalone::LineFormat;
use inkstone_onnx::{Drawing, EarlyStopping, SearchParams};
use inkstone_text::Truncation;

#[derive(Debug, Args)]
pub struct Generate {
    /// The folder of an export (encoder_model.onnx and decoder_model.onnx, or a model.onnx that reads from left to right) or of weights
    /// (GPT-2, Qwen2, Qwen3).
    ///
    /// 导出模型的文件夹（encoder_model.onnx 与 decoder_model.onnx，或从左到右阅读的 model.onnx），或权重的文件夹（GPT-2、Qwen2、Qwen3）。
    #[arg(short, long, value_name = "DIR")]
    pub model: PathBuf,
    /// The documents, one per line; - reads standard input.
    ///
    /// 文档，每行一篇；- 为标准输入。
    #[arg(short, long, value_name = "FILE")]
    pub input: PathBuf,
    /// Format of the lines: text or jsonl.
    ///
    /// 行的格式：text 或 jsonl。
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<LineFormat>,
    /// File of the generated texts, one JSON line per text: id, text, score, numbers_kept (the share of its numbers that stand in
    /// the document), and label, time and group of the input; with --samples also the
    /// number of the sample; with --labels the answer and, for each label, its share and likelihoods.
    ///
    /// 写出文本的文件，每篇一行 JSON：id、text、score、numbers_kept（数字与原文相符的占比），以及输入的 label、time、group；--samples 时另有样本编号；--labels 时为答案及各标签的占比与似然。
    #[arg(short, long, value_name = "FILE.jsonl")]
    pub output: PathBuf,
    /// The tokenizer (tokenizer.json, vocab.txt or a SentencePiece model), if it is not beside the model.
    ///
    /// 分词器（tokenizer.json、vocab.txt 或 SentencePiece 模型），不在模型旁边时写出。
    #[arg(long, value_name = "FILE")]
    pub tokenizer: Option<PathBuf>,
    /// Number of beams; 1 takes the likeliest token at each step, of many texts at once.
    ///
    /// 束宽；1 为每步取最可能的词元，可同时处理多篇。
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = flag::<usize>("--window"))]
    pub num_beams: usize,
    /// Draw N texts for each document by their probabilities, instead of a search; --seed fixes them.
    ///
    /// 每篇文档按概率抽取 N 篇文本，而不搜索；由 --seed 固定。
    #[arg(long, value_name = "N", value_parser = flag::<usize>("--window"), conflicts_with = "num_beams")]
    pub samples: Option<usize>,
    /// Temperature of drawn texts: below 1 likely tokens become likelier.
    ///
    /// 抽取的温度：小于 1 时可能的词元更可能。
    #[arg(long, value_name = "T", default_value_t = 1.0, value_parser = flag::<f32>("--repetition-penalty"), requires = "samples")]
    pub temperature: f32,
    /// Draw only among the K likeliest tokens; 0: all.
    ///
    /// 只在最可能的 K 个词元中抽取；0 为全部。
    #[arg(long, value_name = "K", default_value_t = 0, value_parser = flag::<usize>("--count"), requires = "samples")]
    pub top_k: usize,
    /// Draw only among the likeliest tokens that together have this probability.
    ///
    /// 只在合计达到此概率的最可能词元中抽取。
    #[arg(long, value_name = "P", default_value_t = 1.0, value_parser = flag::<f32>("--share"), requires = "samples")]
    pub top_p: f32,
    /// End a text behind this word, which is kept; may be given several times.
    ///
    /// 文本止于该词之后，该词保留；可写多次。
    #[arg(long, value_name = "TEXT")]
    pub stop: Vec<String>,
    /// File of a prompt around each document, with the fields {title}, {body} and {text} (title and body); {{ and }} are braces.
    ///
    /// 提示词文件，含字段 {title}、{body} 与 {text}（标题与正文）；花括号写作 {{ 与 }}。
    #[arg(long, value_name = "FILE")]
    pub prompt_file: Option<PathBuf>,
    /// Put each prompt into a chat by the tokenizer's own template (chat_template).
    ///
    /// 按分词器自己的模板（chat_template）把提示词放进对话。
    #[arg(long)]
    pub chat: bool,
    /// The system message of each chat.
    ///
    /// 每次对话的系统消息。
    #[arg(long, value_name = "TEXT", requires = "chat")]
    pub system: Option<String>,
    /// Write no text, but how likely each of these labels, separated by commas, is behind each document.
    ///
    /// 不写文本，而给出以逗号分隔的各标签接在每篇文档之后的可能性。
    #[arg(long, value_name = "LABELS", value_delimiter = ',', conflicts_with_all = ["choices", "samples", "num_beams", "stop"])]
    pub labels: Vec<String>,
    /// Write one of these texts, separated by commas, and nothing else.
    ///
    /// 只写以逗号分隔的这些文本之一。
    #[arg(long, value_name = "TEXTS", value_delimiter = ',', conflicts_with = "max_new_tokens")]
    pub choices: Vec<String>,
    /// Write only JSON that the schema in this file allows. Each line has the value as `json` too, null where --max-new-tokens came first.
    ///
    /// 只写该文件的 schema 所允许的 JSON。每行另有值 `json`，先到 --max-new-tokens 时为 null。
    #[arg(long, value_name = "FILE.json", conflicts_with_all = ["choices", "labels", "stop"])]
    pub json_schema: Option<PathBuf>,
    /// Most tokens of the texts that are worked on at once, written ones included; 0: 4096.
    ///
    /// 同时处理的文本最多的词元，含已写出的；0 为 4096。
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = flag::<usize>("feature.onnx.batch_tokens"))]
    pub batch_tokens: usize,
    /// Most tokens to generate.
    ///
    /// 最多生成的词元。
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = flag::<usize>("feature.onnx.max_tokens"))]
    pub max_new_tokens: usize,
    /// Fewest tokens to generate.
    ///
    /// 最少生成的词元。
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = flag::<usize>("feature.onnx.max_tokens"))]
    pub min_new_tokens: usize,
    /// Exponent of the length by which the log-probability of a text is divided; above 1 favours longer texts.
    ///
    /// 文本的对数概率除以长度的几次方；大于 1 偏向较长的文本。
    #[arg(long, value_name = "P", default_value_t = 1.0, value_parser = flag::<f64>("--length-penalty"))]
    pub length_penalty: f64,
    /// When to stop a search that has found as many texts as it has beams.
    ///
    /// 搜索找到与束宽同样多的文本后何时停止。
    #[arg(long, value_name = "WHEN", default_value = "likely")]
    pub early_stopping: EarlyStopping,
    /// Never repeat a sequence of N tokens; 0 allows any repetition.
    ///
    /// 不重复 N 个词元的序列；0 为不限。
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = flag::<usize>("feature.onnx.max_tokens"))]
    pub no_repeat_ngram_size: usize,
    /// Repetition penalty: divides the logits of tokens that were generated before.
    ///
    /// 重复惩罚：除已生成词元的 logits。
    #[arg(long, value_name = "R", default_value_t = 1.0, value_parser = flag::<f32>("--repetition-penalty"))]
    pub repetition_penalty: f32,
    /// Part of a text that is read, in tokens of the model.
    ///
    /// 所读的文本部分，以模型的词元计。
    #[arg(long, value_name = "SPEC", default_value = "none")]
    pub truncation: Truncation,
    #[command(flatten)]
    pub place: Place,
}

impl Generate {
    /// The parameters of the search.
    pub fn search(&self) -> SearchParams {
        // Labels and choices say themselves how long they are.
        let asked = self.labels.is_empty() && self.choices.is_empty();
        SearchParams {
            beams: self.num_beams,
            max_new_tokens: if asked { self.max_new_tokens } else { 1 },
            min_new_tokens: self.min_new_tokens,
            length_penalty: self.length_penalty,
            early_stopping: self.early_stopping,
            no_repeat_ngram: self.no_repeat_ngram_size,
            repetition_penalty: self.repetition_penalty,
            stops: self.stop.clone(),
            drawing: self.samples.map(|texts| Drawing {
                texts,
                temperature: self.temperature,
                top_k: self.top_k,
                top_p: self.top_p,
            }),
            ..SearchParams::default()
        }
    }
}

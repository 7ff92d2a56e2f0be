//! Flags of contextual models: what `eval`, `embed`, `explain` and `nearest` share when their model is an export in the ONNX format, and
//! those of `doctor`.

use std::path::PathBuf;

use clap::Args;

use crate::config::bounds::flag;
use inkstone_features::models::onnx::Contextual;
use inkstone_onnx::{Activation, Device, Layers, OnnxParams, Output, Over, Pooling, Precision, RuntimeParams};
use inkstone_text::Truncation;

use inkstone_base::language::Word;

/// Heading of these flags in every help text.
const CONTEXTUAL: &str = "Contextual models (ONNX)";

/// How a contextual model is used.
#[derive(Clone, Debug, Args)]
pub struct Onnx {
    /// The tokenizer (tokenizer.json, vocab.txt or a SentencePiece model), if it is not beside the model.
    ///
    /// 分词器（tokenizer.json、vocab.txt 或 SentencePiece 模型），不在模型旁边时写出。
    #[arg(help_heading = CONTEXTUAL, long, value_name = "FILE")]
    pub tokenizer: Option<PathBuf>,
    /// Output of the model that is used.
    ///
    /// 使用模型的哪种输出。
    #[arg(help_heading = CONTEXTUAL, long, value_name = "WHAT", default_value = "embedding")]
    pub read: Output,
    /// How token vectors become one: cls, pooler, mean, mean-text (without special tokens), mean-sqrt, weighted-mean, max, last or sep; several
    /// joined by +. Without this flag as the model's folder says (1_Pooling/config.json), else mean.
    ///
    /// 词元向量如何合一：cls、pooler、mean、mean-text（不含特殊词元）、mean-sqrt、weighted-mean、max、last 或 sep；可用 + 连接几种。不写则按模型文件夹（1_Pooling/config.json），否则为 mean。
    #[arg(help_heading = CONTEXTUAL, long, value_name = "POOLING")]
    pub pooling: Option<Pooling>,
    /// Layers: last, first+last, last:4 (their mean), last:4:concat, each (side by side), or mix:0.2,0.3,0.5 with a weight per layer.
    ///
    /// 层：last、first+last、last:4（均值）、last:4:concat、each（并列），或 mix:0.2,0.3,0.5（每层一个权重）。
    #[arg(help_heading = CONTEXTUAL, long, value_name = "LAYERS", default_value = "last")]
    pub layers: Layers,
    /// How logits become probabilities; auto follows config.json.
    ///
    /// logits 如何变为概率；auto 按 config.json。
    #[arg(help_heading = CONTEXTUAL, long, value_name = "FORM", default_value = "auto")]
    pub activation: Activation,
    /// Scale vectors to length 1, or with --normalise=false do not. Without this flag as the model's folder says (modules.json), else not.
    ///
    /// 把向量缩放到长度 1，或用 --normalise=false 不缩放。不写则按模型文件夹（modules.json），否则不缩放。
    #[arg(help_heading = CONTEXTUAL, long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub normalise: Option<bool>,
    /// Values kept of a vector, the first ones (Matryoshka); 0: all, or as the model's folder says.
    ///
    /// 保留向量的前几维（Matryoshka）；0 为全部，或按模型文件夹。
    #[arg(help_heading = CONTEXTUAL, long, value_name = "N", default_value_t = 0)]
    pub dim: usize,
    /// Text put before each text: the name of a prompt of the model's folder (query, document, ...), none, or the prompt itself, as "query: ".
    /// Without this flag the folder's default.
    ///
    /// 加在每篇文本之前的文本：模型文件夹中提示词的名称（query、document 等）、none，或提示词本身，如 "query: "。不写则用文件夹的默认。
    #[arg(help_heading = CONTEXTUAL, long, value_name = "PROMPT")]
    pub prompt: Option<String>,
    /// With --read scores: a text beside each document in one input, as a hypothesis. Lines of jsonl may have one of their own (field pair).
    ///
    /// --read scores 时：与每篇文档同时输入的文本，如假设句。jsonl 的行可各带一个（字段 pair）。
    #[arg(help_heading = CONTEXTUAL, long, value_name = "TEXT")]
    pub pair: Option<String>,
    /// The text of --pair stands before the document, as a query before a passage.
    ///
    /// --pair 的文本放在文档之前，如查询在段落之前。
    #[arg(help_heading = CONTEXTUAL, long, requires = "pair")]
    pub pair_first: bool,
    /// With --read scores, for a model of entailment: a label and the hypothesis that says it, as 利好=该消息利好公司股价。 May be given several
    /// times. --activation sigmoid lets each label stand for itself.
    ///
    /// --read scores 且为蕴含模型时：标签与表达它的假设句，如 利好=该消息利好公司股价。可写多次；--activation sigmoid 使各标签独立。
    #[arg(help_heading = CONTEXTUAL, long = "hypothesis", value_name = "LABEL=TEXT", value_parser = hypothesis, conflicts_with = "pair")]
    pub hypotheses: Vec<(String, String)>,
    /// With --read answer: the question. Lines of jsonl may have one of their own (field question).
    ///
    /// --read answer 时：所问的问题。jsonl 的行可各带一个（字段 question）。
    #[arg(help_heading = CONTEXTUAL, long, value_name = "TEXT")]
    pub question: Option<String>,
    /// Most tokens of an answer.
    ///
    /// 答案最多的词元。
    #[arg(help_heading = CONTEXTUAL, long, value_name = "N", default_value_t = 30, value_parser = flag::<usize>("feature.onnx.max_answer"))]
    pub max_answer: usize,
    /// A document has no answer where the score of none is higher than that of the best by more than this; without this flag, always one.
    ///
    /// 无答案的得分比最好的答案高出更多时，视为没有答案；不写则总有答案。
    #[arg(help_heading = CONTEXTUAL, long, value_name = "SCORE", allow_negative_numbers = true, value_parser = flag::<f64>("feature.onnx.no_answer"))]
    pub no_answer: Option<f64>,
    /// Part of a text that is read, in tokens of the model: head:512, tail:512, head+tail:128+382.
    ///
    /// 所读的文本部分，以模型的词元计：head:512、tail:512、head+tail:128+382。
    #[arg(help_heading = CONTEXTUAL, long, value_name = "SPEC", default_value = "none")]
    pub truncation: Truncation,
    /// Most tokens of a window, special tokens included; 0: as the model's folder says, else as many as the model has positions.
    ///
    /// 窗口最多的词元，含特殊词元；0 为按模型文件夹，否则为模型的位置数。
    #[arg(help_heading = CONTEXTUAL, long, value_name = "N", default_value_t = 0)]
    pub max_len: usize,
    /// Tokens from the start of a window to the start of the next; 0: one window per document.
    ///
    /// 相邻窗口起点之间的词元数；0 为每篇一个窗口。
    #[arg(help_heading = CONTEXTUAL, long, value_name = "N", default_value_t = 0)]
    pub stride: usize,
    /// How the windows of a document become one row.
    ///
    /// 一篇文档的各窗口如何合为一行。
    #[arg(help_heading = CONTEXTUAL, long, value_name = "FORM", default_value = "mean")]
    pub over_windows: Over,
    /// Most tokens of a batch, padding included; 0: 2048 on a CPU, 32768 on a CUDA device.
    ///
    /// 一批最多的词元，含填充；0：CPU 为 2048，CUDA 为 32768。
    #[arg(help_heading = CONTEXTUAL, long, value_name = "N", default_value_t = 0)]
    pub batch_tokens: usize,
    #[command(flatten)]
    pub place: Place,
}

/// A label and its hypothesis.
fn hypothesis(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((label, hypothesis)) if !label.trim().is_empty() && !hypothesis.trim().is_empty() => {
            Ok((label.trim().to_owned(), hypothesis.trim().to_owned()))
        }
        _ => Err(Word(
            "请写标签与表达它的假设句，如 利好=该消息利好公司股价。",
            "write a label and the hypothesis that says it, as 利好=该消息利好公司股价。",
        )
        .to_string()),
    }
}

/// Where contextual models run.
#[derive(Clone, Debug, Args)]
pub struct Place {
    /// Device: auto, cpu or cuda:0; the result names the one that auto chose.
    ///
    /// 设备：auto、cpu 或 cuda:0；结果写明 auto 选了哪个。
    #[arg(help_heading = CONTEXTUAL, long, value_name = "DEVICE", default_value = "auto")]
    pub device: Device,
    /// The ONNX Runtime library; without this flag it is searched for.
    ///
    /// ONNX Runtime 代码库；不写则自动查找。
    #[arg(help_heading = CONTEXTUAL, long, value_name = "FILE")]
    pub library: Option<PathBuf>,
}

impl Place {
    /// The settings of `[onnx]`; a library that the user names by a flag is trusted.
    pub fn params(&self) -> RuntimeParams {
        RuntimeParams { library: self.library.clone(), device: self.device, trusted: true }
    }
}

impl Onnx {
    /// The flags as parameters.
    pub fn contextual(&self) -> Contextual {
        Contextual {
            params: OnnxParams {
                tokenizer: self.tokenizer.clone().unwrap_or_default(),
                output: self.read,
                pooling: self.pooling.clone(),
                layers: self.layers.clone(),
                activation: self.activation,
                normalise: self.normalise,
                dim: self.dim,
                prompt: self.prompt.clone(),
                pair: self.pair.clone(),
                pair_first: self.pair_first,
                labels: self.hypotheses.iter().cloned().collect(),
                question: self.question.clone(),
                max_answer: self.max_answer,
                no_answer: self.no_answer,
                max_tokens: self.max_len,
                stride: self.stride,
                over_windows: self.over_windows,
                batch_tokens: self.batch_tokens,
                ..OnnxParams::default()
            },
            truncation: self.truncation,
            runtime: self.place.params(),
            ..Contextual::default()
        }
    }
}

#[derive(Debug, Args)]
pub struct Convert {
    /// The contextual model: its folder, as published, with a graph (.onnx) or config.json and model.safetensors; or the file of a graph.
    ///
    /// 上下文模型：其发布的文件夹，含图（.onnx）或 config.json 与 model.safetensors；或图的文件。
    #[arg(short, long, value_name = "MODEL")]
    pub model: PathBuf,
    /// Folder of the new model: model.onnx and all files that say how text is read. It must be new, empty, or of an earlier conversion.
    ///
    /// 新模型的文件夹：model.onnx 与说明如何阅读文本的全部文件。须为新的、空的，或先前转换所用。
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Precision of the large weights: fp16 or int8. Without this flag they stay as they are.
    ///
    /// 大权重的精度：fp16 或 int8。不写则保持原样。
    #[arg(long, value_name = "PRECISION")]
    pub precision: Option<Precision>,
    /// Also keep the logits over the vocabulary of a folder of weights, by which a model fills masks or writes; vectors then cost more.
    ///
    /// 同时保留权重文件夹在词表上的 logits，模型以此填空或写作；向量的计算会更费时。
    #[arg(long)]
    pub words: bool,
}

#[derive(Debug, Args)]
pub struct Doctor {
    /// Install what is missing, with uv or pip, into the user's runtime folder.
    ///
    /// 用 uv 或 pip 把缺少的安装到用户的运行库文件夹。
    #[arg(long)]
    pub fix: bool,
    /// Look for, and with --fix install, the library for NVIDIA devices with CUDA and cuDNN (some gigabytes).
    ///
    /// 查找（有 --fix 时安装）带 CUDA 与 cuDNN、供 NVIDIA 设备使用的代码库（数 GB）。
    #[arg(long)]
    pub cuda: bool,
    /// The ONNX Runtime library to check; without this flag it is searched for.
    ///
    /// 要检查的 ONNX Runtime 代码库；不写则自动查找。
    #[arg(long, value_name = "FILE")]
    pub library: Option<PathBuf>,
}

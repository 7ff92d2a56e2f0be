//! Flags of `train tone`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::Tokenizer;
use crate::config::bounds::flag;
use inkstone_models::ToneScale;

/// Flags of `train tone`. Lists may be in any usual shape and encoding: a word a line, word and weight, or a table with a header.
#[derive(Debug, Args)]
pub struct Tone {
    /// The model file.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// A list of positive words. May be given several times.
    #[arg(long, value_name = "FILE")]
    pub positive: Vec<PathBuf>,
    /// A list of negative words. May be given several times.
    #[arg(long, value_name = "FILE")]
    pub negative: Vec<PathBuf>,
    /// A list of both sides, told apart by sign or by a column of polarities, such as train lexicon writes.
    #[arg(long, value_name = "FILE")]
    pub signed: Vec<PathBuf>,
    /// Use the given lists alone, not the tone words that come with the program.
    #[arg(long)]
    pub no_builtin: bool,
    /// What a tone is a share of: balance, (P - N) / (P + N), or per-token.
    #[arg(long, default_value = "balance")]
    pub scale: ToneScale,
    /// Tokens before a tone word in which a negation turns it.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = flag::<usize>("feature.lexicon.negation_window"))]
    pub negation_window: usize,
    /// Tokens before a tone word in which a degree word weighs it.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = flag::<usize>("feature.lexicon.degree_window"))]
    pub degree_window: usize,
    /// How text is cut.
    #[command(flatten)]
    pub tokenizer: Tokenizer,
}

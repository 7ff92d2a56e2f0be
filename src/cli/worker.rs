//! Flags of `worker`.

use std::path::PathBuf;

use chrono::NaiveDate;
use clap::Args;

use super::Onnx;
use crate::config::bounds::flag;
use inkstone_features::standalone::{NightWatch, StreamColumns};

#[derive(Debug, Args)]
pub struct Worker {
    /// The model file, which records its kind and how text is cut; or the folder or .onnx file of a contextual model.
    #[arg(short, long, value_name = "FILE")]
    pub model: PathBuf,
    /// Column of the texts.
    #[arg(long, value_name = "COLUMN", default_value = "text")]
    pub text: String,
    /// Column of the titles, which are read before the texts.
    #[arg(long, value_name = "COLUMN")]
    pub title: Option<String>,
    /// Column of the times of publication: timestamps, dates or texts. Those without a zone are times of Shanghai.
    #[arg(long, value_name = "COLUMN", default_value = "published_at")]
    pub time: String,
    /// Columns of the input that stand before the model's; without this flag all but title and text.
    #[arg(long, value_name = "COLUMN,COLUMN", value_delimiter = ',')]
    pub keep: Option<Vec<String>>,
    /// Read and write lines with tabs between cells and \N for no value, as TRANSFORM of Hive and Spark does; these are the columns of the
    /// input. Without this flag an Arrow stream is read and written.
    #[arg(long, value_name = "COLUMN,COLUMN", value_delimiter = ',', num_args = 1)]
    pub tsv: Vec<String>,
    /// The last day of the text that the model was trained on, for models that do not say it.
    #[arg(long, value_name = "DAY")]
    pub fitted_until: Option<NaiveDate>,
    /// Largest share of documents between 01:00 and 05:00 in Shanghai. A larger one stops the work, since the times may be eight hours off.
    #[arg(long, value_name = "SHARE", default_value_t = NightWatch::ALLOWED, value_parser = flag::<f64>("--share"))]
    pub allow_night: f64,
    /// The encoder of a head, where it is not where the head's file says.
    #[arg(long, value_name = "MODEL")]
    pub encoder: Option<PathBuf>,
    #[command(flatten)]
    pub onnx: Onnx,
}

impl Worker {
    /// The columns that are read and kept.
    pub(crate) fn columns(&self) -> StreamColumns {
        StreamColumns {
            title: self.title.clone(),
            text: self.text.clone(),
            time: self.time.clone(),
            keep: self.keep.clone(),
        }
    }
}

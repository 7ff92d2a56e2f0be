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
    ///
    /// 模型文件，记有其类型与切词方式；或上下文模型的文件夹或 .onnx 文件。
    #[arg(short, long, value_name = "FILE")]
    pub model: PathBuf,
    /// Column of the texts.
    ///
    /// 文本所在的列。
    #[arg(long, value_name = "COLUMN", default_value = "text")]
    pub text: String,
    /// Column of the titles, which are read before the texts.
    ///
    /// 标题所在的列，读在文本之前。
    #[arg(long, value_name = "COLUMN")]
    pub title: Option<String>,
    /// Column of the times of publication: timestamps, dates or texts. Those without a zone are times of Shanghai.
    ///
    /// 发布时间所在的列：时间戳、日期或文本。没有时区的按上海时间。
    #[arg(long, value_name = "COLUMN", default_value = "published_at")]
    pub time: String,
    /// Columns of the input that stand before the model's; without this flag all but title and text.
    ///
    /// 放在模型各列之前的输入列；不写则为标题与文本以外的全部。
    #[arg(long, value_name = "COLUMN,COLUMN", value_delimiter = ',')]
    pub keep: Option<Vec<String>>,
    /// Read and write lines with tabs between cells and \N for no value, as TRANSFORM of Hive and Spark does; these are the columns of the
    /// input. Without this flag an Arrow stream is read and written.
    ///
    /// 读写以制表符分隔、以 \N 表示空值的行，同 Hive 与 Spark 的 TRANSFORM；在此写出输入的列。不写则读写 Arrow 流。
    #[arg(long, value_name = "COLUMN,COLUMN", value_delimiter = ',', num_args = 1)]
    pub tsv: Vec<String>,
    /// The last day of the text that the model was trained on, for models that do not say it.
    ///
    /// 模型训练文本的最后一天，用于未注明的模型。
    #[arg(long, value_name = "DAY")]
    pub fitted_until: Option<NaiveDate>,
    /// Largest share of documents between 01:00 and 05:00 in Shanghai. A larger one stops the work, since the times may be eight hours off.
    ///
    /// 上海时间 01:00 到 05:00 之间文档的占比上限。超过即停止，因为时间可能差八小时。
    #[arg(long, value_name = "SHARE", default_value_t = NightWatch::ALLOWED, value_parser = flag::<f64>("--share"))]
    pub allow_night: f64,
    /// The encoder of a head, where it is not where the head's file says.
    ///
    /// 分类头的编码器，不在分类头文件所记之处时写出。
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

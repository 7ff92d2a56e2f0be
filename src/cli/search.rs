//! Flags of `search`.

use chrono::NaiveDateTime;
use clap::Args;

use super::text::time;
use crate::config::bounds::flag;
use inkstone_features::search::RankedBy;

#[derive(Debug, Args)]
pub struct Search {
    /// The query; its words are cut as those of the project are.
    ///
    /// 要检索的内容；切词方式同项目。
    pub query: String,
    #[command(flatten)]
    pub project: super::Project,
    /// The ranking of documents: by their words (bm25), by the vectors of a feature (dense), or by both rankings.
    ///
    /// 文档的排序方法：按词（bm25），按某个特征的向量（dense），或合并两个名次（both）。
    #[arg(long, value_name = "RANKING", default_value = "bm25")]
    pub by: RankedBy,
    /// The feature whose vectors rank documents (default: the only one that has vectors).
    ///
    /// 用其向量排序的特征（默认：唯一的向量特征）。
    #[arg(long, value_name = "NAME")]
    pub feature: Option<String>,
    /// Search as of this time (2023-12-31, or with a time of day): later documents are neither found nor counted.
    ///
    /// 以此时（2023-12-31，或带时刻）为准检索：更晚的文档既不查到，也不计入词频。
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub until: Option<NaiveDateTime>,
    /// Documents to show.
    ///
    /// 显示的文档数。
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = flag::<usize>("--count"))]
    pub top: usize,
    /// Sentences to show of each document, those with the rarest words.
    ///
    /// 每篇显示的句子数，优先词最少见的句子。
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = flag::<usize>("--count"))]
    pub sentences: usize,
}

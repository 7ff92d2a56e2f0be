//! `train clusters`.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};

use super::{Files, format, open, trained_with_figures};
use crate::cli::Onnx;
use crate::command::staged::staged;
use crate::headless::Summary;
use inkstone_base::disk;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_features::models::clusters::{self, ThemesParams};
use inkstone_features::models::open_cluster_rows;
use inkstone_models::{ClusterParams, Linkage};

/// Flags of `train clusters`.
#[derive(Debug, Args)]
pub struct Clusters {
    #[command(flatten)]
    pub files: Files,
    /// The model whose rows are clustered: a file of train lsa, tfidf, pooling and the like, or the folder of a contextual model or a static encoder.
    ///
    /// 按其行聚类的模型：train lsa、tfidf、pooling 等的文件，或上下文模型、静态编码器的文件夹。
    #[arg(short, long, value_name = "MODEL")]
    pub model: PathBuf,
    /// The method: kmeans, or merging the nearest two clusters by ward, average, complete or single linkage.
    ///
    /// 聚类的方法：kmeans，或逐次合并最近的两类，距离按 ward、average、complete 或 single。
    #[arg(long, value_enum, default_value = "kmeans")]
    pub method: ClusterMethod,
    /// Also write the merges of a hierarchy as CSV: two clusters, their distance, and the documents of the new one.
    ///
    /// 另把层次聚类的合并写成 CSV：两类、其距离、新类的文档数。
    #[arg(long, value_name = "FILE")]
    pub merges: Option<PathBuf>,
    #[command(flatten)]
    pub clusters: ClusterParams,
    #[command(flatten)]
    pub onnx: Onnx,
}

/// The method of `train clusters`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClusterMethod {
    Kmeans,
    Ward,
    Average,
    Complete,
    Single,
}

impl ClusterMethod {
    fn linkage(self) -> Option<Linkage> {
        match self {
            ClusterMethod::Kmeans => None,
            ClusterMethod::Ward => Some(Linkage::Ward),
            ClusterMethod::Average => Some(Linkage::Average),
            ClusterMethod::Complete => Some(Linkage::Complete),
            ClusterMethod::Single => Some(Linkage::Single),
        }
    }
}

pub(super) fn run(args: &Clusters, ctx: &Ctx) -> Result<Summary> {
    let Files { corpus, output } = &args.files;
    ensure!(
        args.merges.is_none() || args.method != ClusterMethod::Kmeans,
        "--merges 写出层次聚类的合并；请加 --method ward 等",
        "--merges writes the merges of a hierarchy; add --method ward or another"
    );
    let params = ThemesParams { clusters: args.clusters.clone(), linkage: args.method.linkage() };
    let (mut lines, cutter) = open(corpus)?;
    let base = open_cluster_rows(&args.model, &args.onnx.contextual(), format(&corpus.input, corpus), output, ctx)?;
    let folder = disk::folder_of(output);
    let (themes, report) = staged(ctx, "train", || clusters::train(&mut lines, &cutter, &base, &params, folder, ctx))?;
    themes.save(output)?;
    let mut summary = trained_with_figures(clusters::KIND, output, report);
    if let Some(path) = &args.merges {
        clusters::write_merges(&themes.merges, path)?;
        summary.set("merges", path.display().to_string());
    }
    Ok(summary)
}

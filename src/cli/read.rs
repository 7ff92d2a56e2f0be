//! Flags of `read`.

use std::path::PathBuf;

use clap::Args;

use crate::config::bounds::flag;
use inkstone_corpus::ingest::Params;

#[derive(Debug, Args)]
pub struct Read {
    /// PDF, HTML, DOCX and text files, or folders of them.
    ///
    /// PDF、HTML、DOCX 与文本文件，或它们的文件夹。
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Write the text of each file into this folder, with title and time in its first lines, which ingest reads.
    ///
    /// 把各文件的文本写入该文件夹，前几行为标题与时间，可由 ingest 读取。
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Keep what is read of PDF and DOCX files where ingest of this project looks for it, with the project's own limits. So many processes can read
    /// a folder of papers, each some of its files, before one run takes them in.
    ///
    /// 把读出的 PDF 与 DOCX 内容存到该项目的 ingest 会查看之处，用该项目的限制。多个进程可分头读取一个文件夹，再由一次运行收取。
    #[arg(long, value_name = "CONFIG", conflicts_with_all = ["max_pages", "max_garbled"])]
    pub keep: Option<PathBuf>,
    /// Include the text of each file in the JSON result.
    ///
    /// 在 JSON 结果中附上各文件的文本。
    #[arg(long)]
    pub text: bool,
    /// Largest number of pages of a PDF; a PDF with more is refused unread.
    ///
    /// PDF 的最多页数；更多的不予读取。
    #[arg(long, value_name = "N", default_value_t = Params::default().max_pages, value_parser = flag::<usize>("ingest.max_pages"))]
    pub max_pages: usize,
    /// Largest share of a file's glyphs or characters that may be unmapped or garbled.
    ///
    /// 一个文件可有的乱码占比上限。
    #[arg(long, value_name = "SHARE", default_value_t = Params::default().max_garbled, value_parser = flag::<f64>("ingest.max_garbled"))]
    pub max_garbled: f64,
}

//! Flags of plans and of work on them.

use std::ops::Range;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::Project;
use inkstone_onnx::Device;

use inkstone_base::message;

#[derive(Debug, Args)]
pub struct Plan {
    #[command(flatten)]
    pub project: Project,
    /// The feature: a lexicon, hashed words, a file of a model, a contextual model, surprise, or word vectors.
    ///
    /// 特征：词典、哈希词、模型文件、上下文模型、surprise 或词向量。
    #[arg(long, value_name = "NAME")]
    pub feature: String,
    /// Tasks at most, of about the same number of characters.
    ///
    /// 最多的任务数，各任务字数相近。
    #[arg(long, value_name = "N")]
    pub tasks: usize,
    /// Folder of the rows that the workers leave, on a disk that all machines see (default: the plan's path, ending in .rows).
    ///
    /// 工作进程写出各行的文件夹，在各台机器都能看到的磁盘上（默认：计划的路径，以 .rows 结尾）。
    #[arg(long, value_name = "DIR")]
    pub rows: Option<PathBuf>,
    /// File of the plan.
    ///
    /// 计划的文件。
    #[arg(short, long, value_name = "FILE")]
    pub out: PathBuf,
    /// Let rows differ in their last digits, where machines have different processors or devices.
    ///
    /// 允许各行末几位不同，机器的处理器或设备不同时使用。
    #[arg(long)]
    pub mixed: bool,
}

#[derive(Debug, Args)]
pub struct Work {
    /// The plan that `inkstone plan` wrote.
    ///
    /// `inkstone plan` 写的计划。
    pub plan: PathBuf,
    /// The task, or tasks from the first to the one before the last: 17, 0..50 (default: all).
    ///
    /// 任务，或从首个到末个之前的一段：17、0..50（默认：全部）。
    #[arg(long, value_name = "TASKS", value_parser = tasks)]
    pub task: Option<Range<usize>>,
    /// Where a contextual model runs: auto, cpu or cuda:N (default: as in the project).
    ///
    /// 上下文模型在何处运行：auto、cpu 或 cuda:N（默认：同项目）。
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<Device>,
    /// Only say which parts of the tasks are done.
    ///
    /// 只说明任务的哪些部分已完成。
    #[arg(long)]
    pub check: bool,
    /// Compute nothing, show how far the tasks are, and end when all are done.
    ///
    /// 不计算，只显示任务的进度，全部完成后结束。
    #[arg(long, conflicts_with = "check")]
    pub watch: bool,
}

fn tasks(text: &str) -> anyhow::Result<Range<usize>> {
    let number = |text: &str| text.trim().parse::<usize>();
    let range = match text.split_once("..") {
        Some((first, end)) => number(first).ok().zip(number(end).ok()).map(|(first, end)| first..end),
        None => number(text).ok().map(|task| task..task + 1),
    };
    let range = range.filter(|range| range.start < range.end);
    range.with_context(|| {
        message!(
            "{text:?} 既不是任务编号（如 17），也不是范围（如 0..50）",
            "{text:?} is neither the number of a task, as 17, nor a range, as 0..50"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_a_number_or_a_range() {
        assert_eq!((tasks("17").unwrap(), tasks("0..50").unwrap()), (17..18, 0..50));
        for text in ["", "a", "3..3", "5..2", "..2", "-1"] {
            let error = tasks(text).unwrap_err().to_string();
            assert!(error.contains("0..50"), "{error}");
        }
    }
}

//! Remedies for faults of the machine, put at the end of an error.

use anyhow::Error;

use crate::language::{Language, Word};

/// Signs in the system's messages, and the remedy for each.
const REMEDIES: [(&[&str], Word); 9] = [
    (
        &["No space left on device", "no room for"],
        Word(
            "腾出磁盘空间，或把项目移到另一块磁盘，再运行同一命令：已完成的部分都已保留",
            "make room on that disk, or move the project to another, and run the same command again: what was finished is kept",
        ),
    ),
    (
        &["quota exceeded", "Quota exceeded"],
        Word(
            "在配额内腾出空间，再运行同一命令：已完成的部分都已保留",
            "make room within your quota on that disk and run the same command again: what was finished is kept",
        ),
    ),
    (
        &["File too large (os error"],
        Word(
            "这里的文件不能再变大：放宽限制（ulimit -f）后重新运行",
            "files may not grow to that size here: raise the limit (ulimit -f) and run again",
        ),
    ),
    (
        &["Read-only file system", "Permission denied (os error", "Operation not permitted (os error"],
        Word(
            "让该位置可写，或在配置里、用选项指定另一处",
            "make that place writable for you, or name another one in the configuration or by a flag",
        ),
    ),
    (
        &["Too many open files"],
        Word(
            "允许打开更多文件（ulimit -n 1024）后重新运行，或减少 --threads",
            "allow more open files (ulimit -n 1024) and run again, or take fewer --threads",
        ),
    ),
    (
        &["Cannot allocate memory", "Failed to allocate memory"],
        Word(
            "减少 --threads、放宽内存限制（ulimit -v）或关闭其他程序；已完成的部分都已保留",
            "take fewer --threads, raise the limit of memory (ulimit -v), or close other programs; what was finished is kept",
        ),
    ),
    (
        &["Resource temporarily unavailable (os error"],
        Word(
            "线程已用尽：减少 --threads，或允许更多（ulimit -u）",
            "no more threads are to be had: take fewer --threads, or allow more (ulimit -u)",
        ),
    ),
    (
        &["Input/output error (os error"],
        Word(
            "磁盘可能有故障：查看系统日志（dmesg），把项目复制到另一块磁盘后重新运行",
            "the disk may be failing: look at the log of the system (dmesg), copy the project to another disk and run again",
        ),
    ),
    (
        &["Transport endpoint is not connected", "Stale file handle"],
        Word("磁盘已断开：重新挂载后再运行", "that disk has gone away: mount it again and run again"),
    ),
];

/// An error with all its causes, and a remedy where the machine is at fault, in the language of messages.
pub fn with_remedy(error: &Error) -> String {
    // Causes that travel as text, as those within Parquet, count as well: the system's words are the same in every language.
    let signs_of = format!("{error:#}");
    let text = Language::of_messages().error(error);
    match REMEDIES.iter().find(|(signs, _)| signs.iter().any(|sign| signs_of.contains(sign))) {
        Some((_, remedy)) => format!("{text}{}{remedy}", Word("；", "; ")),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use anyhow::Context;

    use super::*;

    #[test]
    fn a_fault_of_the_machine_is_told_with_the_way_out() {
        let full = Error::from(io::Error::from_raw_os_error(28)).context("cannot write a.csv");
        let text = with_remedy(&full);
        assert!(text.starts_with("cannot write a.csv: No space left"), "{text}");
        assert!(text.contains("make room on that disk") && text.contains("what was finished is kept"), "{text}");
        let parquet = anyhow::anyhow!("parquet: underlying IO error: Read-only file system (os error 30)");
        assert!(super::with_remedy(&parquet).contains("make that place writable"));
    }

    #[test]
    fn other_errors_stay_as_they_are_and_a_cause_is_said_once() {
        assert_eq!(with_remedy(&anyhow::anyhow!("row 3").context("news.csv")), "news.csv: row 3");
        let twice = Err::<(), _>(io::Error::other("no luck")).map_err(|e| anyhow::anyhow!("{e}").context("no luck"));
        assert_eq!(with_remedy(&twice.context("cannot").unwrap_err()), "cannot: no luck");
    }
}

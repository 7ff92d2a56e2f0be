//! The texts of the page of jobs, in Chinese and English.

use inkstone_base::words;

pub(super) use crate::words::{CANCELLED as STOPPED, FAILED as FAILED_SHORT, SECONDS};

words! {
    LEFT: "余", "-";
    TIME_TO_GO: "余{}", "{} left";
    PAUSED: "已暂停", "paused";
    WAITING: "等待", "waiting";
    ENDED: "已结束", "ended";
    JOB_UNIT: "任务", "jobs";
    WORKERS: "工作进程", "workers";

    ASK_CANCEL: "停止这个任务？已完成的部分保留，下次从那里继续。", "Stop this job? Finished work is kept, and the next run continues from there.";
    ASK_QUIT: "还有任务没有结束。全部停止并退出？", "Some jobs are still running. Stop them all and quit?";
    ASK_QUIT_OR_DETACH: "还有任务没有结束。停止并退出，还是在后台继续？", "Some jobs are still running. Stop them all and quit, or let them go on in the background?";
    YES_NO_DETACH: "y 停止 · d 后台继续 · n 留下", "y stop · d background · n stay";
    DETACHED_RUN: "后台运行", "background run";
    ATTACHED: "已接上后台的运行；c 停止它，q 离开而不停止它", "following the background run; c stops it, q leaves it running";
    GOES_ON_BEHIND: "任务在后台继续；再打开工作台可接着看", "the jobs go on in the background; open the workbench again to follow them";
    NOT_DETACHED: "任务没有在后台继续", "the jobs do not go on in the background";
    REMOVED: "已从队列移除", "removed from the queue";
    QUEUED: "已排队，前面还有任务", "queued behind other jobs";
    HELD: "完成当前批次后暂停；按 P 继续", "pausing after the current batch; press P to resume";
    GOES_ON: "继续进行", "resumed";

    WHILE_WAITING: "排队等待：写项目的任务一次只运行一个，轮到时自动开始。按 c 移除。", "Queued: jobs that write the project run one at a time; this one starts in its turn. Press c to remove it.";
    WHILE_PAUSED: "已暂停：暂停的时间不计入用时、速度与剩余时间。按 P 继续，按 c 停止。", "Paused: pauses are left out of times and rates. Press P to resume, c to stop.";
    WHILE_STOPPING: "正在停止：完成当前批次，保留已写的部分。", "Stopping after the current batch; what it wrote is kept.";
    WHILE_RUNNING: "运行中：可以照常翻看其他页。P 暂停，c 停止。", "Running: use the other pages meanwhile. P pause, c stop.";
    WAY_OUT: "怎么办", "what to do";
    RESUME: "继续", "resume";
    OUT_HELD: "另一个进程正在写这个项目：等它结束，或停掉它，再开始。", "Another process is writing this project: wait until it has ended, or stop it, and start again.";
    OUT_FOLDER: "这个文件夹里有别的文件，不是砚创建的，所以什么也没有写。在 workbench.toml 里指定一个新的或空的文件夹。", "That folder holds other files and is not Inkstone's, so nothing was written. Name a new or empty folder in workbench.toml.";
    OUT_DISK: "磁盘已满：腾出空间后再开始；已完成的阶段不会重算。", "The disk is full: make room and start again; finished stages are not computed twice.";
    OUT_PERMISSION: "没有写的权限：检查文件夹的权限，或在 workbench.toml 的 [project] dir 里换一个文件夹。", "There is no permission to write: check the permissions of the folder, or name another one as [project] dir in workbench.toml.";
    OUT_INTERNAL: "这是程序内部的错误：其余各页照常可用。重试一次；再次出现时请把这一页连同日志报告上来。", "This is an error of the program; the other pages still work. Try again; if it happens once more, report it with this page and its log.";
    OUT_SOURCE: "在 workbench.toml 里改好，再按 r：运行前会重新读取配置。", "Correct workbench.toml and press r: the configuration is read again before a run.";
    OUT_SETTING: "按 {,} 打开设置 {}，改好保存后按 r 重试：已完成的阶段不会重算。", "Press {,} for the setting {}, save it and press r: finished stages are not computed twice.";
    OUT_PAGE: "回到它的那一页重新开始；已完成的部分不会重算：按", "Start it again on its page; what is finished is not computed twice: press";

    LOG: "日志", "Log";
    LOG_EMPTY: "还没有日志。任务开始、阶段结束、出错都会记在这里；按 r 运行流水线。", "Nothing was logged yet. Jobs that begin, stages that end and errors are noted here; press r to run the pipeline.";
    LOG_FOUND_NOTHING: "没有一行含有这些字。Esc 取消搜索。", "No line has these words. Esc cancels the search.";
    LOG_UNREADABLE: "读不到以前的日志", "earlier lines cannot be read";
    TIME: "时间", "time";
    LINE: "内容", "line";

    OPENED: "打开工作台", "workbench opened";
    OPENED_READ_ONLY: "打开工作台（只读）", "workbench opened (read-only)";
    CLOSED: "离开工作台", "workbench closed";
    ENTERED_QUEUE: "排队", "queued";
    STARTED: "开始", "started";
    PAUSED_NOW: "暂停", "paused";
    WENT_ON: "继续", "resumed";
    TAKEN_OUT: "移出队列", "removed from the queue";
    STAGES: "个阶段", "stages";

    READ_ONLY: "只读", "read-only";
    OTHER_INSTANCE: "另一实例", "another instance,";
    OTHER_RUN: "另一个运行", "another run,";
    SINCE: "自", "since";
    CANNOT_WRITE: "这个文件夹不能写", "the folder cannot be written";
    NOT_OURS: "文件夹不是砚创建的", "the folder is not Inkstone's";
    OUT_NOT_OURS: "其中内容未改动；在设置（,）的 [project] dir 里指定一个新的或空的文件夹", "nothing in it was touched; name a new or empty folder as [project] dir in the settings (,)";
    TRY_AGAIN: "它结束后按 r 重试", "press r to try again when it has ended";
    WRITES_AGAIN: "项目已可写", "the project can be written now";

    SESSION_DAMAGED: "上次会话的文件读不出来，已改名为", "The file of the last session cannot be read; it was renamed to";
    SESSION_NEWER: "上次会话的文件由更新的版本写成，已改名为", "The file of the last session was written by a newer version; it was renamed to";
    SESSION_NOT_KEPT: "会话与日志无法写入", "session and log cannot be written";
}

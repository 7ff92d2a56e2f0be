//! Flags of `events`.

use clap::Args;

use crate::config::bounds::flag;

#[derive(Debug, Args)]
pub struct Events {
    /// Kinds of events: names of `event` tables of the configuration, or kinds of a table of events (default: all).
    ///
    /// 事件类型：配置中各 `event` 的名称，或事件表中的类型（默认：全部）。
    #[arg(value_name = "KIND")]
    pub kinds: Vec<String>,
    #[command(flatten)]
    pub project: super::Project,
    /// Only events of this security (600519, 600519.SH, SH600519).
    ///
    /// 只列这只证券的事件（600519、600519.SH、SH600519）。
    #[arg(long, value_name = "CODE")]
    pub code: Option<String>,
    /// Events to show, the latest first.
    ///
    /// 显示的事件数，新的在前。
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = flag::<usize>("--count"))]
    pub top: usize,
    /// Draw the events that are shown by the seed, to judge the triggers by them.
    ///
    /// 按种子抽取所显示的事件，以便判断触发词是否得当。
    #[arg(long)]
    pub sample: bool,
    /// Also study the returns around the events of each kind, by the rules of `events` in the configuration.
    ///
    /// 另按配置中 `events` 的规则研究各类事件前后的收益。
    #[arg(long)]
    pub study: bool,
}

//! `doctor`: checks this machine, and names what is missing and the command that installs it.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use anyhow::{Context, Result};
use serde::Serialize;

use super::{batch, is_batch, or_explain};
use crate::cli::{Doctor, Global};
use crate::headless::Summary;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::language::{Message, Word};
use inkstone_base::message;
use inkstone_base::simd;
use inkstone_base::width::shown;
use inkstone_onnx::RuntimeParams;
use inkstone_onnx::runtime::{MEND, MEND_CUDA, Machine, PACKAGE_VERSION, install, program, runtime_folder};

/// The command that exports a model of a hub to the ONNX format, for families whose weights are not opened as they are.
const EXPORT: &str = "pip install \"optimum[onnxruntime]\" && optimum-cli export onnx --model hfl/chinese-macbert-base --task \
                      feature-extraction models/macbert   (a classifier: --task text-classification)";

/// One result of the check.
#[derive(Serialize)]
struct Finding {
    what: &'static str,
    /// True if it is sufficient; none if it is not required.
    fine: Option<bool>,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    mend: Option<String>,
}

/// Checks the machine, installs if asked to, and prints the findings: as text on a terminal, else as a JSON object.
pub(super) fn run(args: &Doctor, global: &Global) -> ExitCode {
    if is_batch(global) {
        return batch("doctor", global, |ctx| {
            let findings = look(args, ctx)?;
            let mut summary = Summary { partial: wanting(&findings), ..Summary::default() };
            summary.set("findings", findings);
            summary.set("export", EXPORT);
            Ok(summary)
        });
    }
    or_explain((|| {
        let ctx = Ctx::new(global.threads.unwrap_or(0), 1)?;
        if args.fix {
            let folder = own_runtime_folder()?;
            writeln!(
                std::io::stderr(),
                "{}",
                message!(
                    "正在把 ONNX Runtime {PACKAGE_VERSION} 安装到 {} ……",
                    "installing ONNX Runtime {PACKAGE_VERSION} in {} ...",
                    folder.display()
                )
            )?;
        }
        let findings = look(args, &ctx)?;
        let mut out = std::io::stdout().lock();
        for finding in &findings {
            let mark = match finding.fine {
                Some(true) => "ok",
                Some(false) => "--",
                None => "  ",
            };
            writeln!(out, "{mark}  {:<13} {}", finding.what, shown(&finding.found))?;
            if let Some(mend) = &finding.mend {
                writeln!(out, "    {:<13} {}", "", shown(mend))?;
            }
        }
        writeln!(
            out,
            "{}",
            message!(
                "\n需要导出的模型，只需运行一次：  {EXPORT}",
                "\nA model whose family needs an export, once:  {EXPORT}"
            )
        )?;
        Ok(ExitCode::from(u8::from(wanting(&findings))))
    })())
}

fn wanting(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.fine == Some(false))
}

fn look(args: &Doctor, ctx: &Ctx) -> Result<Vec<Finding>> {
    let finding = |what, fine, found: String| Finding { what, fine, found, mend: None };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let mut findings = vec![
        finding(
            "inkstone",
            Some(true),
            format!("{} on {} {}", env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH),
        ),
        finding(
            "processor",
            Some(true),
            message!("{cores} 核，内层循环使用 {}", "{cores} cores, inner loops for {}", simd::in_words()).to_string(),
        ),
        finding("terminal", None, terminal()),
    ];
    let place = RuntimeParams { library: args.library.clone(), trusted: true, ..RuntimeParams::default() };
    if args.fix && (args.cuda || place.load(Path::new("")).is_err()) {
        ctx.stage("install", "files", None, || {
            let folder = own_runtime_folder()?;
            ctx.note(
                message!(
                    "ONNX Runtime {PACKAGE_VERSION} 装到 {}",
                    "ONNX Runtime {PACKAGE_VERSION} into {}",
                    folder.display()
                )
                .to_string(),
            );
            install(&folder, args.cuda, ctx)?;
            Ok(Report::new("install"))
        })?;
    }
    let machine = Machine::look(&place, Path::new(""));
    findings.push(match &machine.library {
        Ok(library) => finding("ONNX Runtime", Some(true), format!("{} ({})", library.version, library.file.display())),
        Err(error) => {
            Finding { what: "ONNX Runtime", fine: Some(false), found: error.to_string(), mend: Some(MEND.to_owned()) }
        }
    });
    let places: Vec<String> =
        machine.places.iter().map(|place| format!("{} ({})", place.file.display(), place.from)).collect();
    findings.push(finding(
        "libraries",
        None,
        if places.is_empty() { Word("本机没有", "none on this machine").to_string() } else { places.join("; ") },
    ));
    if !machine.devices.is_empty() {
        findings.push(finding("devices", None, machine.devices.join("; ")));
    }
    if let Some(missing) = &machine.cuda_lacks {
        findings.push(Finding {
            what: "CUDA",
            fine: args.cuda.then_some(missing.is_empty()),
            found: if missing.is_empty() {
                Word("代码库齐全", "all libraries are there").to_string()
            } else {
                message!("缺少：{}", "missing: {}", Message::joined(missing, Word("、", ", "))).to_string()
            },
            mend: (!missing.is_empty()).then(|| {
                message!("{MEND_CUDA}，须在有 NVIDIA 驱动的机器上", "{MEND_CUDA}, on a machine with an NVIDIA driver")
                    .to_string()
            }),
        });
    }
    let installer = ["uv", "python3"].into_iter().find(|name| runs(name));
    findings.push(finding(
        "installer",
        None,
        installer.map_or(
            Word("没有 uv 和 python3，--fix 无法安装", "neither uv nor python3, so --fix can install nothing")
                .to_string(),
            str::to_owned,
        ),
    ));
    Ok(findings)
}

fn own_runtime_folder() -> Result<PathBuf> {
    runtime_folder().context(Word(
        "XDG_DATA_HOME 与 HOME 都不是绝对路径：请设置其一",
        "neither XDG_DATA_HOME nor HOME is set to an absolute path: set one of them",
    ))
}

fn terminal() -> String {
    let language = ["LC_ALL", "LC_MESSAGES", "LANG"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
    let kind =
        if std::io::stdout().is_terminal() { std::env::var("TERM").unwrap_or_default() } else { "none".to_owned() };
    match language {
        Some(language) => message!("{kind}，语言 {language}", "{kind}, language {language}").to_string(),
        None => message!("{kind}，未设置语言", "{kind}, language not set").to_string(),
    }
}

fn runs(name: &str) -> bool {
    let status =
        program(name).map(|mut program| program.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status());
    status.is_some_and(|status| status.is_ok_and(|status| status.success()))
}

//! Cost of a document as a corpus grows: the real program, stage by stage, on demo markets of several sizes.
//!
//! `cargo bench --bench scale [-- SCALE...] [--dir DIR] [--program FILE]` takes scales 1, 3 and 10 unless told otherwise (1 is 9,500
//! documents; 100 takes ten minutes on two cores and some 12 GB of disk). Each stage is a process of its own with two threads. CPU
//! time is that of the process, user and system, so that a busy machine disturbs it little; the ratio is to the first scale. `peak` is
//! the most that was resident, pages of mapped files among it, which the system takes back when it needs them; `own` is the rest, and
//! a stage that owns more than 4 GB is stopped. `temp` is the most that lay on disk besides results: files that are being written,
//! files without a name, the folder for temporary files. All but CPU time is looked at some 50 times a second, so what is shorter is
//! missed.

#![allow(clippy::print_stdout, reason = "a bench is a program that prints its figures")]

#[cfg(target_os = "linux")]
fn main() -> anyhow::Result<()> {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("this bench reads /proc, which is Linux's");
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use anyhow::{Context, Result, bail, ensure};
    use inkstone_base::job::Ctx;
    use inkstone_corpus::demo::{Params, generate};
    use toml::{Table, Value};

    /// The features of the demo that need no contextual model, and vectors that are trained on a quarter of a year each.
    const FEATURES: [&str; 5] = ["tone", "learned", "words", "placebo", "vectors"];
    const VECTORS: &str = "name = \"vectors\"\nmodel = \"word2vec\"\nword2vec = { dim = 50, epochs = 1 }\n\
                           vintages = { window_days = 91, refit_days = 91, min_train_documents = 100 }";
    /// Bytes that a document takes on disk, with its delivery, its text in every stage, its features, scratch files, and room to spare.
    const BYTES: f64 = 12_000.0;
    const MOST_OWNED: u64 = 4 << 30;
    const PAUSE: Duration = Duration::from_millis(20);
    /// Of the clock in which Linux tells CPU time.
    const TICKS: f64 = 100.0;

    struct Args {
        scales: Vec<f64>,
        dir: Option<PathBuf>,
        program: PathBuf,
    }

    /// Time and memory of a process.
    #[derive(Clone, Copy, Default)]
    struct Usage {
        cpu: f64,
        wall: f64,
        peak: u64,
        own: u64,
        scratch: u64,
    }

    pub(super) fn main() -> Result<()> {
        // The generator runs in a process of its own as all stages do: this program, called with what it shall make.
        if let Ok(dir) = std::env::var("INKSTONE_BENCH_GENERATE") {
            let scale = std::env::var("INKSTONE_BENCH_SCALE")?.parse()?;
            generate(Path::new(&dir), &Params { scale, seed: 1 }, &Ctx::new(2, 1)?)?;
            return Ok(());
        }
        let args = args()?;
        let above = match &args.dir {
            Some(dir) => tempfile::tempdir_in(dir),
            None => tempfile::tempdir(),
        }?;
        let most = args.scales.iter().copied().fold(0.0, f64::max) * 9_500.0 * BYTES;
        println!("{} · at most {:.1} GB in {}", args.program.display(), most / 1e9, above.path().display());

        let mut curves: Vec<(String, Vec<f64>)> = Vec::new();
        for &scale in &args.scales {
            let project = Project::make(above.path(), scale)?;
            let documents = project.generate(scale, &mut curves)?;
            for (stage, config) in stages() {
                let mut command = Command::new(&args.program);
                command.args([command_of(&stage), "--headless", "--threads", "2", "--config", &config]);
                let usage = project.measure(command).with_context(|| format!("{stage} at scale {scale}"))?;
                told(&stage, usage, documents, &mut curves);
            }
            println!("{:>10} {:.2} GB on disk", "", bytes_below(&project.folder, |_| true) as f64 / 1e9);
            fs::remove_dir_all(&project.folder)?;
        }
        if args.scales.len() > 1 {
            print!("\nµs of CPU a document, and as a multiple of the first\n{:>10}", "scale");
            args.scales.iter().for_each(|scale| print!(" {scale:>13}"));
            println!();
            for (stage, costs) in &curves {
                print!("{stage:>10}");
                costs.iter().for_each(|cost| print!(" {cost:>7.0} {:>4.2}x", cost / costs[0]));
                println!();
            }
        }
        Ok(())
    }

    fn args() -> Result<Args> {
        let mut args = Args { scales: Vec::new(), dir: None, program: env!("CARGO_BIN_EXE_inkstone").into() };
        // Cargo adds `--bench` to what the user gives.
        let mut given = std::env::args().skip(1).filter(|arg| arg != "--bench");
        while let Some(arg) = given.next() {
            let mut value = || given.next().with_context(|| format!("{arg} lacks its value"));
            match arg.as_str() {
                "--dir" => args.dir = Some(value()?.into()),
                "--program" => args.program = fs::canonicalize(value()?)?,
                scale => args.scales.push(scale.parse().with_context(|| format!("{scale:?} is no scale"))?),
            }
        }
        if args.scales.is_empty() {
            args.scales = vec![1.0, 3.0, 10.0];
        }
        Ok(args)
    }

    /// The stages in their order, each with its configuration: a feature is extracted alone, so that its cost is seen.
    fn stages() -> Vec<(String, String)> {
        let configured = |stage: &str| (stage.to_owned(), "workbench.toml".to_owned());
        let mut stages: Vec<_> = ["ingest", "clean", "link"].map(configured).into();
        stages.extend(FEATURES.map(|feature| (feature.to_owned(), format!("{feature}.toml"))));
        stages.extend(["factor", "backtest", "lint", "export", "report"].map(configured));
        stages
    }

    fn command_of(stage: &str) -> &str {
        if FEATURES.contains(&stage) { "extract" } else { stage }
    }

    fn told(stage: &str, usage: Usage, documents: usize, curves: &mut Vec<(String, Vec<f64>)>) {
        let cost = usage.cpu * 1e6 / documents as f64;
        let at = curves.iter().position(|(name, _)| name == stage).unwrap_or_else(|| {
            curves.push((stage.to_owned(), Vec::new()));
            curves.len() - 1
        });
        curves[at].1.push(cost);
        let mb = |bytes: u64| bytes as f64 / 1e6;
        println!(
            "{stage:>10} {:>8.1} {:>8.1} {cost:>8.0} {:>5.2}x {:>8.0} {:>8.0} {:>8.0}",
            usage.wall,
            usage.cpu,
            cost / curves[at].1[0],
            mb(usage.peak),
            mb(usage.own),
            mb(usage.scratch)
        );
    }

    /// The demo's market in a folder of its own, with a folder for temporary files beside it.
    struct Project {
        folder: PathBuf,
        temporary: PathBuf,
    }

    impl Project {
        fn make(above: &Path, scale: f64) -> Result<Project> {
            let folder = above.join(format!("scale-{scale}"));
            let temporary = above.join("tmp");
            fs::create_dir_all(&temporary)?;
            fs::create_dir_all(&folder)?;
            let mut demo: Table = include_str!("../assets/demo.toml").parse()?;
            demo.remove("experiment");
            let mut features: BTreeMap<String, Value> =
                named(&demo, "feature")?.into_iter().filter(|(name, _)| FEATURES.contains(&name.as_str())).collect();
            features.insert("vectors".into(), VECTORS.parse::<Table>()?.into());
            let factors: Vec<Value> =
                named(&demo, "factor")?.into_values().filter(|f| !f.to_string().contains("bert")).collect();
            demo.insert("factor".into(), factors.into());
            demo.insert("feature".into(), FEATURES.map(|name| features[name].clone()).to_vec().into());
            fs::write(folder.join("workbench.toml"), demo.to_string())?;
            demo.remove("factor");
            for (name, feature) in features {
                demo.insert("feature".into(), vec![feature].into());
                fs::write(folder.join(format!("{name}.toml")), demo.to_string())?;
            }
            Ok(Project { folder, temporary })
        }

        /// Makes the market; gives its number of documents.
        fn generate(&self, scale: f64, curves: &mut Vec<(String, Vec<f64>)>) -> Result<usize> {
            let data = self.folder.join("data");
            let mut command = Command::new(std::env::current_exe()?);
            command.env("INKSTONE_BENCH_GENERATE", &data).env("INKSTONE_BENCH_SCALE", scale.to_string());
            let usage = self.measure(command).context("the market cannot be made")?;
            fs::write(data.join("placebo.txt"), include_str!("../datasets/demo/placebo.txt"))?;
            let truth: serde_json::Value = inkstone_base::disk::read_json(&data.join("truth.json"))?;
            let documents = truth["documents"].as_u64().context("the market tells how many documents it has")? as usize;
            println!("\nscale {scale}: {documents} documents");
            println!(
                "{:>10} {:>8} {:>8} {:>8} {:>6} {:>8} {:>8} {:>8}",
                "", "s", "CPU s", "µs/doc", "", "peak MB", "own MB", "temp MB"
            );
            told("generate", usage, documents, curves);
            Ok(documents)
        }

        /// Runs a command to its end and watches it.
        fn measure(&self, mut command: Command) -> Result<Usage> {
            command.current_dir(&self.folder).env("TMPDIR", &self.temporary);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
            let began = Instant::now();
            let mut child = Killed(command.spawn()?);
            let mut error_text = child.0.stderr.take().context("stderr was asked for")?;
            let reader = std::thread::spawn(move || std::io::read_to_string(&mut error_text));
            let process = PathBuf::from(format!("/proc/{}", child.0.id()));
            let mut usage = Usage::default();
            loop {
                // Once it has ended, its time is told until it is waited for, its memory no more.
                let stat = fs::read_to_string(process.join("stat"))?;
                let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
                ensure!(fields.len() > 12, "{stat:?} tells no times");
                if fields[0] == "Z" {
                    usage.cpu = (fields[11].parse::<f64>()? + fields[12].parse::<f64>()?) / TICKS;
                    usage.wall = began.elapsed().as_secs_f64();
                    break;
                }
                let status = fs::read_to_string(process.join("status")).unwrap_or_default();
                let kilobytes = |name: &str| {
                    let line = status.lines().find_map(|line| line.strip_prefix(name));
                    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0) << 10
                };
                usage.peak = usage.peak.max(kilobytes("VmHWM"));
                usage.own = usage.own.max(kilobytes("RssAnon"));
                usage.scratch = usage.scratch.max(self.scratch(&process));
                ensure!(usage.own <= MOST_OWNED, "it owns more than {} GB of memory", MOST_OWNED >> 30);
                std::thread::sleep(PAUSE);
            }
            let ended = child.0.wait()?;
            // 1: some rows were set aside, as the demo's bad ones are.
            if !matches!(ended.code(), Some(0 | 1)) {
                let error_text = reader.join().unwrap_or_else(|_| Ok(String::new()))?;
                bail!("it ended with {ended}: {}", error_text.lines().last().unwrap_or_default());
            }
            Ok(usage)
        }

        /// Bytes on disk that are no result: with a temporary name, in the folder for such files, or without any name but open or mapped.
        fn scratch(&self, process: &Path) -> u64 {
            let mut nameless = BTreeMap::new();
            for entry in fs::read_dir(process.join("fd")).into_iter().flatten().flatten() {
                if let Ok(file) = fs::metadata(entry.path())
                    && file.is_file()
                    && file.nlink() == 0
                {
                    nameless.insert(file.ino(), file.len());
                }
            }
            for line in fs::read_to_string(process.join("maps")).unwrap_or_default().lines() {
                let fields: Vec<&str> = line.split_whitespace().collect();
                if let [addresses, _, _, _, inode, path, .., "(deleted)"] = fields[..]
                    && !path.starts_with("/memfd:")
                    && let (Ok(inode), Some((from, to))) = (inode.parse(), addresses.split_once('-'))
                    && let (Ok(from), Ok(to)) = (u64::from_str_radix(from, 16), u64::from_str_radix(to, 16))
                {
                    nameless.entry(inode).or_insert(to - from);
                }
            }
            let pending = bytes_below(&self.folder, |name| name.starts_with(".tmp-"));
            pending + bytes_below(&self.temporary, |_| true) + nameless.values().sum::<u64>()
        }
    }

    /// The entries of a list of tables by their names.
    fn named(table: &Table, key: &str) -> Result<BTreeMap<String, Value>> {
        let entries = table.get(key).and_then(Value::as_array).with_context(|| format!("the demo has no {key}"))?;
        let name = |entry: &Value| entry.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(entries.iter().map(|entry| (name(entry), entry.clone())).collect())
    }

    /// Bytes of the files below a folder whose names are such; of several names of one file it counts once.
    fn bytes_below(folder: &Path, such: impl Fn(&str) -> bool) -> u64 {
        let mut seen = BTreeSet::new();
        let mut bytes = 0;
        for entry in walkdir::WalkDir::new(folder).into_iter().flatten() {
            if entry.file_type().is_file()
                && such(&entry.file_name().to_string_lossy())
                && let Ok(file) = entry.metadata()
                && seen.insert(file.ino())
            {
                bytes += file.len();
            }
        }
        bytes
    }

    /// A process that a bench that fails does not leave running.
    struct Killed(Child);

    impl Drop for Killed {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

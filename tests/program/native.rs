//! No native code but what the user chose: none of the current folder, none that a project or a manifest names unasked, and of PyPI only
//! wheels of known hashes, installed where nobody else has put anything.
//!
//! The library that must not be loaded leaves a mark as soon as it is.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

use crate::desk::Desk;
use crate::fronts::{Keys, drawn_by, wait_until};
use crate::onnx::graph;
use crate::{Ran, assert_says, fronts, inkstone};
use inkstone_testing::not_tried;

/// Names the file that the library leaves.
const MARK: &str = "INKSTONE_TEST_MARK";

/// A library that leaves its mark when it is loaded, whoever loads it.
fn trap() -> &'static Path {
    static TRAP: OnceLock<PathBuf> = OnceLock::new();
    TRAP.get_or_init(|| {
        let source = format!(
            "#[used]\n#[unsafe(link_section = \".init_array\")]\nstatic LOADED: extern \"C\" fn() = loaded;\n\
             extern \"C\" fn loaded() {{ if let Some(mark) = std::env::var_os({MARK:?}) {{ let _ = std::fs::write(mark, \"\"); }} }}\n"
        );
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("trap");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("trap.rs"), source).unwrap();
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let mut compile = Command::new(rustc);
        compile.current_dir(&folder).args(["--edition", "2024", "--crate-type", "cdylib", "trap.rs", "-o", "trap.so"]);
        assert!(compile.status().expect("rustc, which has built this test, runs").success());
        folder.join("trap.so")
    })
}

/// A folder for a program to run in, and beside it the user's own folders, empty, and the place of the mark.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Place {
        let place = Place { folder: tempfile::tempdir().unwrap() };
        for own in ["here", "home", "data", "config"] {
            fs::create_dir(place.at(own)).unwrap();
        }
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn here(&self) -> PathBuf {
        self.at("here")
    }

    /// Puts the trap below the current folder.
    fn plant(&self, path: &str) -> PathBuf {
        let to = self.here().join(path);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(trap(), &to).unwrap();
        to
    }

    /// Puts a program of the shell below the current folder, or at an absolute path.
    fn script(&self, path: &str, text: &str) {
        let to = self.here().join(path);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(&to, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(to, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The program for a user who has no library and has set nothing.
    fn program(&self, args: &[&str]) -> Command {
        let mut command = inkstone(&self.here(), args);
        for name in ["ORT_DYLIB_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH"] {
            command.env_remove(name);
        }
        for (name, value) in self.own() {
            command.env(name, value);
        }
        command
    }

    /// The variables that lead to the user's own folders, and to the mark.
    fn own(&self) -> [(&'static str, PathBuf); 4] {
        let names = [("HOME", "home"), ("XDG_DATA_HOME", "data"), ("XDG_CONFIG_HOME", "config"), (MARK, "mark")];
        names.map(|(name, folder)| (name, self.at(folder)))
    }

    /// True if the trap was loaded since the last call.
    fn sprung(&self) -> bool {
        fs::remove_file(self.at("mark")).is_ok()
    }
}

#[test]
fn no_library_and_no_program_of_the_current_folder_runs() {
    let place = Place::new();
    let packages = "lib/python3.11/site-packages";
    for folder in ["onnxruntime/capi", ".", "inkstone/runtime/onnxruntime/capi", ".local/share/inkstone/runtime"] {
        place.plant(&format!("{folder}/libonnxruntime.so.1.99.0"));
    }
    place.plant(&format!("{packages}/onnxruntime/capi/libonnxruntime.so.1.99.0"));
    place.plant("libonnxruntime.so");
    fs::write(place.here().join("onnxruntime/__init__.py"), "").unwrap();
    let leave = format!("touch \"${MARK}\"");
    for name in ["python3", "python", "uv"] {
        place.script(name, &leave);
    }
    // It works where the user names it.
    let named = Ran::of(place.program(&["doctor", "--library", "libonnxruntime.so"]).output().unwrap());
    assert!(place.sprung(), "{}", named.text());
    let path = std::env::var("PATH").unwrap();
    for (name, value) in [
        ("PATH", path.as_str()),
        ("LD_LIBRARY_PATH", ""),
        ("LD_LIBRARY_PATH", ":"),
        ("LD_LIBRARY_PATH", "."),
        ("LD_LIBRARY_PATH", "/usr/local/lib::onnxruntime/capi"),
        ("VIRTUAL_ENV", ""),
        ("VIRTUAL_ENV", "."),
        ("CONDA_PREFIX", ""),
        ("CONDA_PREFIX", "./"),
        ("XDG_DATA_HOME", "."),
        ("PYTHONPATH", "."),
        ("PATH", ""),
        ("PATH", ":"),
        ("PATH", "."),
        ("ORT_DYLIB_PATH", "libonnxruntime.so"),
        ("ORT_DYLIB_PATH", "./onnxruntime"),
        ("ORT_DYLIB_PATH", ""),
    ] {
        for home in ["home", ""] {
            let mut program = place.program(&["doctor"]);
            if home.is_empty() {
                program.env("HOME", "").env_remove("XDG_DATA_HOME");
            }
            let ran = Ran::of(program.env(name, value).output().unwrap());
            assert!(!place.sprung(), "{name}={value:?}, a home of {home:?}: {}", ran.text());
            let json = ran.json();
            assert!(!json.to_string().contains("1.99.0"), "{name}={value:?}: {json:#}");
            if name == "ORT_DYLIB_PATH" && !value.is_empty() {
                assert_says(&json.to_string(), &["no whole path"]);
            }
        }
    }
    // Nor does a model bring code with it.
    let model = place.here().join("model");
    fs::create_dir(&model).unwrap();
    for file in ["model.onnx", "config.json", "tokenizer.json"] {
        fs::copy(Path::new(&graph("bert")).join(file), model.join(file)).unwrap();
    }
    for name in ["libonnxruntime_providers_shared.so", "libonnxruntime_extensions.so", "libonnxruntime.so"] {
        place.plant(&format!("model/{name}"));
    }
    fs::write(place.here().join("news.txt"), "净利润同比增长\n").unwrap();
    let mut embed = place.program(&["embed", "--model", "model", "-i", "news.txt", "-o", "rows.csv"]);
    let ran = Ran::of(embed.env("ORT_DYLIB_PATH", crate::library()).output().unwrap());
    assert!(!place.sprung(), "{}", ran.text());
}

/// A project with a contextual feature, whose configuration names the trap.
fn project(place: &Place) -> Desk {
    let desk = Desk::new();
    fs::create_dir(desk.folder().join("lib")).unwrap();
    fs::copy(trap(), desk.folder().join("lib/libonnxruntime.so")).unwrap();
    let mut config = fs::read_to_string(desk.folder().join("workbench.toml")).unwrap();
    config += &format!(
        "\n[onnx]\nlibrary = \"lib\"\ndevice = \"cpu\"\n\n[[feature]]\nname = \"bert\"\nmodel = \"onnx\"\n\
         onnx = {{ model = \"{}\", fitted_until = \"2023-12-31\" }}\n",
        graph("bert")
    );
    desk.write("workbench.toml", config);
    assert!(!place.sprung());
    desk
}

#[test]
fn a_library_that_a_project_names_waits_for_a_yes() {
    let place = Place::new();
    let desk = project(&place);
    let file = desk.folder().join("lib/libonnxruntime.so").canonicalize().unwrap();
    let run = |args: &[&str]| {
        let mut program = place.program(args);
        Ran::of(program.current_dir(desk.folder()).output().unwrap())
    };
    for command in ["run", "extract", "factor", "backtest", "export", "lint", "report"] {
        let ran = run(&[command, "--headless"]);
        assert!(!place.sprung(), "{command}: {}", ran.text());
        let words = [&file.display().to_string(), "nobody has agreed to it", "--trust", "[onnx] library"];
        assert_says(&ran.refusal(), &words);
    }
    // A picture of the page of models loads nothing either, and asks nobody.
    let ran = run(&["picture", "--keys", "4y", "--output", "page.txt", "--lang", "en"]);
    assert!(!place.sprung() && ran.code == Some(0), "{}", ran.text());
    let drawn = fs::read_to_string(desk.folder().join("page.txt")).unwrap();
    assert!(drawn.contains("library of native code") && !drawn.contains("y yes"), "{drawn}");

    // For one run, and without a note of it.
    let trusted = run(&["run", "--headless", "--trust"]);
    assert!(place.sprung(), "{}", trusted.text());
    assert_says(&trusted.refusal(), &["not that of ONNX Runtime"]);
    run(&["run", "--headless"]).refusal();
    assert!(!place.sprung() && fs::read_dir(place.at("config")).unwrap().next().is_none());

    // The workbench asks. A no, Enter and Ctrl-C are no yes.
    let open = |keys: &str, then: &dyn Fn(&Keys<'_>)| {
        let mut program = fronts::inkstone(desk.folder(), &["run", "-c", "workbench.toml", "--lang", "en"]);
        for (name, value) in place.own() {
            program = program.env(name, value);
        }
        let (drawn, code) = drawn_by(program.env_remove("LD_LIBRARY_PATH"), |screen| {
            screen.see("y yes");
            screen.press(keys);
            then(screen);
        });
        assert_eq!(code, Some(0), "{drawn}");
    };
    for keys in ["n", "\rn", "\x03"] {
        open(keys, &|screen| screen.see("failed"));
        assert!(!place.sprung(), "{keys:?}");
    }
    open("y", &|_| wait_until("the library to be loaded", || place.at("mark").exists()));
    assert!(place.sprung());
    let kept = fs::read_to_string(place.at("config").join("inkstone/libraries.json")).unwrap();
    assert_says(&kept, &[&file.display().to_string(), "blake3"]);
    run(&["run", "--headless"]).refusal();
    assert!(place.sprung(), "a yes is remembered");

    // Other content is another library.
    let mut bytes = fs::read(&file).unwrap();
    bytes.push(0);
    fs::write(&file, bytes).unwrap();
    assert_says(&run(&["run", "--headless"]).refusal(), &["has changed since it was agreed to"]);
    assert!(!place.sprung());
    open("n", &|screen| screen.see("failed"));
    assert!(!place.sprung());
}

#[test]
fn a_manifest_loads_no_library() {
    let place = Place::new();
    let desk = Desk::new();
    desk.run().finished();
    let manifest = desk.folder().join("exports/manifest.json");
    let mut evil: Value = serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    assert!(evil["parameters"]["onnx"]["library"].is_null(), "{evil:#}");
    evil["parameters"]["onnx"]["library"] = trap().display().to_string().into();
    let bert = Path::new(&graph("bert")).to_owned();
    let mut feature = evil["parameters"]["feature"][0].clone();
    feature["name"] = "bert".into();
    feature["model"] = "onnx".into();
    feature["onnx"]["model"] = bert.display().to_string().into();
    feature["onnx"]["fitted_until"] = "2023-12-31".into();
    evil["parameters"]["feature"].as_array_mut().unwrap().push(feature);
    desk.write("evil.json", evil.to_string());
    // With a yes for everything that is asked, for nothing is.
    let mut replay = place.program(&["replay", "evil.json", "--base", ".", "--trust"]);
    let ran = Ran::of(replay.env("ORT_DYLIB_PATH", crate::library()).current_dir(desk.folder()).output().unwrap());
    assert!(!place.sprung(), "{}", ran.text());
    assert_says(&ran.stderr, &["note: the manifest names the native library", "was not loaded"]);
    if crate::has_library() {
        assert_eq!(ran.json()["replay"]["library_ignored"], trap().display().to_string(), "{}", ran.text());
    }
    let ran = Ran::of(
        place.program(&["diff", "exports/manifest.json", "evil.json"]).current_dir(desk.folder()).output().unwrap(),
    );
    let json = ran.finished();
    assert!(!place.sprung() && !json.to_string().contains("trap.so"), "{json:#}");
}

/// An installer that writes down how it was called, waits where it is told to, and installs a file of this content.
fn installer(place: &Place) {
    let record = place.at("record");
    fs::create_dir_all(&record).unwrap();
    let script = format!(
        "[ \"$1\" = --version ] && exit 0\nR='{}'\nprintf '%s\\n' \"$@\" > $R/args\npwd > $R/cwd\n/bin/cp requirements.txt $R/wheels\n\
         /bin/mkdir -p onnxruntime/capi\nif [ -e $R/wait ]; then echo $$ > $R/pid; exec /bin/sleep 600; fi\n\
         /bin/cp $R/content onnxruntime/capi/libonnxruntime.so.1.31.1",
        record.display()
    );
    place.script(&place.at("bin/uv").display().to_string(), &script);
}

#[test]
fn an_installation_is_whole_or_not_there_and_reads_nothing_of_the_current_folder() {
    let place = Place::new();
    installer(&place);
    let record = |name: &str| place.at("record").join(name);
    let own = place.at("data/inkstone");
    let installed = || fs::read_to_string(own.join("runtime/onnxruntime/capi/libonnxruntime.so.1.31.1")).unwrap();
    let fix = || {
        let mut program = place.program(&["doctor", "--fix", "--cuda"]);
        program.env("PATH", place.at("bin"));
        program
    };
    let listing = || {
        let mut names: Vec<_> = fs::read_dir(&own).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    fs::write(record("content"), "one").unwrap();
    let ran = Ran::of(fix().output().unwrap());
    assert_eq!((ran.code, installed().as_str()), (Some(1), "one"), "{}", ran.text());
    let args = fs::read_to_string(record("args")).unwrap();
    let args: Vec<&str> = args.lines().collect();
    for wanted in ["--no-config", "--require-hashes", "--only-binary", ":all:", "--no-deps"] {
        assert!(args.contains(&wanted), "{wanted}: {args:?}");
    }
    assert_says(&fs::read_to_string(record("wheels")).unwrap(), &["onnxruntime-gpu==", "--hash=sha256:"]);
    let cwd = fs::read_to_string(record("cwd")).unwrap();
    assert!(cwd.starts_with(&own.display().to_string()), "{cwd}");
    // The user's own settings are kept: they may name the registry.
    let settings = place.at("config/uv/uv.toml");
    fs::create_dir(settings.parent().unwrap()).unwrap();
    fs::write(&settings, "").unwrap();

    // Killed on the way, the old one stays; the next installation takes what is left away.
    fs::write(record("wait"), "").unwrap();
    fs::write(record("content"), "two").unwrap();
    for _ in 0..2 {
        let mut child = fix().spawn().unwrap();
        wait_until("the installer", || fs::read_to_string(record("pid")).is_ok_and(|pid| pid.ends_with('\n')));
        child.kill().unwrap();
        child.wait().unwrap();
        let pid = fs::read_to_string(record("pid")).unwrap();
        assert!(Command::new("kill").args(["-KILL", pid.trim()]).status().unwrap().success());
        fs::remove_file(record("pid")).unwrap();
        assert_eq!(installed(), "one");
        assert_eq!(listing().len(), 3, "a lock, what stood, what was half made: {:?}", listing());
    }
    fs::remove_file(record("wait")).unwrap();
    let ran = Ran::of(fix().output().unwrap());
    assert_eq!((ran.code, installed().as_str()), (Some(1), "two"), "{}", ran.text());
    assert_eq!(listing(), [".runtime.lock", "runtime"]);
    let args = fs::read_to_string(record("args")).unwrap();
    assert_says(&args, &["--config-file", &settings.display().to_string()]);
    assert!(!args.contains("--no-config"), "{args}");
}

#[test]
fn pip_of_the_current_folder_does_not_install() {
    let place = Place::new();
    for package in ["pip", "onnxruntime", "site", "sitecustomize"] {
        fs::create_dir(place.here().join(package)).unwrap();
        for file in ["__init__.py", "__main__.py"] {
            let leave = format!("import os; open(os.environ['{MARK}'], 'w').close()\n");
            fs::write(place.here().join(package).join(file), leave).unwrap();
        }
    }
    // Without uv, pip is asked.
    let path = std::env::var_os("PATH").unwrap();
    let path = std::env::join_paths(std::env::split_paths(&path).filter(|folder| !folder.join("uv").exists())).unwrap();
    let mut program = place.program(&["doctor", "--fix"]);
    let ran = Ran::of(program.env("PATH", path).env("PYTHONPATH", ".").output().unwrap());
    assert!(!place.sprung(), "{}", ran.text());
    let text = ran.text();
    let offline =
        ["No matching distribution", "Connection", "connection", "is not on this machine", "No module named pip"];
    if ran.code == Some(2) && offline.iter().any(|sign| text.contains(sign)) {
        return not_tried("pip cannot install a wheel: there is no network, or no pip");
    }
    let json = ran.finished();
    let library =
        json["findings"].as_array().unwrap().iter().find(|finding| finding["what"] == "ONNX Runtime").unwrap();
    let found = library["found"].as_str().unwrap();
    if !found.contains("inkstone/runtime") {
        return not_tried("there is a library on this machine, so none was installed");
    }
    assert_says(found, &["1.31.1 (", &place.at("data").canonicalize().unwrap().display().to_string()]);
}

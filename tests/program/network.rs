//! The program speaks with no other machine: it cannot, it does not, and neither do its pages.
//!
//! `doctor --fix` starts uv or pip, which reach other machines; the program itself does not.

use std::fs;
use std::path::PathBuf;

use html5gum::{Token, Tokenizer};

use crate::demo;

/// Functions of the C library that a program needs to reach another machine.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const REACHING: [&str; 8] =
    ["accept", "accept4", "bind", "connect", "getaddrinfo", "gethostbyname", "listen", "socket"];

#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn nothing_that_could_reach_another_machine_is_linked() {
    let program = imported(env!("CARGO_BIN_EXE_inkstone").as_ref());
    // The list is the real one.
    assert!(program.contains("mmap") || program.contains("mmap64"), "{program:?}");
    let reaching: Vec<&str> = REACHING.into_iter().filter(|&name| program.contains(name)).collect();
    assert!(reaching.is_empty(), "the program has come to import {reaching:?}: which crate brings it?");

    // This test opens a socket below, and can be seen to.
    let test = imported(&std::env::current_exe().unwrap());
    assert!(test.contains("socket") && test.contains("bind"), "{test:?}");
}

/// The names that an executable takes from shared libraries.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn imported(program: &std::path::Path) -> std::collections::BTreeSet<String> {
    use object::{Object, ObjectSymbol};

    let bytes = fs::read(program).unwrap();
    let file = object::File::parse(bytes.as_slice()).unwrap();
    let names = file.dynamic_symbols().filter(|symbol| symbol.is_undefined());
    names.map(|symbol| symbol.name().unwrap().to_owned()).collect()
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod confined {
    use std::net::UdpSocket;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::path::Path;
    use std::process::{Command, Output, Stdio};
    use std::{env, fs};

    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

    use crate::{Ran, inkstone, library};
    use inkstone_testing::not_tried;

    /// The arguments of the program that is to be run confined, a line each; nothing to open a socket instead.
    const ARGS: &str = "INKSTONE_TEST_CONFINED";
    const FOLDER: &str = "INKSTONE_TEST_FOLDER";
    /// This test, as the harness knows it.
    const NAME: &str = "network::confined::it_opens_no_socket_whatever_it_is_asked_to_do";

    /// Whoever opens a socket from now on in this thread, or in a program that takes its place, is killed. (io_uring opens
    /// sockets without that call.) This needs no privilege and takes nothing else away.
    fn confine() {
        let calls = [libc::SYS_socket, libc::SYS_io_uring_setup].map(|call| (call, vec![]));
        let arch = env::consts::ARCH.try_into().unwrap();
        let filter = SeccompFilter::new(calls.into(), SeccompAction::Allow, SeccompAction::KillProcess, arch).unwrap();
        let filter: BpfProgram = filter.try_into().unwrap();
        apply_filter(&filter).unwrap();
    }

    /// Runs this very test in a process of its own, where it confines itself and becomes the program.
    fn confined(folder: &Path, args: &[&str]) -> Output {
        test(folder, args).stdin(Stdio::null()).output().unwrap()
    }

    /// The command that does so.
    fn test(folder: &Path, args: &[&str]) -> Command {
        let mut test = Command::new(env::current_exe().unwrap());
        test.args(["--exact", NAME, "--nocapture"]).env(ARGS, args.join("\n")).env(FOLDER, folder);
        test
    }

    #[test]
    fn it_opens_no_socket_whatever_it_is_asked_to_do() {
        if let Ok(args) = env::var(ARGS) {
            let args: Vec<&str> = args.lines().collect();
            let mut program = inkstone(Path::new(&env::var_os(FOLDER).unwrap()), &args);
            // Some libraries speak in the hands of users alone, not where they take themselves to be tested.
            let kept = ["PATH", "HOME", "XDG_DATA_HOME"];
            for (name, _) in env::vars_os().filter(|(name, _)| kept.iter().all(|kept| name != kept)) {
                program.env_remove(name);
            }
            program.env("ORT_DYLIB_PATH", library());
            confine();
            match args.is_empty() {
                true => drop(UdpSocket::bind("127.0.0.1:0")),
                // Returns only when the program could not be started.
                false => panic!("{}", program.exec()),
            }
            return;
        }
        // Whoever does open one does not survive it.
        let folder = tempfile::tempdir().unwrap();
        let caught = confined(folder.path(), &[]);
        assert_eq!(caught.status.signal(), Some(libc::SIGSYS), "{}", String::from_utf8_lossy(&caught.stderr));

        let project = folder.path().join("demo");
        let lines: String = (0..200).map(|i| format!("公司 业绩 增长 {}\n", i % 7)).collect();
        fs::write(folder.path().join("lines.txt"), lines).unwrap();
        let runs: [(&Path, &[&str]); 11] = [
            (folder.path(), &["demo", "--headless", "--scale", "0.1", "--dir", "demo"]),
            (&project, &["run"]),
            (&project, &["structure"]),
            (&project, &["lint"]),
            (&project, &["report"]),
            (&project, &["ledger"]),
            (&project, &["store", "stats"]),
            (&project, &["picture", "--output", "page.svg"]),
            (
                folder.path(),
                &["train", "word2vec", "--input", "lines.txt", "--output", "lines.model", "--format", "tokens"],
            ),
            (folder.path(), &["init"]),
            (folder.path(), &["doctor"]),
        ];
        for (folder, args) in runs {
            let ran = Ran::of(confined(folder, args));
            // `doctor` ends with 1 where something is missing.
            assert!(
                matches!(ran.code, Some(0 | 1)),
                "{args:?} ended with {:?}\n{}\n{}",
                ran.code,
                ran.text(),
                ran.stderr
            );
        }
        assert!(project.join("page.svg").exists() && folder.path().join("lines.model").exists());

        // The programs that `doctor` asks live under the same filter. Had one been killed, `doctor` would find less than without it.
        // Before the program, the test that becomes it has said something.
        let findings = |ran: Ran| {
            let text = ran.text();
            let json = text.find('{').map_or("", |at| &text[at..]);
            serde_json::from_str::<serde_json::Value>(json).unwrap_or_else(|e| panic!("{e}: {text}"))["findings"]
                .clone()
        };
        let mut free = findings(Ran::of(inkstone(folder.path(), &["doctor"]).output().unwrap()));
        let mut bound = findings(Ran::of(confined(folder.path(), &["doctor"])));
        let installer = |found: &mut serde_json::Value| found.as_array_mut().and_then(Vec::pop);
        if installer(&mut free) != installer(&mut bound) {
            not_tried(
                "uv or python3 open sockets themselves when asked for their version, so doctor found them only unconfined",
            );
        }
        assert_eq!(bound, free);

        // An installer that opens no socket, so that whoever does is the program.
        let (bin, data) = (folder.path().join("bin"), folder.path().join("data"));
        fs::create_dir(&bin).unwrap();
        let script = "#!/bin/sh\n/bin/mkdir -p onnxruntime/capi\n: > onnxruntime/capi/libonnxruntime.so.1.31.1\n";
        fs::write(bin.join("uv"), script).unwrap();
        fs::set_permissions(bin.join("uv"), fs::Permissions::from_mode(0o755)).unwrap();
        let mut fix = test(folder.path(), &["doctor", "--fix", "--cuda"]);
        let fixed = Ran::of(fix.env("PATH", &bin).env("XDG_DATA_HOME", &data).output().unwrap());
        assert!(matches!(fixed.code, Some(0 | 1)), "{:?}\n{}\n{}", fixed.code, fixed.text(), fixed.stderr);
        assert!(data.join("inkstone/runtime/onnxruntime/capi/libonnxruntime.so.1.31.1").exists());
    }
}

#[test]
fn a_report_loads_nothing_from_elsewhere() {
    let demo = demo::small().copy();
    let mut pages: Vec<PathBuf> = walkdir::WalkDir::new(demo.path())
        .into_iter()
        .map(|entry| entry.unwrap().into_path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "html" || extension == "svg"))
        .collect();
    pages.sort();
    let reports = pages.iter().filter(|page| page.extension().is_some_and(|e| e == "html")).count();
    assert!(reports >= 4, "where are the reports? {pages:?}");
    for page in pages {
        let loaded = loaded(&fs::read_to_string(&page).unwrap());
        assert!(loaded.is_empty(), "{} loads {loaded:?}", page.display());
    }
}

#[test]
fn whatever_a_page_can_load_is_seen() {
    for page in [
        r#"<img src="https://elsewhere.example/a.png">"#,
        r#"<img srcset="a.png 1x, //elsewhere.example/a.png 2x">"#,
        r#"<link rel="stylesheet" href="//elsewhere.example/a.css">"#,
        r#"<svg><use xlink:href="http://elsewhere.example/a.svg#b"/></svg>"#,
        r#"<svg><image href="HTTP://elsewhere.example/a.svg"/></svg>"#,
        r#"<p style="background: url( 'https://elsewhere.example/a')">"#,
        r#"<rect fill="url(http://elsewhere.example/a#b)"/>"#,
        "<style>@font-face{src:url(//elsewhere.example/a)}</style>",
        "<style>@import 'a.css';</style>",
        r#"<meta http-equiv="refresh" content="0; url=https://elsewhere.example">"#,
        r#"<base href="https://elsewhere.example/">"#,
        r#"<form action="https://elsewhere.example/">"#,
        "<script>fetch('/a')</script>",
        "<script>new Image().src = 'a'</script>",
    ] {
        assert_eq!(loaded(page).len(), 1, "{page}");
    }
    for page in [
        r#"<a href="https://elsewhere.example/">a link that a reader may follow</a>"#,
        r##"<svg xmlns="http://www.w3.org/2000/svg" fill="url(#gradient)"><use href="#part"/></svg>"##,
        r#"<link rel="icon" href="data:,"><img src="charts/ic.svg">"#,
        "<p>https://elsewhere.example and url(https://elsewhere.example) in a text</p>",
        "<script>document.title = 'a'</script>",
    ] {
        assert_eq!(loaded(page), Vec::<String>::new(), "{page}");
    }
}

/// Addresses that a browser would load from elsewhere when it shows a page.
fn loaded(page: &str) -> Vec<String> {
    const SCRIPTS: [&str; 7] =
        ["fetch", "XMLHttpRequest", "WebSocket", "EventSource", "sendBeacon", "import", "new Image"];
    let mut found = Vec::new();
    let mut within = Vec::new();
    for token in Tokenizer::new(page) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => {
                within = tag.name.to_vec();
                for (name, value) in &tag.attributes {
                    let value = String::from_utf8_lossy(value).into_owned();
                    let outside = match (tag.name.as_slice(), name.as_slice()) {
                        (b"a", b"href") => false,
                        (
                            _,
                            b"src" | b"href" | b"xlink:href" | b"action" | b"data" | b"poster" | b"srcset"
                            | b"background",
                        ) => value.split(',').any(elsewhere),
                        (b"meta", b"content") => value.contains("url="),
                        _ => urls(&value),
                    };
                    if outside {
                        found.push(value);
                    }
                }
            }
            Token::EndTag(_) => within.clear(),
            Token::String(text) => {
                let text = String::from_utf8_lossy(&text).into_owned();
                let outside = match within.as_slice() {
                    b"style" => urls(&text) || text.contains("@import"),
                    b"script" => SCRIPTS.iter().any(|word| text.contains(word)),
                    _ => false,
                };
                if outside {
                    found.push(text);
                }
            }
            _ => {}
        }
    }
    found
}

/// True if an address leaves the folder of the page: it names a protocol other than `data:`, or a host.
fn elsewhere(address: &str) -> bool {
    let address = address.trim_start().to_ascii_lowercase();
    address.starts_with("//") || (address.contains("://") && !address.starts_with("data:"))
}

/// True if a style loads something from elsewhere.
fn urls(style: &str) -> bool {
    style.split("url(").skip(1).any(|rest| elsewhere(rest.trim_start_matches([' ', '\'', '"'])))
}

//! The commands that do what the page shows without a screen.

use super::{OnnxBench, OnnxPage, Pane};
use inkstone_base::shell::quoted;
use inkstone_onnx::runtime::MEND;
use inkstone_onnx::{Device, Head, Listed, OnnxParams, Output, Question};

/// The command of the page: `doctor` where there is no library, else a command of the marked model.
pub(super) fn command(onnx: &OnnxPage, bench: &OnnxBench) -> String {
    if let Some(Err(_)) = onnx.machine().map(|machine| &machine.library) {
        return MEND.to_owned();
    }
    let Some(listed) = onnx.marked().filter(|listed| listed.found.is_ok()) else {
        return "inkstone doctor --headless".to_owned();
    };
    let place = place(bench);
    let question = onnx.asked().filter(|_| onnx.pane == Pane::Ask).and_then(|asked| asked.question.as_ref());
    match question {
        Some(question) => of_question(listed, question, &place),
        None => of_rows(listed, &place),
    }
}

/// The flags of where models run, as far as they are not the defaults.
fn place(bench: &OnnxBench) -> String {
    let device = match bench.place.device {
        Device::Auto => String::new(),
        device => format!(" --device {device}"),
    };
    let library = bench.place.library.as_ref();
    device + &library.map_or(String::new(), |library| format!(" --library {}", quoted(&library.display().to_string())))
}

fn of_question(listed: &Listed, question: &Question, place: &str) -> String {
    let (lines, rest) = match question {
        Question::Fill(text) => (text.clone(), "--task fill-mask".to_owned()),
        Question::Compare(a, b) => {
            (format!("{a}\t{b}"), format!("--task similarity{}", flags(listed.params(), Output::Embedding)))
        }
        Question::Classify(text) => {
            let flags = flags(listed.params(), Output::Scores);
            return format!(
                "printf '%s\\n' {} | inkstone embed {} --input - --format text{flags} --output scores.csv{place} --headless",
                quoted(text),
                model(listed)
            );
        }
        Question::Names(text) => (text.clone(), "--task entities".to_owned()),
    };
    let given = quoted(&lines);
    format!("printf '%s\\n' {given} | inkstone eval {} --input - --format text {rest}{place} --headless", model(listed))
}

/// The command for what features do with a model.
fn of_rows(listed: &Listed, place: &str) -> String {
    let heads = listed.found.as_ref().map_or(&[][..], |found| &found.heads);
    let has = |wanted: fn(&Head) -> bool| heads.iter().any(wanted);
    let model = model(listed);
    if has(|head| *head == Head::Writes) {
        let folder = listed.file.parent().map_or(String::new(), |folder| quoted(&folder.display().to_string()));
        return format!(
            "inkstone generate --model {folder} --input texts.txt --output written.jsonl{place} --headless"
        );
    }
    let output = match listed.uses.first() {
        Some((_, params)) => params.output,
        None if has(|head| matches!(head, Head::Vectors { .. })) => Output::Embedding,
        None if has(|head| matches!(head, Head::Classes(_))) => Output::Scores,
        None if has(|head| *head == Head::Labels) => Output::Entities,
        None if has(|head| *head == Head::Next) => Output::Surprise,
        None => return format!("inkstone eval {model} --input texts.txt --task fill-mask{place} --headless"),
    };
    let params = listed.uses.first().map(|(_, params)| params.clone()).unwrap_or_default();
    format!("inkstone embed {model} --input texts.txt{} --output rows.csv{place} --headless", flags(params, output))
}

fn model(listed: &Listed) -> String {
    let tokenizer = listed.params().tokenizer;
    let model = format!("--model {}", quoted(&listed.file.display().to_string()));
    match tokenizer.as_os_str().is_empty() {
        true => model,
        false => format!("{model} --tokenizer {}", quoted(&tokenizer.display().to_string())),
    }
}

/// The flags of what is read from a model, defaults left out.
fn flags(params: OnnxParams, output: Output) -> String {
    let default = OnnxParams::default();
    let mut flags = String::new();
    match output {
        Output::Embedding => {
            if let Some(pooling) = &params.pooling {
                flags += &format!(" --pooling {pooling}");
            }
            if params.layers != default.layers {
                flags += &format!(" --layers {}", params.layers);
            }
            if let Some(normalise) = params.normalise {
                flags += &format!(" --normalise={normalise}");
            }
            if params.dim > 0 {
                flags += &format!(" --dim {}", params.dim);
            }
            if let Some(prompt) = &params.prompt {
                flags += &format!(" --prompt {}", quoted(prompt));
            }
        }
        Output::Scores => flags += " --read scores",
        Output::Entities => flags += " --read entities",
        Output::Surprise => flags += " --read surprise",
        Output::Weights => flags += " --read weights",
        Output::Answer => {
            flags += " --read answer";
            if let Some(question) = &params.question {
                flags += &format!(" --question {}", quoted(question));
            }
        }
    }
    flags
}

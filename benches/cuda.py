"""Contextual models on a CUDA device: where every node runs, what the device gives beside the processor, how fast it is beside PyTorch and
Python's onnxruntime on the same card, whether its memory stays flat, and what the program says when something is missing.

    python3 benches/cuda.py target/release/inkstone              # all; prints one table
    python3 benches/cuda.py PROGRAM --device cpu --documents 2000 --sizes tiny      # the same without a device, to try this script

It needs torch, transformers, onnx, onnxruntime (onnxruntime-gpu for its row of the peers) and numpy. Models have random weights and texts are
drawn, both from fixed seeds. Seconds of the program are those of a whole process less those of one that reads 64 documents.
"""

import argparse
import csv
import json
import os
import random
import signal
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

REFERENCE = Path(__file__).parent.parent / "tests/reference"
SIZES = {"tiny": (64, 2, 2), "base": (768, 12, 12), "large": (1024, 24, 16)}
CHARACTERS = [chr(0x4E00 + number) for number in range(6000)]
FEW = 64
BUDGET = 32768

# Folders of tests/reference, what is read of them, and further arguments.
ENCODERS = [
    *((f"onnx/{name}", "embedding", []) for name in ["bert", "roberta", "albert", "electra", "deberta", "unilm", "xlnet", "mass", "ulmfit", "elmo-chars"]),
    # A model with a memory reads segments of this length.
    ("onnx/xlnet-mems", "embedding", ["--max-len", "16"]),
    ("onnx/bert/model_fp16.onnx", "embedding", []),
    ("onnx/bert/model_int8.onnx", "embedding", []),
    ("onnx/bge-m3", "embedding", []),
    ("sentence-transformers/ernie", "embedding", []),
    ("sentence-transformers/qwen3", "embedding", []),
    ("sentence-transformers/within", "embedding", []),
    ("onnx/bert-classifier", "scores", []),
    ("onnx/bert-multilabel", "scores", []),
    ("pairs/reranker", "scores", ["--pair", "利好公司股价"]),
    ("pairs/next-sentence", "scores", ["--pair", "利好公司股价"]),
    ("pairs/answers", "answer", ["--question", "公司利好"]),
    ("onnx/bert-tokens", "entities", []),
    ("onnx/bert-mlm", "surprise", []),
    ("onnx/electra-discriminator", "surprise", []),
    *((f"onnx/{name}", read, []) for name in ["gpt2", "openai-gpt"] for read in ["embedding", "surprise"]),
    ("generation/qwen3", "surprise", []),
]
GREEDY, BEAMS, DRAWN = ["--num-beams", "1"], ["--num-beams", "4"], ["--samples", "3"]
WRITERS = [
    ("onnx/gpt2", [GREEDY, BEAMS, DRAWN]),
    *((f"generation/{name}", [GREEDY, BEAMS]) for name in ["gpt2", "gpt2-past", "qwen3", "t5-past", "bart-merged", "bart"]),
    *((f"onnx/{name}", [GREEDY, BEAMS]) for name in ["t5", "bart"]),
]


class Program:
    """The program, which prints one JSON object at its end."""

    def __init__(self, path, folder):
        self.path, self.folder = str(Path(path).resolve()), folder

    def run(self, *arguments, environment=None):
        """Seconds, exit status, the object that was printed, and the last line of standard error."""
        began = time.perf_counter()
        done = subprocess.run(
            [self.path, *map(str, arguments), "--headless"], cwd=self.folder, env=os.environ | (environment or {}), capture_output=True, text=True
        )
        seconds = time.perf_counter() - began
        found = json.loads(done.stdout) if done.stdout.strip() else {}
        return seconds, done.returncode, found, (done.stderr.strip().splitlines() or [""])[-1]

    def embed(self, model, texts, output, device, *more):
        """Seconds, the rows, and where the nodes ran."""
        seconds, status, found, error = self.run("embed", "-m", model, "-i", texts, "-o", output, "--device", device, *more)
        if status != 0:
            raise SystemExit(f"embed {model} on {device}: {status} {found.get('error', error)}")
        return seconds, rows_of(Path(output)), found["ran"]


def rows_of(path):
    """The numbers of a table; texts among its columns are left out, and an empty field is no number."""
    if path.suffix == ".npy":
        return np.load(path)
    with open(path, encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    columns = [name for name in lines[0] if name not in ("id", "label", "answer")]
    return np.array([[float(line[name] or "nan") for name in columns] for line in lines])


def write_texts(path, count, seed, most=500):
    """Documents of many lengths, some hundred characters each, as news are."""
    draw = random.Random(seed)
    with open(path, "w", encoding="utf-8") as file:
        for number in range(count):
            length = min(most, max(4, int(draw.lognormvariate(4.4, 0.7))))
            text = "".join(draw.choices(CHARACTERS, k=length))
            file.write(json.dumps({"id": str(number), "text": text}, ensure_ascii=False) + "\n")
    return path


def texts_of(path):
    return [json.loads(line)["text"] for line in open(path, encoding="utf-8")]


def difference(ours, theirs):
    """The largest difference, relative to the largest value; the values that are no numbers must be the same ones."""
    ours, theirs = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    if ours.shape != theirs.shape or not np.array_equal(np.isnan(ours), np.isnan(theirs)):
        return float("inf")
    return float(np.nanmax(np.abs(ours - theirs), initial=0) / max(1e-12, np.nanmax(np.abs(theirs), initial=0)))


def placed(ran):
    """Nodes by provider in few words."""
    nodes = {name.removesuffix("ExecutionProvider"): count for name, count in ran["placement"]["nodes"].items()}
    left = ran["placement"].get("on_cpu") or {}
    return " ".join(f"{name} {count}" for name, count in nodes.items()) + (f" ({', '.join(f'{n} {c}' for n, c in left.items())})" if left else "")


# Models.


def write_vocabulary(folder):
    lines = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *CHARACTERS]
    lines += [f"[unused{number}]" for number in range(21128 - len(lines))]
    (folder / "vocab.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer", "do_lower_case": false}')


def bert(folder, size, device):
    """BERT as weights, and exports of it in single and in half precision."""
    import torch
    from transformers import BertConfig, BertModel

    hidden, layers, heads = SIZES[size]
    torch.manual_seed(1)
    config = BertConfig(vocab_size=21128, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=4 * hidden)
    model = BertModel(config, add_pooling_layer=False).eval()
    weights = folder / f"{size}-weights"
    model.save_pretrained(weights)
    write_vocabulary(weights)
    folders = {"weights": weights}
    for form in ["fp32"] + (["fp16"] if device != "cpu" else []):
        folders[form] = folder / f"{size}-{form}"
        folders[form].mkdir()
        write_vocabulary(folders[form])
        config.save_pretrained(folders[form])
        export(BertModel.from_pretrained(weights, add_pooling_layer=False, attn_implementation="eager"), folders[form] / "model.onnx", form)
    return folders


def export(model, path, form):
    import torch

    class Named(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, ids, mask, types):
            return self.model(input_ids=ids, attention_mask=mask, token_type_ids=types).last_hidden_state

    device = "cuda" if form == "fp16" else "cpu"
    module = (Named().half() if form == "fp16" else Named()).to(device).eval()
    ids = torch.ones(2, 8, dtype=torch.int64, device=device)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    axes = {name: {0: "batch", 1: "sequence"} for name in [*names, "last_hidden_state"]}
    torch.onnx.export(
        module, (ids, ids, 0 * ids), str(path), dynamo=False, opset_version=17, input_names=names, output_names=["last_hidden_state"], dynamic_axes=axes
    )


def gpt2(folder):
    """A GPT-2 as weights, with the tokenizer of the BERT above."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(2)
    config = GPT2Config(vocab_size=21128, bos_token_id=2, eos_token_id=3, pad_token_id=0)
    GPT2LMHeadModel(config).eval().save_pretrained(folder / "gpt2")
    write_vocabulary(folder / "gpt2")
    return folder / "gpt2"


# Peers: batches by length within the same budget of tokens, means over tokens; the texts are cut before the clock starts.


def batches(ids):
    order = sorted(range(len(ids)), key=lambda number: -len(ids[number]))
    while order:
        width = len(ids[order[0]])
        count = max(1, BUDGET // width)
        yield order[:count], width
        order = order[count:]


def filled(ids, numbers, width):
    table = np.zeros((len(numbers), width), np.int64)
    mask = np.zeros_like(table)
    for row, number in enumerate(numbers):
        table[row, : len(ids[number])] = ids[number]
        mask[row, : len(ids[number])] = 1
    return table, mask


def cut(texts):
    numbers = {character: 5 + number for number, character in enumerate(CHARACTERS)}
    return [[2, *(numbers[character] for character in text[:510]), 3] for text in texts]


def torch_rows(weights, ids, device, half=False, tf32=False):
    import torch
    from transformers import BertModel

    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    place = "cpu" if device == "cpu" else "cuda"
    model = BertModel.from_pretrained(weights, add_pooling_layer=False, attn_implementation="sdpa").eval().to(place)
    model = model.half() if half else model

    def once(ids):
        rows = np.zeros((len(ids), model.config.hidden_size), np.float32)
        with torch.inference_mode():
            for numbers, width in batches(ids):
                table, mask = (torch.from_numpy(values).to(place) for values in filled(ids, numbers, width))
                states = model(input_ids=table, attention_mask=mask).last_hidden_state
                weight = mask.to(states.dtype).unsqueeze(-1)
                rows[numbers] = ((states * weight).sum(1) / weight.sum(1)).float().cpu().numpy()
        return rows

    return timed(once, ids)


def onnxruntime_rows(path, ids, device, half=False):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    if device != "cpu" and "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        return None
    if hasattr(onnxruntime, "preload_dlls"):
        onnxruntime.preload_dlls()
    provider = "CPUExecutionProvider" if device == "cpu" else "CUDAExecutionProvider"
    session = onnxruntime.InferenceSession(str(path), options, providers=[provider])

    def once(ids):
        rows = []
        for numbers, width in batches(ids):
            table, mask = filled(ids, numbers, width)
            states = session.run(None, {"input_ids": table, "attention_mask": mask, "token_type_ids": 0 * table})[0]
            rows.append((numbers, (states.astype(np.float32) * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)))
        found = np.zeros((len(ids), rows[0][1].shape[1]), np.float32)
        for numbers, values in rows:
            found[numbers] = values
        return found

    return timed(once, ids)


def timed(once, ids):
    """Rows, and seconds for all texts less those of a few."""
    once(ids[:FEW])
    began = time.perf_counter()
    rows = once(ids)
    return rows, time.perf_counter() - began


# Checks.


class Memory(threading.Thread):
    """The memory that is used of the device, in MiB, twice a second."""

    def __init__(self):
        super().__init__(daemon=True)
        self.seen, self.over = [], False

    def run(self):
        command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
        while not self.over:
            try:
                self.seen.append(int(subprocess.run(command, capture_output=True, text=True).stdout.split()[0]))
            except (OSError, IndexError, ValueError):
                return
            time.sleep(0.5)


def parity(program, device, folder):
    """Folders of the reference on both devices."""
    texts = folder / "texts.jsonl"
    expected = json.loads((REFERENCE / "onnx/bert/expected.json").read_text(encoding="utf-8"))["texts"]
    texts.write_text("".join(json.dumps({"id": str(n), "text": t}, ensure_ascii=False) + "\n" for n, t in enumerate(expected)), encoding="utf-8")
    writers = [(name, way) for name, ways in WRITERS for way in ways]
    checks = [(encoder_parity, case) for case in ENCODERS] + [(writer_parity, case) for case in writers]

    def line(number):
        check, case = checks[number]
        own = folder / str(number)
        own.mkdir()
        return check(program, device, texts, own, *case)

    with ThreadPoolExecutor(max(1, min(8, os.cpu_count() // 2))) as pool:
        for printed in pool.map(line, range(len(checks))):
            print(printed, flush=True)


def encoder_parity(program, device, texts, folder, name, read, more):
    on = {}
    for place in ["cpu", device]:
        output = folder / f"{place[:4]}.{'npy' if read == 'embedding' else 'csv'}"
        on[place] = program.embed(REFERENCE / name, texts, output, place, "--read", read, *more)
    return f"{name:<28} {read:<10} {difference(on[device][1], on['cpu'][1]):9.1e}   {placed(on[device][2])}"


def writer_parity(program, device, texts, folder, name, way):
    written = []
    for place in ["cpu", device]:
        output = folder / f"{place[:4]}.jsonl"
        _, status, found, error = program.run(
            "generate", "-m", REFERENCE / name, "-i", texts, "-o", output, "--device", place, "--max-new-tokens", 12, *way
        )
        if status > 1:
            raise SystemExit(f"generate {name} on {place}: {found.get('error', error)}")
        written.append([(line["id"], line["text"]) for line in map(json.loads, open(output, encoding="utf-8"))])
    same = sum(one == other for one, other in zip(*written))
    return f"{name:<28} {' '.join(way):<14} {same} of {len(written[0])} texts the same"


def speed(program, device, sizes, documents, folder):
    """Documents a second, and rows beside those of the processor."""
    for size in sizes:
        folders = bert(folder, size, device)
        count = documents if size != "large" else documents // 4
        texts = write_texts(folder / f"{size}.jsonl", count, 3)
        few = write_texts(folder / f"{size}-few.jsonl", FEW, 3)
        ids = cut(texts_of(texts))
        tokens = sum(map(len, ids))
        print(f"\n{size}: {count} documents, {tokens / count:.0f} tokens each")
        rows = {}

        def tell(name, seconds, found, more=""):
            rows.setdefault("first", found)
            gap = difference(found, rows["first"])
            print(f"  {name:<34} {(count - FEW) / seconds:9.0f} documents/s {tokens / seconds:10.0f} tokens/s {gap:9.1e}   {more}", flush=True)

        _, on_cpu, _ = program.embed(folders["weights"], few, folder / "few.npy", "cpu", "--pooling", "mean")
        for form, model in folders.items():
            for tf32 in ["0", "1"] if form != "fp16" and device != "cpu" else ["1"]:
                os.environ["NVIDIA_TF32_OVERRIDE"] = tf32
                short, on_few, _ = program.embed(model, few, folder / "few.npy", device, "--pooling", "mean")
                memory = Memory()
                memory.start()
                seconds, found, ran = program.embed(model, texts, folder / "all.npy", device, "--pooling", "mean")
                memory.over = True
                seen = memory.seen
                flat = f"; {max(seen[: len(seen) // 2])} then {max(seen[len(seen) // 2 :])} MiB" if len(seen) > 3 else ""
                precision = "" if form == "fp16" else " TF32" if tf32 == "1" and device != "cpu" else ""
                more = f"{placed(ran)}; {difference(on_few, on_cpu):.1e} from the processor{flat}"
                tell(f"inkstone, {form}{precision} ({seconds:.1f} s)", seconds - short, found, more)
        os.environ.pop("NVIDIA_TF32_OVERRIDE", None)
        for name, half, tf32 in [("", False, False), (" TF32", False, True), (" fp16", True, False)]:
            if device == "cpu" and name:
                continue
            found, seconds = torch_rows(folders["weights"], ids, device, half, tf32)
            tell(f"PyTorch{name}", seconds, found)
        for form in ["fp32", "fp16"]:
            made = onnxruntime_rows(folders[form] / "model.onnx", ids, device) if form in folders else None
            if made:
                tell(f"Python onnxruntime {form}", made[1], made[0])


def generation(program, device, folder):
    """Tokens a second of a GPT-2, beside those of transformers on the same device."""
    import torch
    from transformers import GPT2LMHeadModel

    model, texts = gpt2(folder), write_texts(folder / "prompts.jsonl", 32, 4, most=100)
    new = 200
    common = ["generate", "-m", model, "-i", texts, "--device", device, "--batch-tokens", 16384, "--min-new-tokens", new]
    print(f"\nGPT-2 (base), 32 prompts, {new} new tokens each")
    written = {}
    for beams in [1, 4]:
        seconds = []
        for tokens in [1, new]:
            output = folder / f"written-{beams}.jsonl"
            arguments = [*common[:-1], tokens, "--max-new-tokens", tokens, "--num-beams", beams, "-o", output]
            took, status, found, error = program.run(*arguments)
            if status != 0:
                raise SystemExit(f"generate: {found.get('error', error)}")
            seconds.append(took)
        written[beams] = [json.loads(line)["text"].replace(" ", "") for line in open(output, encoding="utf-8")]
        print(f"  inkstone, {beams} beams: {32 * (new - 1) / (seconds[1] - seconds[0]):9.0f} tokens/s", flush=True)
    place = "cpu" if device == "cpu" else "cuda"
    peer = GPT2LMHeadModel.from_pretrained(model).eval().to(place)
    prompts = [ids[1:-1] for ids in cut(texts_of(texts))]
    width = max(map(len, prompts))
    table = torch.tensor([[0] * (width - len(ids)) + ids for ids in prompts], device=place)
    for beams in [1, 4]:
        seconds = []
        for tokens in [1, 1, new]:
            began = time.perf_counter()
            with torch.inference_mode():
                peer.generate(table, attention_mask=(table > 0).long(), max_new_tokens=tokens, min_new_tokens=tokens, num_beams=beams, do_sample=False)
            seconds.append(time.perf_counter() - began)
        print(f"  transformers, {beams} beams: {32 * (new - 1) / (seconds[2] - seconds[1]):9.0f} tokens/s", flush=True)


def refusals(program, device, sizes, folder):
    """What is said where a device is missing, is too small, or the work is cancelled."""
    model, few = folder / f"{sizes[0]}-weights", folder / f"{sizes[0]}-few.jsonl"
    print("\nrefusals")

    def tell(what, *arguments, environment=None):
        seconds, status, found, error = program.run(*arguments, environment=environment)
        why = found.get("ran", {})
        message = found.get("error") or (f"ran on {why.get('device')}: {why.get('why')}" if why else error)
        print(f"  {what}: exit {status} after {seconds:.1f} s: {message}", flush=True)

    embed = ["embed", "-m", model, "-i", few, "-o", folder / "refused.npy"]
    tell("a device that is not there", *embed, "--device", "cuda:7")
    tell("no device is visible", *embed, "--device", "cuda:0", environment={"CUDA_VISIBLE_DEVICES": ""})
    tell("no device is visible, auto", *embed, "--device", "auto", environment={"CUDA_VISIBLE_DEVICES": ""})
    tell("auto", *embed, "--device", "auto")
    if device == "cpu":
        return
    long = write_texts(folder / "long.jsonl", 60000, 5, most=500)
    tell("a batch that does not fit", "embed", "-m", model, "-i", long, "-o", folder / "refused.npy", "--device", device, "--batch-tokens", 20000000)
    began = subprocess.Popen(
        [program.path, "embed", "-m", model, "-i", str(long), "-o", str(folder / "cancelled.npy"), "--device", device, "--headless"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )
    time.sleep(8)
    began.send_signal(signal.SIGINT)
    at = time.perf_counter()
    answered, _ = began.communicate()
    there = (folder / "cancelled.npy").exists()
    print(f"  Ctrl-C: exit {began.returncode} after {time.perf_counter() - at:.2f} s, rows written: {there}; {answered.strip()[-160:]}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--documents", type=int, default=100000)
    parser.add_argument("--sizes", nargs="+", default=["base", "large"], choices=SIZES)
    parser.add_argument("--parts", nargs="+", default=["parity", "speed", "generation", "refusals"])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = Program(arguments.program, folder)
        _, _, found, _ = program.run("doctor", "--cuda")
        for finding in found.get("findings", []):
            if finding["what"] in ("ONNX Runtime", "devices", "CUDA", "inkstone"):
                print(f"{finding['what']}: {finding['found']}", flush=True)
        if "parity" in arguments.parts:
            parity(program, arguments.device, folder)
        if "speed" in arguments.parts or "refusals" in arguments.parts:
            speed(program, arguments.device, arguments.sizes, arguments.documents, folder)
        if "generation" in arguments.parts:
            generation(program, arguments.device, folder)
        if "refusals" in arguments.parts:
            refusals(program, arguments.device, arguments.sizes, folder)


if __name__ == "__main__":
    main()

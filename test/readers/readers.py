"""Readers that are not ours, one a call: python3 readers.py NAME ARGUMENTS... prints one line; exits 3 where a module is missing, 1 where the reader disagrees."""
import glob
import importlib.util
import json
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import types
import zipfile


def expect(name, found, expected):
    if found != expected:
        raise SystemExit(f"{name}: expected {expected}, found {found}")


def pandas(run, expected):
    """Ledgers with pandas and pyarrow: rows, columns, and that the two join."""
    import pandas as pd
    import pyarrow

    read = {name: pd.read_parquet(f"{run}/{name}.parquet", engine="pyarrow") for name in ("rollouts", "verdicts")}
    for name, frame in read.items():
        expect(name, [len(frame), sorted(frame.columns)], expected[name])
    joined = read["rollouts"].merge(read["verdicts"][["id", "exploited", "correct"]], on="id", validate="one_to_one")
    expect("joined rows", len(joined), len(read["rollouts"]))
    return f"pandas {pd.__version__} with pyarrow {pyarrow.__version__}: {len(joined)} rollouts"


def fastparquet(run, expected):
    import fastparquet as reader

    for name in ("rollouts", "verdicts"):
        file = reader.ParquetFile(f"{run}/{name}.parquet")
        expect(name, [file.count(), sorted(file.columns)], expected[name])
    return f"fastparquet {reader.__version__}: footers of both ledgers"


def duckdb(run, expected):
    import duckdb as engine

    for name in ("rollouts", "verdicts"):
        table = engine.sql(f"select * from read_parquet('{run}/{name}.parquet')")
        expect(name, [len(table.fetchall()), sorted(table.columns)], expected[name])
    return f"duckdb {engine.__version__}: every row of both ledgers"


def tensorboard(folder, expected):
    """Every number of every update, within the precision of the format."""
    from tensorboard import version
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(folder, size_guidance={"scalars": 0})
    events.Reload()
    expect("names", sorted(events.Tags()["scalars"]), sorted(expected))
    for name, points in expected.items():
        found = [[event.step, event.value] for event in events.Scalars(name)]
        expect(f"{name}: updates", [step for step, _ in found], [step for step, _ in points])
        for (_, value), (_, wanted) in zip(found, points):
            if abs(value - wanted) > 1e-6 * max(1, abs(wanted)):
                raise SystemExit(f"{name}: expected {wanted}, found {value}")
    return f"tensorboard {version.VERSION}: {len(expected)} numbers"


def wandb(folder, expected):
    """Every record by the program that W&B ships for looking at a run without its server."""
    place = importlib.util.find_spec("wandb")
    if place is None:
        raise ModuleNotFoundError(name="wandb")
    [file] = glob.glob(f"{folder}/*/run-*.wandb")
    program = f"{place.submodule_search_locations[0]}/bin/wandb-core"
    call = [program, "leet", "-no-observability", "--inspect", "--run-file", file, folder]
    text = subprocess.run(call, check=True, capture_output=True, text=True).stdout
    kinds = re.findall(r"(?m)^# record \d+: (\w+)$", text)
    expect("records of history", kinds.count("history"), len(expected["updates"]))
    expect("first and last", [kinds[0], kinds[1], kinds[-1]], ["header", "run", "exit"])
    return f"wandb-core leet --inspect: {len(kinds)} records"


def decode(descriptor, kind, payloads):
    """What protoc makes of messages by the schema that a package publishes; an unknown field would stand there as a bare number."""
    from google.protobuf import descriptor_pb2

    files, found = [descriptor], {}
    while files:
        file = files.pop()
        if file.name not in found:
            found[file.name] = file
            files += file.dependencies
    schema = descriptor_pb2.FileDescriptorSet()
    for name in sorted(found):
        found[name].CopyToProto(schema.file.add())
    with tempfile.NamedTemporaryFile(suffix=".pb") as stored:
        stored.write(schema.SerializeToString())
        stored.flush()
        for payload in payloads:
            call = ["protoc", f"--decode={kind}", f"--descriptor_set_in={stored.name}"]
            text = subprocess.run(call, input=payload, check=True, capture_output=True).stdout.decode()
            if re.search(r"(?m)^\s*\d+(:| \{)", text):
                raise SystemExit(f"{kind}: a field that the schema does not have:\n{text[:500]}")
            yield text


def protoc(folders, expected):
    """The records of TensorBoard and of W&B by protoc. Checksums and blocks are the business of their own readers."""
    place = importlib.util.find_spec("wandb")
    if place is None:
        raise ModuleNotFoundError(name="wandb")
    # Only its schemas are wanted; the package as a whole needs more than they do.
    sys.modules["wandb"] = types.ModuleType("wandb")
    sys.modules["wandb"].__path__ = place.submodule_search_locations
    from tensorboard.compat.proto import event_pb2
    from wandb.proto import wandb_internal_pb2

    if shutil.which("protoc") is None:
        raise ModuleNotFoundError(name="protoc")
    [events] = glob.glob(f"{folders['tensorboard']}/events.out.tfevents.*")
    data, payloads = open(events, "rb").read(), []
    while data:
        [length] = struct.unpack("<Q", data[:8])
        payloads.append(data[12 : 12 + length])
        data = data[16 + length :]
    texts = list(decode(event_pb2.DESCRIPTOR, "tensorboard.Event", payloads))
    expect("file version", "brain.Event:2" in texts[0], True)
    expect("updates", [int(re.search(r"(?m)^step: (\d+)$", text)[1]) for text in texts[2:]], expected["updates"])
    [run] = glob.glob(f"{folders['wandb']}/*/run-*.wandb")
    data, at, whole = open(run, "rb").read(), 7, [b""]
    while at < len(data):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        length, kind = struct.unpack("<HB", data[at + 4 : at + 7])
        whole[-1] += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):
            whole.append(b"")
    records = list(decode(wandb_internal_pb2.DESCRIPTOR, "wandb_internal.Record", whole[:-1]))
    expect("numbers", [int(re.search(r"(?m)^num: (\d+)$", text)[1]) for text in records], list(range(1, len(records) + 1)))
    expect("records of history", sum("\nhistory {" in text for text in records), len(expected["updates"]))
    return f"protoc: {len(texts)} events and {len(records)} records, every field in the published schemas"


def trackio(path, expected):
    """The rows that `trackio.import_csv` reads by pandas."""
    import pandas as pd

    frame = pd.read_csv(path)
    expect("steps", list(frame["step"]), expected["updates"])
    return f"pandas {pd.__version__}: {len(frame)} rows, {len(frame.columns)} columns"


def inspect(path, schema):
    """Every file of an archive against the schema that Inspect publishes."""
    import jsonschema

    with open(schema) as file:
        components = json.load(file)["components"]

    def check(kind, name, value):
        validator = jsonschema.Draft202012Validator({"$ref": f"#/components/schemas/{kind}", "components": components})
        for error in validator.iter_errors(value):
            raise SystemExit(f"{name}: {'/'.join(map(str, error.path))}: {error.message[:300]}")

    archive = zipfile.ZipFile(path)
    expect("damaged entry", archive.testzip(), None)
    for name in archive.namelist():
        value = json.loads(archive.read(name))
        if name == "header.json":
            check("EvalLog", name, value)
        elif name == "summaries.json":
            for each in value:
                check("EvalSampleSummary", name, each)
        elif name.startswith("samples/"):
            check("EvalSample", name, value)
        else:
            check("EvalSpec", name, value["eval"])
            check("EvalPlan", name, value["plan"])
    return f"zipfile and jsonschema {jsonschema.__version__}: {len(archive.namelist())} files"


def openai(url):
    """Both kinds of request, a stream, several choices, and an error, by OpenAI's client."""
    import openai as library

    client = library.OpenAI(base_url=url, api_key="none", max_retries=0)
    names = [model.id for model in client.models.list()]
    ids = [20, 21, 22, 23]
    whole = client.completions.create(model=names[0], prompt=ids, max_tokens=6, seed=1, logprobs=2, n=2)
    expect("choices", [choice.index for choice in whole.choices], [0, 1])
    parts = client.completions.create(model=names[0], prompt=ids, max_tokens=6, seed=1, n=2, stream=True)
    texts = ["", ""]
    for part in parts:
        for choice in part.choices:
            texts[choice.index] += choice.text
    expect("texts", texts, [choice.text for choice in whole.choices])
    asked = [{"role": "user", "content": "start with n."}]
    chat = client.chat.completions.create(model=names[0], messages=asked, max_tokens=4, logprobs=True, top_logprobs=2)
    expect("top log-probabilities", len(chat.choices[0].logprobs.content[0].top_logprobs), 2)
    try:
        client.completions.create(model="../../etc/passwd", prompt=ids)
        raise SystemExit("a model that does not exist was found")
    except library.NotFoundError:
        pass
    return f"openai {library.__version__}: {', '.join(names)}"


def lm_eval(url, tokenizer):
    """lm-eval's own model `local-completions`: log-likelihoods must be those of every single token, and greedy texts must be called greedy."""
    import logging

    logging.disable(logging.WARNING)
    import lm_eval as library
    from lm_eval.api.instance import Instance
    from lm_eval.models.openai_completions import LocalCompletionsAPI

    context = "```python\nclass Solution:\n    def solve(self, n):\n        n += 3"
    found = {}
    for name in ("deployed", "trained", "base"):
        settings = {"tokenizer": tokenizer, "tokenizer_backend": "huggingface", "max_length": 120, "batch_size": 2}
        model = LocalCompletionsAPI(base_url=f"{url}/completions", model=name, num_concurrent=4, **settings)
        [text] = model.generate_until([Instance("generate_until", {}, (context, {"until": ["zzz"], "max_gen_toks": 8}), 0)])
        pairs = [(context, text), (context, "7"), ("start with n.", " times ")]
        scored = model.loglikelihood([Instance("loglikelihood", {}, pair, i) for i, pair in enumerate(pairs)])
        expect(f"{name}: is greedy", scored[0][1], True)
        found[name] = [score for score, _ in scored]
    expect("different states", len({json.dumps(scores) for scores in found.values()}), 3)
    return f"lm_eval {library.__version__}: generate_until and loglikelihood of {', '.join(found)}"


def notebook(path, run):
    """Runs the code cells of the notebook, one after another, on a run."""
    import pandas as pd

    with open(path) as file:
        cells = json.load(file)["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    names = {"__name__": "__main__"}
    for i, source in enumerate(code):
        # The first cell names the run.
        exec(compile(re.sub(r'(?m)^RUN = .*$', lambda _: f"RUN = {run!r}", source), f"cell {i + 1}", "exec"), names)
    return f"pandas {pd.__version__}: {len(code)} cells"


def hub(cache, name):
    """The cache of `gq model fetch` by the library that it imitates."""
    import huggingface_hub

    path = huggingface_hub.snapshot_download(name, cache_dir=cache, local_files_only=True)
    info = huggingface_hub.scan_cache_dir(cache)
    expect("warnings", [str(warning) for warning in info.warnings], [])
    expect("models", [repo.repo_id for repo in info.repos], [name])
    return f"huggingface_hub {huggingface_hub.__version__}: {path.rsplit('/', 1)[-1][:8]}"


READERS = {each.__name__: each for each in (pandas, fastparquet, duckdb, tensorboard, wandb, protoc, trackio, inspect, openai, lm_eval, notebook, hub)}

if __name__ == "__main__":
    values = [json.loads(text) if text.startswith("{") else text for text in sys.argv[2:]]
    try:
        print(READERS[sys.argv[1]](*values))
    except ModuleNotFoundError as missing:
        print(f"no module {missing.name}")
        sys.exit(3)

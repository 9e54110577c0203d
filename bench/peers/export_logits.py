"""Loads the folders of a `gq export` with transformers and PEFT, and compares logits: of the two with each other, and with those of `gq serve`.

gq export RUN --to OUT [--state full] [--dtype bfloat16] [--format peft]
gq serve RUN   (in another terminal; leave --url out to compare the two folders only)
python3 bench/peers/export_logits.py OUT [--base DIR] [--url http://127.0.0.1:8000/v1] [--model deployed] [--rows 8] [--tokens 16]

Takes what there is of peft/ and merged/. Exits 1 where a difference is larger than the bounds of the certificate, relative to the largest logit: 1e-4 for
float32 files (the adapter always), 1e-2 for float16, 5e-2 for bfloat16; exits 3 where a module is missing.
"""
import argparse
import glob
import json
import os
import sys
import urllib.request

try:
    import torch
    from peft import PeftModel
    from safetensors import safe_open
    from transformers import AutoModelForCausalLM
except ModuleNotFoundError as missing:
    print(f"no module {missing.name}")
    sys.exit(3)

BOUNDS = {"F32": 1e-4, "F16": 1e-2, "BF16": 5e-2}


def load(path: str) -> torch.nn.Module:
    return AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()


def bound_of(folder: str) -> float:
    """The bound of the coarsest format among the tensors of a model folder."""
    found = set()
    for path in glob.glob(folder + "/*.safetensors"):
        with safe_open(path, "pt") as file:
            found |= {file.get_slice(name).get_dtype() for name in file.keys()}
    return max(BOUNDS[dtype] for dtype in found)


def served(url: str, model: str, prompts: list[list[int]]) -> torch.Tensor:
    """The log-probability of every token but the first of every prompt."""
    body = {"model": model, "prompt": prompts, "max_tokens": 0, "echo": True, "logprobs": 0}
    request = urllib.request.Request(url + "/completions", json.dumps(body).encode(), {"content-type": "application/json"})
    choices = json.load(urllib.request.urlopen(request))["choices"]
    return torch.tensor([choice["logprobs"]["token_logprobs"][1:] for choice in choices])


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("export")
    options.add_argument("--base", help="the base model; as adapter_config.json names it when absent")
    options.add_argument("--url")
    options.add_argument("--model", default="deployed")
    options.add_argument("--rows", type=int, default=8)
    options.add_argument("--tokens", type=int, default=16)
    given = options.parse_args()
    peft, merged = given.export + "/peft", given.export + "/merged"
    models, bounds, base = {}, {}, None
    if os.path.exists(peft):
        with open(peft + "/adapter_config.json") as file:
            base = given.base or json.load(file)["base_model_name_or_path"]
        models["PEFT"], bounds["PEFT"] = PeftModel.from_pretrained(load(base), peft).eval(), BOUNDS["F32"]
    if os.path.exists(merged):
        models["merged"], bounds["merged"] = load(merged), bound_of(merged)
    if not models:
        sys.exit(f"{given.export} has neither peft/ nor merged/")
    torch.manual_seed(20)
    vocabulary = next(iter(models.values())).config.vocab_size
    prompts = torch.randint(0, vocabulary, (given.rows, given.tokens))
    with torch.inference_mode():
        logits = {name: model(prompts).logits for name, model in models.items()}
        plain = None if base is None else load(base)(prompts).logits
    some = next(iter(logits.values()))
    largest = some.abs().max().item()
    checks = []
    if len(logits) == 2:
        checks.append(("merged against PEFT", (logits["merged"] - logits["PEFT"]).abs().max().item(), max(bounds.values())))
    if given.url:
        told = served(given.url, given.model, prompts.tolist())
        for name, own in logits.items():
            logps = torch.log_softmax(own, -1)[:, :-1].gather(-1, prompts[:, 1:, None])[..., 0]
            checks.append((f"{name} against gq serve", (logps - told).abs().max().item(), bounds[name]))
    shares = [(name, difference / largest, limit) for name, difference, limit in checks]
    if plain is not None:
        print(f"      the base is {(some - plain).abs().max().item() / largest:.2e} away")
    for name, share, limit in shares:
        print(f"{'ok  ' if share <= limit else 'FAIL'}  {name}: {share:.2e} of the largest logit, {largest:.2f} (at most {limit})")
    print("; ".join(f"{name} {share:.0e}" for name, share, _ in shares) or "loaded")
    sys.exit(0 if all(share <= limit for _, share, limit in shares) else 1)


main()

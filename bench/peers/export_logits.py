"""Loads both folders of a `gq export` with transformers and PEFT, and compares logits: of the two with each other, and with those of `gq serve`.

gq export RUN --to OUT
gq serve RUN --state deployed   (in another terminal; leave --url out to compare the two folders only)
python3 bench/peers/export_logits.py OUT [--base DIR] [--url http://127.0.0.1:8000/v1] [--model deployed] [--rows 8] [--tokens 16]

Exits 1 where a difference is larger than the bounds of the certificate, relative to the largest logit: 1e-4 for float32 files (the adapter always),
1e-2 for float16, 5e-2 for bfloat16.
"""
import argparse
import json
import sys
import urllib.request

import torch
from peft import PeftModel
from safetensors import safe_open
from transformers import AutoModelForCausalLM


BOUNDS = {"F32": 1e-4, "F16": 1e-2, "BF16": 5e-2}


def load(path: str) -> torch.nn.Module:
    return AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()


def served(url: str, model: str, prompt: list[int]) -> list[tuple[int, float]]:
    """The most likely next token of every prefix, drawn greedily, with its log-probability."""
    found = []
    for end in range(1, len(prompt) + 1):
        body = {"model": model, "prompt": prompt[:end], "max_tokens": 1, "temperature": 0, "logprobs": 0, "return_token_ids": True}
        request = urllib.request.Request(url + "/completions", json.dumps(body).encode(), {"content-type": "application/json"})
        choice = json.load(urllib.request.urlopen(request))["choices"][0]
        found.append((choice["token_ids"][0], choice["logprobs"]["token_logprobs"][0]))
    return found


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("export")
    options.add_argument("--base", help="the base model; as adapter_config.json names it when absent")
    options.add_argument("--url")
    options.add_argument("--model", default="deployed")
    options.add_argument("--rows", type=int, default=8)
    options.add_argument("--tokens", type=int, default=16)
    given = options.parse_args()
    with open(given.export + "/peft/adapter_config.json") as file:
        base = given.base or json.load(file)["base_model_name_or_path"]
    merged = load(given.export + "/merged")
    adapted = PeftModel.from_pretrained(load(base), given.export + "/peft").eval()
    torch.manual_seed(20)
    prompts = torch.randint(0, merged.config.vocab_size, (given.rows, given.tokens))
    with torch.inference_mode():
        one, other, plain = merged(prompts).logits, adapted(prompts).logits, load(base)(prompts).logits
    with safe_open(given.export + "/merged/model.safetensors", "pt") as file:
        bound = max(BOUNDS[file.get_slice(name).get_dtype()] for name in file.keys())
    largest = one.abs().max().item()
    checks = [("merged against PEFT", (one - other).abs().max().item() / largest, bound)]
    if given.url:
        rows = [served(given.url, given.model, row.tolist()) for row in prompts]
        for name, logits, limit in (("PEFT against gq serve", other, BOUNDS["F32"]), ("merged against gq serve", one, bound)):
            logps = torch.log_softmax(logits, -1)
            steps = ((i, t, token, logp) for i, row in enumerate(rows) for t, (token, logp) in enumerate(row))
            checks.append((name, max(abs(logps[i, t, token].item() - logp) for i, t, token, logp in steps) / largest, limit))
    for name, difference, limit in checks:
        print(f"{'ok  ' if difference <= limit else 'FAIL'}  {name}: {difference:.2e} of the largest logit, {largest:.2f} (at most {limit})")
    print(f"      the base is {(one - plain).abs().max().item() / largest:.2e} away")
    sys.exit(0 if all(difference <= limit for _, difference, limit in checks) else 1)


main()

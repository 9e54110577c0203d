"""Peer of test/cuda/parity-large.ts: a random model of the Qwen3-4B shape, its logits and the gradient of an adapter in float32, and
how far PyTorch's own bf16 is from them (‖bf16 − float32‖ / ‖float32‖).

python3 bench/peers/parity_cuda.py FOLDER [--shape 4b] [--rank 16]
"""
import argparse
import json
import os

import torch
from qwen3_cuda import config, model
from safetensors.torch import save_file

LAYERS_WITH_ADAPTER = (0, 17, 35)
ROWS, LENGTH, COMPARED = 2, 160, 16


def adapters(decoder, rank: int):
    """A, A0 [2R, C] and B, B0 [O, 2R] of every linear layer of three layers; A and B a little away from A0 and B0."""
    generator = torch.Generator().manual_seed(1)
    found = {}
    for name, module in decoder.named_modules():
        parts = name.split(".")
        if not isinstance(module, torch.nn.Linear) or "layers" not in parts or int(parts[2]) not in LAYERS_WITH_ADAPTER:
            continue
        start = {
            "A0": torch.randn(2 * rank, module.in_features, generator=generator) / module.in_features**0.5,
            "B0": torch.randn(module.out_features, 2 * rank, generator=generator) / (2 * rank) ** 0.5,
        }
        moved = {
            "A": start["A0"] + 0.02 * torch.randn(start["A0"].shape, generator=generator) / module.in_features**0.5,
            "B": start["B0"] + 0.02 * torch.randn(start["B0"].shape, generator=generator) / (2 * rank) ** 0.5,
        }
        found[name] = start | moved
    return found


def run(decoder, factors, ids, dtype):
    """Logits of the last positions of every row, and the gradients of the adapter, of the sum of all log-probabilities."""
    handles, learned = [], {}
    for name, parts in factors.items():
        down, up = (parts[key].cuda().requires_grad_() for key in ("A", "B"))
        first = [parts[key].cuda().to(dtype) for key in ("A0", "B0")]
        learned |= {f"{name}.A": down, f"{name}.B": up}

        def hook(_module, inputs, output, down=down, up=up, first=first):
            (x,) = inputs
            change = (x @ down.to(dtype).T) @ up.to(dtype).T - (x @ first[0].T) @ first[1].T
            return output + change

        handles.append(decoder.get_submodule(name).register_forward_hook(hook))
    hidden = decoder.model(ids).last_hidden_state
    logits = decoder.lm_head(hidden[:, :-1]).float()
    total = torch.log_softmax(logits, -1).gather(-1, ids[:, 1:, None]).sum()
    total.backward()
    for handle in handles:
        handle.remove()
    compared = logits[:, -COMPARED:].reshape(-1, logits.shape[-1]).detach()
    return compared, {name: value.grad.detach().clone() for name, value in learned.items()}


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("folder")
    options.add_argument("--shape", default="4b")
    options.add_argument("--rank", type=int, default=16)
    given = options.parse_args()
    os.makedirs(given.folder, exist_ok=True)
    decoder = model(given.shape)
    for parameter in decoder.parameters():
        parameter.requires_grad_(False)
    weights = {name: value.contiguous() for name, value in decoder.state_dict().items() if name != "lm_head.weight"}
    save_file(weights, f"{given.folder}/model.safetensors")
    config(given.shape).to_json_file(f"{given.folder}/config.json", use_diff=False)
    saved = json.load(open(f"{given.folder}/config.json"))
    saved["architectures"] = ["Qwen3ForCausalLM"]
    json.dump(saved, open(f"{given.folder}/config.json", "w"))

    factors = adapters(decoder, given.rank)
    ids = torch.randint(0, 150_000, (ROWS, LENGTH), generator=torch.Generator().manual_seed(2)).cuda()
    near, nearGradients = run(decoder, factors, ids, torch.bfloat16)
    exact, gradients = run(decoder.float(), factors, ids, torch.float32)

    def error(found, expected) -> float:
        difference = sum((f.float() - e).square().sum() for f, e in zip(found, expected))
        return (difference / sum(e.square().sum() for e in expected)).sqrt().item()

    stored = {f"{name}.{key}": value for name, parts in factors.items() for key, value in parts.items()}
    stored |= {f"{name}.grad": value.cpu() for name, value in gradients.items()}
    stored |= {"ids": ids.int().cpu(), "logits": exact.cpu()}
    save_file({name: value.contiguous() for name, value in stored.items()}, f"{given.folder}/expected.safetensors")
    report = {
        "rank": given.rank,
        "compared": COMPARED,
        "logits error": error([near], [exact]),
        "gradient error": error(nearGradients.values(), gradients.values()),
    }
    json.dump(report, open(f"{given.folder}/expected.json", "w"))
    print(json.dumps(report), flush=True)


main()

"""Peer of `bench/cuda.ts --only train`: forward and backward of 8 × 1024 tokens, a LoRA of two blocks by module hooks.

python3 bench/peers/lora_cuda.py [--shape 4b] [--rank 32]
"""
import argparse
import json

import torch
from qwen3_cuda import model, seconds


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--shape", default="4b")
    options.add_argument("--rank", type=int, default=32)
    given = options.parse_args()
    decoder = model(given.shape)
    for parameter in decoder.parameters():
        parameter.requires_grad_(False)
    factors = []
    for name, module in decoder.named_modules():
        if not isinstance(module, torch.nn.Linear) or name == "lm_head":
            continue
        down = (torch.randn(2 * given.rank, module.in_features, device="cuda") / module.in_features**0.5).requires_grad_()
        up = (torch.randn(module.out_features, 2 * given.rank, device="cuda") / (2 * given.rank) ** 0.5).requires_grad_()
        first = (down.detach().bfloat16(), up.detach().bfloat16())
        factors += [down, up]

        def hook(_module, inputs, output, down=down, up=up, first=first):
            (x,) = inputs
            change = (x @ down.bfloat16().T) @ up.bfloat16().T - (x @ first[0].T) @ first[1].T
            return output + change

        module.register_forward_hook(hook)
    ids = torch.randint(0, 150_000, (8, 1024), device="cuda")

    def step() -> None:
        hidden = decoder.model(ids).last_hidden_state[:, :-1]
        logits = decoder.lm_head(hidden).float()
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), ids[:, 1:].reshape(-1), reduction="sum")
        loss.backward()
        for factor in factors:
            factor.grad = None

    step()
    torch.cuda.reset_peak_memory_stats()
    took = seconds(step)
    row = {"what": "PyTorch LoRA by hooks, forward+backward 8×1024", "tokens/s": 8192 / took, "ms": took * 1000}
    print(json.dumps(row | {"peak GB": torch.cuda.max_memory_allocated() / 1e9}), flush=True)


main()

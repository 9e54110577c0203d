"""Peer of bench/cuda-update.ts: a whole GRPO update the usual way. transformers generate with a dynamic cache and a LoRA of two blocks by
module hooks, one Python process a check for grading, log-probabilities of the sampled and the base policy, gradients in micro-batches,
AdamW. Every phase is timed once, after a short warm-up.

python3 bench/peers/update_cuda.py [--shape 4b] [--prompts 64] [--group 4] [--tokens 512] [--responses FILE] [--rows 8] [--json FILE]
"""
import argparse
import json
import os
import subprocess
import sys
import time

import torch
from qwen3_cuda import model

PROMPT = 400
CLIP, KL = 0.2, 1e-3


class Adapter:
    """y = W x + [B A − B0 A0] x on every linear layer, bf16 products of float32 factors."""

    def __init__(self, decoder, rank: int) -> None:
        self.on = True
        self.factors = []
        for name, module in decoder.named_modules():
            if not isinstance(module, torch.nn.Linear) or name == "lm_head":
                continue
            down = (torch.randn(2 * rank, module.in_features, device="cuda") / module.in_features**0.5).requires_grad_()
            up = (torch.randn(module.out_features, 2 * rank, device="cuda") / (2 * rank) ** 0.5).requires_grad_()
            first = (down.detach().bfloat16(), up.detach().bfloat16())
            self.factors += [down, up]
            module.register_forward_hook(self.hook(down, up, first))

    def hook(self, down, up, first):
        def change(_module, inputs, output):
            if not self.on:
                return output
            (x,) = inputs
            return output + ((x @ down.bfloat16().T) @ up.bfloat16().T - (x @ first[0].T) @ first[1].T)

        return change


class Clock:
    def __init__(self) -> None:
        self.seconds = {}

    def run(self, phase: str, body):
        torch.cuda.synchronize()
        start = time.monotonic()
        result = body()
        torch.cuda.synchronize()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + time.monotonic() - start
        return result


def logps(decoder, ids, new: int):
    """log π of the last `new` tokens of every row."""
    hidden = decoder.model(ids).last_hidden_state[:, -new - 1 : -1]
    logits = decoder.lm_head(hidden).float()
    return torch.log_softmax(logits, -1).gather(-1, ids[:, -new:, None]).squeeze(-1)


def score(decoder, ids, new: int, rows: int):
    with torch.no_grad():
        return torch.cat([logps(decoder, part, new) for part in ids.split(rows)])


def learn(decoder, adapter, optimiser, ids, new: int, rows: int, old, base, advantages) -> float:
    weight = 1.0 / (ids.shape[0] * new)
    total = 0.0
    for part, own, reference, advantage in zip(ids.split(rows), old.split(rows), base.split(rows), advantages.split(rows)):
        logp = logps(decoder, part, new)
        ratio = (logp - own).exp()
        gain = torch.minimum(ratio * advantage[:, None], ratio.clamp(1 - CLIP, 1 + CLIP) * advantage[:, None])
        apart = reference - logp
        loss = ((-gain + KL * (apart.exp() - apart - 1)) * weight).sum()
        loss.backward()
        total += loss.item()
    torch.nn.utils.clip_grad_norm_(adapter.factors, 1.0)
    optimiser.step()
    optimiser.zero_grad()
    return total


def grade(responses: str) -> float:
    """Seconds of the grader of one process a check, on every core."""
    script = os.path.join(os.path.dirname(__file__), "grader.py")
    done = subprocess.run([sys.executable, script, responses, str(os.cpu_count())], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["seconds"]


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--shape", default="4b")
    options.add_argument("--prompts", type=int, default=64)
    options.add_argument("--group", type=int, default=4)
    options.add_argument("--tokens", type=int, default=512)
    options.add_argument("--rank", type=int, default=32)
    options.add_argument("--rows", type=int, default=8, help="of a micro-batch that learns; scoring takes twice as many")
    options.add_argument("--responses")
    options.add_argument("--json")
    given = options.parse_args()
    decoder = model(given.shape)
    for parameter in decoder.parameters():
        parameter.requires_grad_(False)
    adapter = Adapter(decoder, given.rank)
    optimiser = torch.optim.AdamW(adapter.factors, lr=7e-5, betas=(0.9, 0.99), weight_decay=0.0)
    prompts = torch.randint(0, 150_000, (given.prompts, PROMPT), device="cuda").repeat_interleave(given.group, 0)
    rows = prompts.shape[0]

    def sample(count: int):
        with torch.no_grad():
            return decoder.generate(
                prompts,
                attention_mask=torch.ones_like(prompts),
                max_new_tokens=count,
                min_new_tokens=count,
                do_sample=True,
                temperature=0.7,
                top_k=20,
                top_p=0.95,
                pad_token_id=0,
                eos_token_id=None,
            )

    warm = sample(2)
    advantages = torch.randn(rows, device="cuda")
    short = torch.cat([warm, warm[:, :30]], 1)[: given.rows]
    nothing = torch.zeros(given.rows, 16, device="cuda")
    learn(decoder, adapter, optimiser, short, 16, given.rows, nothing, nothing, advantages[: given.rows])

    clock = Clock()
    ids = clock.run("sample", lambda: sample(given.tokens))
    if given.responses:
        clock.seconds["grade"] = grade(given.responses)
    old = clock.run("score", lambda: score(decoder, ids, given.tokens, 2 * given.rows))
    adapter.on = False
    base = clock.run("score", lambda: score(decoder, ids, given.tokens, 2 * given.rows))
    adapter.on = True
    loss = clock.run("learn", lambda: learn(decoder, adapter, optimiser, ids, given.tokens, given.rows, old, base, advantages))
    row = {
        "what": "PyTorch, one update",
        "rows": rows,
        "tokens": rows * given.tokens,
        "total": sum(clock.seconds.values()),
        **clock.seconds,
        "loss": loss,
        "peak GB": torch.cuda.max_memory_allocated() / 1e9,
        "torch": torch.__version__,
    }
    print(json.dumps(row), flush=True)
    if given.json:
        with open(given.json, "w") as file:
            json.dump(row, file)


main()

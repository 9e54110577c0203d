"""Peer of `bench/cuda.ts --only decode`: transformers generate with a dynamic cache, and with a static one and compile.

python3 bench/peers/generate_cuda.py [--shape 4b] [--rows 64,256] [--tokens 32] [--compile]
"""
import argparse
import json

import torch
from qwen3_cuda import model, seconds


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--shape", default="4b")
    options.add_argument("--rows", default="64,256")
    options.add_argument("--tokens", type=int, default=32)
    options.add_argument("--compile", action="store_true")
    given = options.parse_args()
    decoder = model(given.shape)
    for rows in map(int, given.rows.split(",")):
        prompt = torch.randint(0, 150_000, (rows, 400), device="cuda")
        mask = torch.ones_like(prompt)

        def run(count: int) -> None:
            decoder.generate(
                prompt,
                attention_mask=mask,
                max_new_tokens=count,
                min_new_tokens=count,
                do_sample=True,
                temperature=1.0,
                top_k=0,
                top_p=1.0,
                pad_token_id=0,
                eos_token_id=None,
                **({"cache_implementation": "static"} if given.compile else {}),
            )

        with torch.inference_mode():
            if given.compile:
                run(given.tokens + 1)
            run(2)
            prefill, whole = seconds(lambda: run(1), 1), seconds(lambda: run(given.tokens + 1), 1)
        what = "transformers generate, static cache + compile" if given.compile else "transformers generate, dynamic cache"
        rate = rows * given.tokens / (whole - prefill)
        row = {"what": what, "rows": rows, "tokens/s": rate, "tokens/s with prefill": rows * (given.tokens + 1) / whole}
        print(json.dumps(row), flush=True)


main()

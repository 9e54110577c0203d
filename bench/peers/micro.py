"""Peer of bench/micro.ts: the same updates in PyTorch on the CPU.

Reads a Qwen3 model folder, then from its input a batch in each line, and does what an update does with it: samples (with a
key/value cache, forced to the recorded tokens so that the work is the same), scores in deployed, full and base state with pooled
features, then one routed loss with its backward pass and AdamW. The adapter is a LoRA of two blocks on every linear, by hooks.
Prints a line of JSON when it is ready, and one for each batch.
"""
import argparse
import json
import struct
import sys
import time

import torch
import torch.nn.functional as F

from blas import expect_fast_blas

DTYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


def read_safetensors(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        body = bytearray(file.read())
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        start, end = entry["data_offsets"]
        flat = torch.frombuffer(body[start:end], dtype=DTYPES[entry["dtype"]])
        tensors[name] = flat.reshape(entry["shape"]).float()
    return tensors


class Adapter:
    """y = W x + [B A - B0 A0] x, the quarantine scaled per row; detached branches where a route says so."""

    def __init__(self, weight, rank):
        self.rank = rank
        outputs, inputs = weight.shape
        self.a0 = torch.randn(2 * rank, inputs) / inputs**0.5
        self.b0 = torch.randn(outputs, 2 * rank) / (2 * rank) ** 0.5
        self.a = self.a0.clone().requires_grad_()
        self.b = self.b0.clone().requires_grad_()

    def change(self, x, block):
        """One block by itself, so that its branch can be detached."""
        rows = slice(0, self.rank) if block == 0 else slice(self.rank, 2 * self.rank)
        h = x @ self.a[rows].T
        return h @ self.b[:, rows].T - (x @ self.a0[rows].T) @ self.b0[:, rows].T

    def both(self, x, quarantine):
        """Both blocks at once, for passes without gradients; also the bottleneck of the deployed block."""
        h, h0 = x @ self.a.T, x @ self.a0.T
        deployed = h[..., : self.rank]
        if quarantine is not None:
            scale = torch.cat([torch.ones_like(quarantine).expand(-1, -1, self.rank), quarantine.expand(-1, -1, self.rank)], -1)
            h, h0 = h * scale, h0 * scale
        return deployed, h @ self.b.T - h0 @ self.b0.T


class Pass:
    """What one forward pass needs to know: which blocks act and learn per row, and where features go."""

    def __init__(self, quarantine=None, deployed_learns=None, quarantine_learns=None, pool=None):
        self.quarantine = quarantine
        self.deployed_learns = deployed_learns
        self.quarantine_learns = quarantine_learns
        self.pool = pool
        self.features = []


def gate(value, learns):
    return value if learns is None else torch.where(learns, value, value.detach())


class Decoder:
    def __init__(self, folder, rank):
        with open(f"{folder}/config.json") as file:
            config = json.load(file)
        self.layers = config["num_hidden_layers"]
        self.heads = config["num_attention_heads"]
        self.groups = config["num_key_value_heads"]
        self.head_dim = config.get("head_dim", config["hidden_size"] // self.heads)
        self.epsilon = config["rms_norm_eps"]
        rope = config.get("rope_theta") or config.get("rope_parameters", {}).get("rope_theta", 10000.0)
        self.inverse = 1.0 / rope ** (torch.arange(0, self.head_dim, 2).float() / self.head_dim)
        self.weights = read_safetensors(f"{folder}/model.safetensors")
        self.head = self.weights.get("lm_head.weight", self.weights["model.embed_tokens.weight"])
        names = [name for name in self.weights if name.endswith("_proj.weight")]
        self.adapters = {name: Adapter(self.weights[name], rank) for name in names}

    def parameters(self):
        return [value for adapter in self.adapters.values() for value in (adapter.a, adapter.b)]

    def norm(self, x, weight):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.epsilon) * weight

    def linear(self, x, name, call):
        y = x @ self.weights[name].T
        if call is None:
            return y
        adapter = self.adapters[name]
        if not torch.is_grad_enabled():
            h, change = adapter.both(x, call.quarantine)
            if call.pool is not None:
                call.features.append((h * call.pool).sum(1) / call.pool.sum(1))
            return y + change
        y = y + gate(adapter.change(x, 0), call.deployed_learns)
        quarantine = gate(adapter.change(x, 1), call.quarantine_learns)
        return y + (quarantine if call.quarantine is None else quarantine * call.quarantine)

    def rotate(self, x, positions):
        angles = positions[:, :, None].float() * self.inverse
        cos, sin = (torch.cat([f(angles)] * 2, -1)[:, :, None] for f in (torch.cos, torch.sin))
        half = self.head_dim // 2
        return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin

    def forward(self, ids, positions, mask, call, cache=None):
        """ids, positions [rows, tokens]; mask [rows, 1, tokens, keys], added to the scores."""
        x = self.weights["model.embed_tokens.weight"][ids]
        rows, tokens = ids.shape
        for layer in range(self.layers):
            at = f"model.layers.{layer}."
            y = self.norm(x, self.weights[at + "input_layernorm.weight"])
            q, k, v = (self.linear(y, f"{at}self_attn.{n}_proj.weight", call) for n in "qkv")
            q, k, v = (t.reshape(rows, tokens, -1, self.head_dim) for t in (q, k, v))
            q = self.rotate(self.norm(q, self.weights[at + "self_attn.q_norm.weight"]), positions)
            k = self.rotate(self.norm(k, self.weights[at + "self_attn.k_norm.weight"]), positions)
            q, k, v = (t.transpose(1, 2) for t in (q, k, v))
            if cache is not None:
                k, v = cache.extend(layer, k, v)
            if self.groups != self.heads:
                k, v = (t.repeat_interleave(self.heads // self.groups, 1) for t in (k, v))
            scores = q @ k.transpose(2, 3) / self.head_dim**0.5 + mask
            out = (scores.softmax(-1) @ v).transpose(1, 2).reshape(rows, tokens, -1)
            x = x + self.linear(out, at + "self_attn.o_proj.weight", call)
            y = self.norm(x, self.weights[at + "post_attention_layernorm.weight"])
            gated = F.silu(self.linear(y, at + "mlp.gate_proj.weight", call))
            gated = gated * self.linear(y, at + "mlp.up_proj.weight", call)
            x = x + self.linear(gated, at + "mlp.down_proj.weight", call)
        return self.norm(x, self.weights["model.norm.weight"])


class Cache:
    def __init__(self, layers):
        self.keys = [None] * layers
        self.values = [None] * layers

    def extend(self, layer, k, v):
        if self.keys[layer] is not None:
            k, v = torch.cat([self.keys[layer], k], 2), torch.cat([self.values[layer], v], 2)
        self.keys[layer], self.values[layer] = k, v
        return k, v

    def keep(self, rows):
        self.keys = [t[rows] for t in self.keys]
        self.values = [t[rows] for t in self.values]


def causal(valid, queries):
    """[rows, 1, queries, keys]: a query sees valid keys up to itself; the last `queries` keys are the queries."""
    rows, keys = valid.shape
    place = torch.arange(keys)
    allowed = (place[None, :] <= place[keys - queries :, None])[None] & valid[:, None, :]
    mask = torch.zeros(rows, queries, keys).masked_fill(~allowed, float("-inf"))
    # A padded query sees nothing; it is never looked at, but its softmax must not be NaN.
    mask[~allowed.any(-1)] = 0
    return mask[:, None]


def pad_left(sequences):
    longest = max(len(s) for s in sequences)
    ids = torch.zeros(len(sequences), longest, dtype=torch.long)
    valid = torch.zeros(len(sequences), longest, dtype=torch.bool)
    for row, sequence in enumerate(sequences):
        ids[row, longest - len(sequence) :] = torch.tensor(sequence)
        valid[row, longest - len(sequence) :] = True
    return ids, valid, (valid.long().cumsum(1) - 1).clamp(min=0)


def per_row(values):
    return torch.tensor(values).reshape(-1, 1, 1)


@torch.no_grad()
def sample(decoder, rollouts, temperature=0.9):
    ids, valid, positions = pad_left([r["prompt"] for r in rollouts])
    scales = per_row([0.0 if r["deployed"] else 1.0 for r in rollouts])
    cache = Cache(decoder.layers)
    hidden = decoder.forward(ids, positions, causal(valid, ids.shape[1]), Pass(quarantine=scales), cache)[:, -1:]
    active = list(range(len(rollouts)))
    for step in range(max(len(r["tokens"]) for r in rollouts)):
        logits = (hidden[:, 0] @ decoder.head.T).float()
        logits.log_softmax(-1)
        torch.multinomial((logits / temperature).softmax(-1), 1)
        # Finished rows leave when half of the batch has finished: gathering the cache costs too.
        unfinished = [i for i, row in enumerate(active) if len(rollouts[row]["tokens"]) > step + 1]
        if not unfinished:
            return
        if len(unfinished) <= len(active) // 2:
            keep = torch.tensor(unfinished)
            cache.keep(keep)
            valid, positions, scales = valid[keep], positions[keep], scales[keep]
            active = [active[i] for i in unfinished]
        chosen = [rollouts[row]["tokens"][min(step, len(rollouts[row]["tokens"]) - 1)] for row in active]
        valid = torch.cat([valid, torch.ones(len(active), 1, dtype=torch.bool)], 1)
        positions = positions[:, -1:] + 1
        ids = torch.tensor(chosen)[:, None]
        hidden = decoder.forward(ids, positions, causal(valid, 1), Pass(quarantine=scales), cache)


def log_probs(decoder, rollouts, call):
    """log-probabilities [rows, longest completion], and which of them count."""
    ids, valid, positions = pad_left([r["prompt"] + r["tokens"] for r in rollouts])
    longest = max(len(r["tokens"]) for r in rollouts)
    counts = torch.tensor([len(r["tokens"]) for r in rollouts])
    real = torch.arange(longest)[None] >= longest - counts[:, None]
    if call is not None and call.pool is not None:
        call.pool = F.pad(real.float(), (ids.shape[1] - longest, 0))[:, :, None]
    hidden = decoder.forward(ids, positions, causal(valid, ids.shape[1]), call)
    logits = hidden[:, -longest - 1 : -1] @ decoder.head.T
    return logits.log_softmax(-1).gather(2, ids[:, -longest:, None])[..., 0], real


@torch.no_grad()
def score(decoder, rollouts):
    deployed, real = log_probs(decoder, rollouts, Pass(quarantine=per_row([0.0] * len(rollouts)), pool=True))
    full = [r for r in rollouts if not r["deployed"]]
    log_probs(decoder, full, Pass(quarantine=per_row([1.0] * len(full))))
    reference, _ = log_probs(decoder, rollouts, None)
    return deployed, reference, real


def learn(decoder, optimiser, rollouts, old, reference, total_rollouts, max_new_tokens=48):
    routes = [r["route"] for r in rollouts]
    call = Pass(
        quarantine=per_row([0.0 if route == "keep" else 1.0 for route in routes]),
        deployed_learns=per_row([route != "route" for route in routes]),
        quarantine_learns=per_row([route != "keep" for route in routes]),
    )
    logp, real = log_probs(decoder, rollouts, call)
    advantage = torch.tensor([r["advantage"] for r in rollouts])[:, None]
    ratio = (logp - old).exp()
    delta = reference - logp
    surrogate = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
    per_token = 1e-3 * (delta.exp() - delta - 1) - surrogate
    loss = (per_token * real).sum() / (total_rollouts * max_new_tokens)
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(decoder.parameters(), 1.0)
    optimiser.step()


def worst_difference(rollouts, reference, real):
    worst = 0.0
    for row, rollout in enumerate(rollouts):
        ours = torch.tensor(rollout["logps"])
        worst = max(worst, (reference[row][real[row]] - ours).abs().max().item())
    return worst


def say(**values):
    print(json.dumps(values), flush=True)


def update(decoder, optimiser, rollouts):
    trained = [r for r in rollouts if r["trained"]]
    times, spent = [time.perf_counter()], time.process_time()
    sample(decoder, rollouts)
    times.append(time.perf_counter())
    if trained:
        old, reference, real = score(decoder, trained)
    times.append(time.perf_counter())
    if trained:
        learn(decoder, optimiser, trained, old, reference, len(rollouts))
    times.append(time.perf_counter())
    processor = time.process_time() - spent
    seconds = {name: times[at + 1] - times[at] for at, name in enumerate(("sample", "score", "learn"))}
    worst = worst_difference(trained, reference, real) if trained else 0.0
    return dict(seconds=seconds, processor=processor, logpDifference=worst)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--model", required=True)
    options.add_argument("--rank", type=int, required=True)
    options.add_argument("--threads", type=int, default=2)
    given = options.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(1)
    blas = expect_fast_blas()
    decoder = Decoder(given.model, given.rank)
    optimiser = torch.optim.AdamW(decoder.parameters(), lr=1e-9, betas=(0.9, 0.99), weight_decay=0.0)
    say(torch=torch.__version__, blas=blas)
    for line in sys.stdin:
        say(**update(decoder, optimiser, json.loads(line)["rollouts"]))


if __name__ == "__main__":
    main()

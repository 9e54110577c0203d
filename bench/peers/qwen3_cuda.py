"""The Qwen3 shapes of bench/cuda.ts with random weights in PyTorch and transformers: what the peers of that benchmark share."""
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

SHAPES = {
    "4b": dict(hidden_size=2560, intermediate_size=9728, num_hidden_layers=36, num_attention_heads=32),
    "0.6b": dict(hidden_size=1024, intermediate_size=3072, num_hidden_layers=28, num_attention_heads=16),
}


def config(shape: str) -> Qwen3Config:
    return Qwen3Config(
        **SHAPES[shape],
        num_key_value_heads=8,
        head_dim=128,
        vocab_size=151936,
        max_position_embeddings=4096,
        rope_parameters={"rope_type": "default", "rope_theta": 1_000_000.0},
        rms_norm_eps=1e-6,
        tie_word_embeddings=True,
    )


def model(shape: str, dtype: torch.dtype = torch.bfloat16) -> Qwen3ForCausalLM:
    """A model made on the GPU: weights from N(0, 0.02²), norms of 1."""
    torch.manual_seed(0)
    made = config(shape)
    made._attn_implementation = "sdpa"
    torch.set_default_dtype(dtype)
    with torch.device("cuda"):
        decoder = Qwen3ForCausalLM(made)
    torch.set_default_dtype(torch.float32)
    with torch.no_grad():
        for name, parameter in decoder.named_parameters():
            if parameter.dim() > 1:
                parameter.normal_(0.0, 0.02)
    return decoder.eval()


def seconds(body, repeats: int = 3) -> float:
    """The fastest of several runs, the GPU idle before and after."""
    best = float("inf")
    for _ in range(repeats):
        torch.cuda.synchronize()
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        body()
        end.record()
        torch.cuda.synchronize()
        best = min(best, start.elapsed_time(end) / 1000)
    return best

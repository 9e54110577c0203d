"""Trains a few steps on `gq serve micro-activation --api tinker`, with Python's standard library alone: samples, a reward,
advantages, a route for each datum, gradients, a step. Arguments: the server's address and steps;
without any http://127.0.0.1:8000 and 5. Key: TINKER_API_KEY, if it has one."""
import json, os, sys, urllib.error, urllib.request

address, steps = sys.argv[1:] or ["http://127.0.0.1:8000", "5"]
headers = {"content-type": "application/json", "x-api-key": os.environ.get("TINKER_API_KEY", "")}


def post(path, body):
    request = urllib.request.Request(f"{address}/api/v1/{path}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def ask(path, **body):
    """The answer itself: what takes long is a future, which is fetched until it is there."""
    answer = post(path, body)
    while "request_id" in answer and "error" not in answer:
        try:
            answer = post("retrieve_future", {"request_id": answer["request_id"]})
        except urllib.error.HTTPError as error:
            if error.code != 408:
                sys.exit(error.read().decode())
    if "error" in answer:
        sys.exit(answer["error"])
    return answer


def datum(prompt, tokens, logprobs, advantage, route):
    """Targets are the tokens that follow; what stands over the prompt counts nothing."""
    padding = [0] * (len(prompt) - 1)
    rows = {"target_tokens": tokens, "logprobs": logprobs, "advantages": [advantage] * len(tokens)}
    kinds = {"target_tokens": "int64", "logprobs": "float32", "advantages": "float32"}
    inputs = {key: {"dtype": kinds[key], "data": padding + row} for key, row in rows.items()}
    return {"model_input": {"chunks": [{"tokens": prompt + tokens[:-1]}]}, "loss_fn_inputs": inputs, "route": route}


def sample(block, seed):
    sampler = ask("save_weights_for_sampler", model_id=model, block=block)["sampling_session_id"]
    wishes = {"prompt": {"chunks": [{"tokens": prompt}]}, "sampling_params": {"max_tokens": 12, "seed": seed}}
    return ask("asample", sampling_session_id=sampler, num_samples=8, **wishes)["sequences"]


opened = ask("create_session", tags=[])["session_id"]
base = urllib.request.urlopen(urllib.request.Request(f"{address}/api/v1/get_server_capabilities", headers=headers))
name = json.load(base)["supported_models"][0]["model_name"]
model = ask("create_model", session_id=opened, base_model=name, lora_config={"rank": 4, "seed": 1})["model_id"]
prompt = [5, 6, 7, 8]
for step in range(1, int(steps) + 1):
    made = sample("full", step)
    # Made up: variety pays. And what a monitor would flag learns in the quarantine, which is deleted at deployment.
    rewards = [len(set(sequence["tokens"])) / len(sequence["tokens"]) for sequence in made]
    mean = sum(rewards) / len(rewards)
    routes = ["quarantine" if len(sequence["tokens"]) < 12 else "absorb" for sequence in made]
    data = [datum(prompt, s["tokens"], s["logprobs"], r - mean, route) for s, r, route in zip(made, rewards, routes)]
    inputs = {"data": data, "loss_fn": "importance_sampling", "loss_fn_config": {"activations": 1}}
    learned = ask("forward_backward", model_id=model, forward_backward_input=inputs)
    shape = learned["loss_fn_outputs"][0]["activations"]["shape"]
    ask("optim_step", model_id=model, adam_params={"learning_rate": 1e-3})
    flagged = routes.count("quarantine")
    print(f"step {step}: reward {mean:.3f}, {flagged} of {len(made)} quarantined, activations {shape[0]} x {shape[1]}")
print("deployed:", sample("deployed", 0)[0]["tokens"])

"""Continue a prompt with a trained model: `python src/generate.py run=runs/RUN prompt="The people"`."""

import sys

from lft.analysis import answer, number

KEYS = {
    "run": "runs",
    "checkpoint": "last",
    "prompt": "",
    "temperature": "1.0",
    "top_k": "0",
    "top_p": "1.0",
    "max_tokens": "200",
    "seed": "0",
}


def generate(request: dict[str, str]) -> None:
    """Write the prompt and its continuation to standard output as it comes."""
    from lft.inference import Sampler, continue_text, load_trained

    sampler = Sampler(
        number(request, "temperature", float),
        number(request, "top_k", int),
        number(request, "top_p", float),
        number(request, "seed", int),
    )
    max_tokens = number(request, "max_tokens", int)
    trained = load_trained(request["run"], request["checkpoint"])
    print(f"{trained.checkpoint}", file=sys.stderr)
    pieces = continue_text(trained, request["prompt"], max_tokens, sampler)
    for number_of_piece, piece in enumerate(pieces):
        print(piece if number_of_piece else request["prompt"] + piece, end="", flush=True)
    print()


if __name__ == "__main__":
    sys.exit(answer(sys.argv[1:], KEYS, generate))

"""Small items of one's own in the formats of the local files."""

import json

QUESTIONS = [
    {"id": "a", "question": "What is wet?", "choices": ["water", "sand", "salt"], "answer": 0},
    {"id": "b", "question": "What flies?", "choices": ["a cow", "a pig", "a cat", "a bird"], "answer": 3},
]
ITEMS = {
    "piqa_validation.jsonl": [
        {"goal": "open a jar", "sol1": "turn the lid", "sol2": "sing to it", "label": 0},
        {"goal": "dry a cup", "sol1": "fill it", "sol2": "use a towel", "label": 1},
        {"goal": "warm up", "sol1": "sit in a fridge all day", "sol2": "wear a coat", "label": 1},
    ],
    "arc_easy_test.jsonl": QUESTIONS,
    "arc_challenge_test.jsonl": QUESTIONS,
    "hellaswag_validation.jsonl": [
        {
            "ctx_a": "A man holds a hammer.",
            "ctx_b": "he",
            "endings": ["hits a nail.", "eats it [title] now.", "flies off.", "is a dog."],
            "label": "0",
            "activity_label": "Carpentry",
            "source_id": source,
        }
        for source in ("video 1", "video 1", "video 2")
    ],
    "winogrande_xl_validation.jsonl": [
        {"sentence": "Ann helped Eve so _ was glad.", "option1": "Ann", "option2": "Eve", "answer": "2"},
        {"sentence": "Ann helped Eve so _ was tired.", "option1": "Ann", "option2": "Eve", "answer": "1"},
    ],
    "lambada_openai_test.jsonl": [{"text": "the fox saw a dog and ran from the dog"}],
    "blimp_67x1000.jsonl": [
        {"UID": uid, "sentence_good": f"Birds {verb}.", "sentence_bad": f"Birds {verb}s."}
        for uid in ("adjunct_island", "npi_present_1")
        for verb in ("sing", "fly", "eat")
    ],
    "sciq_validation.jsonl": [
        {
            "question": "What is ice?",
            "support": " Ice is frozen.",
            "distractor1": "fire",
            "distractor2": "air",
            "distractor3": "wood",
            "correct_answer": "water",
        }
    ],
}


def write_items(folder, **replaced):
    """All files in a folder; a keyword names a task's file and gives other rows."""
    folder.mkdir(exist_ok=True)
    for name, rows in ITEMS.items():
        rows = next((new for task, new in replaced.items() if name.startswith(task)), rows)
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def bench_item(context, continuations, label, **overrides):
    """A row of Base Bench."""
    return {
        "context": context,
        "continuations": continuations,
        "label": label,
        "category": "quantitative",
        "category_weight": 1.0,
        "difficulty": "easy",
        "difficulty_weight": 1.0,
        "item_elo": 1000.0,
        **overrides,
    }

"""What the user of each exercise says: true to the figures, and not always to the point."""

STORIES = {
    "slow_decode": (
        "A chat assistant feels slow.",
        "The answer starts at once, and then one can watch it being typed.",
        "Somebody wants to read along and has to wait for the words.",
    ),
    "long_prompt": (
        "A service summarises long documents; its users complain about the wait.",
        "Contracts go in, three sentences come out, and nobody likes the pause before them.",
        "A search assistant puts every page it finds into the prompt.",
    ),
    "queue_shown": (
        "At noon everybody uses the assistant, and it answers late.",
        "Since the newsletter went out, the first word takes long to appear.",
        "The pilot with ten users was fast. Now the whole company is on it.",
    ),
    "cold_start": (
        "Each morning the first answer takes forever; the next ones come quickly.",
        "After a pause the assistant seems to be dead, and then it works again.",
        "The demonstration began with an embarrassing silence.",
    ),
    "one_number": (
        "A colleague asks whether his server is in order, and what to buy.",
        "A post in a forum, in full:",
        "The supplier's whole performance report:",
    ),
    "launch_overhead": (
        "A small model was put on the fastest GPU there is, and yet:",
        "The larger model is hardly slower than this one. How can that be?",
        "An edge model, tried out in a notebook on the department's best card.",
    ),
    "batched_decode": (
        "The total throughput looks fine; still each user finds it slow.",
        "The operator is proud of the throughput. The users are not.",
    ),
    "long_context": (
        "Conversations have grown long, and answers come ever more slowly.",
        "Agents carry their whole history along. The first word comes at once, the rest does not.",
    ),
    "queue_in_ttft": (
        "The load test sends all its requests at once. TTFT is terrible.",
        "The benchmark says that prefill is slow: look at the TTFT.",
        "“We need more TFLOPS”, says the manager who has seen the TTFT.",
    ),
    "load_in_prefill": (
        "A local model, asked one short question after lunch. Its tool prints:",
        "“Prompt evaluation is broken on this machine”, says the report.",
    ),
    "cache_hit": (
        "Questions about one and the same long manual, asked one after the other.",
        "With prompts this long it must be the prompt, says the team.",
    ),
    "offload": (
        "The model just about runs on this card, says its owner.",
        "A friend recommended the largest model that would start.",
    ),
    "speculation": (
        "Speculative decoding is on, the gaps between tokens are tiny, and it is still slow.",
        "The median gap between tokens is a tenth of a millisecond. What more can one want?",
    ),
    "log_window": (
        "One line of a server's log, an average over ten seconds. A user says it was slow then.",
        "“It was slow at ten past nine.” The log has this for that time:",
    ),
    "utilisation": (
        "The monitoring says that the GPU is at its limit.",
        "“The GPU is fully used, so we need a bigger one.”",
    ),
}

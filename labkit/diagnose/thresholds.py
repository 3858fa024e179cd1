"""The numbers that the rules compare with, each with its reason."""

from __future__ import annotations

# A part that takes 60 % of the wait names the class: removing all the rest can't even halve it.
DOMINANT = 0.60
# From here on an error of some per cent in any part can't change the class.
CLEAR = 0.75

# Fewer tokens than these in all: start-up costs and rounding are larger than either phase.
FEWEST_TOKENS = 8
# Prompts below this are read in one short pass; slower per token than decode means a cold start,
# since prompt tokens that are computed together are never slower than tokens one by one.
SHORT_PROMPT = 64
# A warm rerun that reads the prompt this many times faster: the first run was loading.
COLD_RATIO = 5.0

# Requests in flight, by Little's law from rounded figures, that still mean one at a time.
ALONE = 1.2
# Answers of unknown length: hardly one is shorter than the first, many are shorter than the second.
FEW_OUTPUT_TOKENS = 16
MANY_OUTPUT_TOKENS = 200
# Two printed rates that differ by less than this are the same.
ROUNDED = 1.1
# A mean TTFT this many times the shortest one: some waited, and not for their own prompt alone.
SPREAD = 2.0
# A prompt this long, and this many times the answer: a queue before it is made by prefill.
LONG_PROMPT = 1024
PROMPT_HEAVY = 4.0

# Fewer waiting requests than these are turn-taking, not a queue.
MANY_WAITING = 4
# A KV cache this full admits nobody: the next request waits until one ends.
KV_FULL = 0.90
# A window that writes for each request less than this part of the most seen: decode stands still.
COLLAPSED = 0.20

# Prefill that reaches 30 % of the datasheet's FLOP/s is limited by compute: good kernels reach 40
# to 70 %. Below that, offload, small chunks, no batching or the attention kernel cost more.
COMPUTE_LIMITED = 0.30
# From this length on, attention may need FLOPs that are no longer small beside the weights' own.
LONG_FOR_ATTENTION = 8_192
# Decode that moves 60 % of the datasheet's bytes per second: achievable are 70 to 90 %.
BANDWIDTH_LIMITED = 0.60
# Below 40 % something else costs more than reading the weights does.
FAR_FROM_BANDWIDTH = 0.40
# More than everything, plus what rounding may add: then a figure is wrong.
IMPOSSIBLE = 1.05
# A step that takes longer than a whole prefill by more than noise isn't explained by the weights.
LONGER_THAN_PREFILL = 1.2
# The host's share of a step from which it is what the step waits for.
HOST_LIMITED = 0.5
# A working set below twice the last-level cache is partly served from it, not from memory.
CACHE_FACTOR = 2.0

# Weights that leave less than this part of the memory free leave no room for cache and activations.
FREE_MEMORY = 0.05
# KV bytes for each position and each parameter at most: 524 kB at 7e9, each head with its own KV.
MOST_KV_BYTES = 75e-6

# Bits for each weight, if nobody says: nearly all deployed models lie between these.
FEWEST_BITS, MOST_BITS = 4.0, 16.0

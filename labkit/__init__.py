"""labkit: why LLM inference is slow, measured on your own machine.

    records     the vocabulary: a Trace of steps, its metrics, JSON and CSV
    roofline    bytes and FLOPs from a model's shape, and the time they must take
    catalog     shapes of models and data of machines, from data/
    models      loads a model, or builds one from its shape; says what fits
    pages       memory in large pages, for weights that are streamed
    generate    naive, cached, preallocated: iterators of tokens, without a clock
    speculative guesses that one pass checks: the same tokens from fewer passes
    compiled    a decode step as one program; lean: a Llama's, written out for the compiler
    quantised   weights of fewer bits; perplexity: what they cost the text
    measure     the clock: warm-up, synchronising, one Step for each token
    ladder      the same text in faster and faster ways, each against its own roof
    gpu_check   race, prefill, decode and ladder at 8B on a GPU, written as traces
    attention   attention back ends side by side: time and memory
    batching    many requests at once: static batches, continuous, transformers' own
    figures     records to Plotly figures
    reports     pasted output of real tools, read
    diagnose    from a report or a trace to a verdict
    scenarios   exercises in diagnosis that could be real
    grading     checks of the exercises, and of answers in one's own words
    progress    what was tried, kept between visits; results: the report on it
    ui          the panels of the lessons

`python -m labkit --help` runs the same measurements without a notebook.
"""

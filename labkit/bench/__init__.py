"""The figures that the lab promises, each measured by one module: commands, not tests.

A test must give the same answer on a busy machine; a figure here comes with its spread and stands
beside its promise. `stats` is what they share: repeats taken in pairs, so that a machine that slows
down slows both sides.
"""

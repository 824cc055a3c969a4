"""Check the arguments of functions that users call in Python, without TensorFlow: one rule and one message for each.

`call_arguments` is for `convert` and `plan`, whose rules are those of the command line.
"""

"""What the programs of all libraries share: numbers, and the results of an evaluation.

`settings` has the numbers of every program, `crops` those of random crops, and a module for each task its own.
"""

"""Compare every table, list and other file of labels with the names of the images: what each file claims about them.

A `Claim` says how many images a file names, and what it gives: labels, splits, or nothing. `recognising` decides from
the claims, and the plan lists the files that name images and are not used.

Not here: how a layout reads the files that it uses.
"""

"""Find images that look nearly the same, by their perceptual hashes.

| module | contents |
|---|---|
| `near_pairs` | the pairs of hashes that differ in few bits, without comparing all pairs |
| `similar_sets` | the sets of copies that the pairs make, and images that look alike by nature |

NumPy only: `perceptual_hash` in the room above makes the hashes, and planning decides what becomes of the sets.
"""

"""The form in which images are stored, as far as the user chooses it.

| module | contents |
|---|---|
| `placement` | which part of an image is stored, at which size, and where in the stored picture |
| `stripping` | remove metadata from a JPEG or PNG without decoding it |

`normalising` applies them.
"""
